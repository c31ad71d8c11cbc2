//! `/healthz`, `/readyz` and `/metrics`

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::error::HiddenCause;
use super::{Answer, App, ErrorAnswer, ErrorBody};
use crate::Error;
use crate::{telemetry, web};

/// The longest time that a readiness check may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
}

/// The readiness of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Always `ok`.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
    runs: RunsState,
}

/// Whether queued runs are started.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunsState {
    /// True while the system lacks something that runs need. Runs continue by themselves.
    paused: bool,
    /// The reason of the pause.
    reason: Option<String>,
}

const HEALTHY: Health = Health {
    status: "ok",
    version: env!("CARGO_PKG_VERSION"),
};

/// Check that the server is alive
///
/// The header `X-Chorus-Assets` names the version of the web app.
#[utoipa::path(
    get, path = "/healthz", operation_id = "check_health", tag = "service",
    responses((status = 200, description = "The server is alive", body = Answer<Health>))
)]
pub(super) async fn check_health(State(app): State<App>) -> Response {
    let mut response = app.ok(HEALTHY);
    if let Ok(version) = HeaderValue::try_from(&app.assets) {
        response.headers_mut().insert(web::ASSETS_HEADER, version);
    }
    response
}

/// Check that the server can write to its database
///
/// Writes to the database, and waits until the write is on disk. Also looks for damage in the database file now and then.
#[utoipa::path(
    get, path = "/readyz", operation_id = "check_readiness", tag = "service",
    responses(
        (status = 200, description = "The database can be written. `runs` says whether queued runs are started", body = Answer<Readiness>),
        (status = 503, description = "The database cannot be written, or is damaged; `details.reason` says why", body = ErrorAnswer),
    )
)]
pub(super) async fn check_readiness(State(app): State<App>) -> Response {
    let cause = match tokio::time::timeout(PATIENCE, app.engine.check_ready()).await {
        Ok(Ok(())) => {
            let reason = app.engine.runs_paused();
            return app.ok(Readiness {
                status: HEALTHY.status,
                version: HEALTHY.version,
                runs: RunsState {
                    paused: reason.is_some(),
                    reason,
                },
            });
        }
        Ok(Err(error @ Error::Unavailable { .. })) => return error.into_response(),
        Ok(Err(error)) => format!("{error:?}"),
        Err(_) => format!("no write finished within {PATIENCE:?}"),
    };
    let error = ErrorBody {
        code: "NOT_READY".to_owned(),
        message: "The database cannot be written; see the server log for the cause".to_owned(),
        details: None,
    };
    let mut response =
        (StatusCode::SERVICE_UNAVAILABLE, Json(ErrorAnswer { error })).into_response();
    response.extensions_mut().insert(HiddenCause(cause));
    response
}

/// Get the metrics in the Prometheus text format
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
