//! `/api/openapi.json` and `/api/docs`

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};

use super::App;

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
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
    (
        [(header::CONTENT_SECURITY_POLICY, policy)],
        Html(include_str!("docs.html")),
    )
        .into_response()
}
