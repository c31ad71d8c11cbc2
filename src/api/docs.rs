//! `/api/openapi.json` and `/api/docs`

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::App;
use crate::web;

const PAGE: &str = include_str!("docs.html");

/// Get the OpenAPI document of this API
#[utoipa::path(
    get, path = "/api/openapi.json", operation_id = "get_openapi", tag = "service",
    responses((status = 200, description = "An OpenAPI 3.1 document", content_type = "application/json", body = Object))
)]
pub(super) async fn get_openapi(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi).into_response()
}

/// Get the documentation of this API as a web page
///
/// The page loads nothing from other servers.
#[utoipa::path(
    get, path = "/api/docs", operation_id = "get_docs", tag = "service",
    responses((status = 200, description = "The page", content_type = "text/html", body = String))
)]
pub(super) async fn get_docs() -> Response {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| web::policy(PAGE));
    web::respond(PAGE, &POLICY)
}
