//! `/healthz`, `/readyz` and `/metrics`

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::error::HiddenCause;
use super::{Answer, App, ErrorAnswer, ErrorBody};
use crate::ledger::installation;
use crate::telemetry;

/// How long a readiness check may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// That the server is well.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
}

const HEALTHY: Health = Health {
    status: "ok",
    version: env!("CARGO_PKG_VERSION"),
};

/// Says that the process lives.
#[utoipa::path(
    get, path = "/healthz", operation_id = "check_health", tag = "service",
    responses((status = 200, description = "It lives", body = Answer<Health>))
)]
pub(super) async fn check_health(State(app): State<App>) -> Response {
    app.ok(HEALTHY)
}

/// Says that the server can do its work: it writes to the database and waits until that is on disk.
#[utoipa::path(
    get, path = "/readyz", operation_id = "check_ready", tag = "service",
    responses(
        (status = 200, description = "It can write", body = Answer<Health>),
        (status = 503, description = "It cannot write", body = ErrorAnswer),
    )
)]
pub(super) async fn check_ready(State(app): State<App>) -> Response {
    let check = app.engine.write(None, installation::check_ready);
    let cause = match tokio::time::timeout(PATIENCE, check).await {
        Ok(Ok(())) => return app.ok(HEALTHY),
        Ok(Err(error)) => format!("{error:?}"),
        Err(_) => format!("no write was finished within {PATIENCE:?}"),
    };
    let error = ErrorBody {
        code: "NOT_READY".to_owned(),
        message: "The database cannot be written; the log has the cause".to_owned(),
        details: None,
    };
    let mut response =
        (StatusCode::SERVICE_UNAVAILABLE, Json(ErrorAnswer { error })).into_response();
    response.extensions_mut().insert(HiddenCause(cause));
    response
}

/// Shows the metrics in the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "service",
    responses((status = 200, description = "The metrics", content_type = "text/plain", body = String))
)]
pub(super) async fn get_metrics(State(app): State<App>) -> Response {
    let watched = u32::try_from(app.engine.feed().watched()).unwrap_or(u32::MAX);
    metrics::gauge!("chorus_watched").set(watched);
    let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (headers, telemetry::metrics().render()).into_response()
}
