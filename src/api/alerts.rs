//! `/api/alerts`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Id, Once, Query, Segment, find};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Alert, AlertId, AlertQuery, Caller};
use crate::engine::AlertInput;
use crate::ledger::alert;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AlertParameters {
    /// Include resolved alerts.
    #[param(default = false)]
    resolved: Option<bool>,
    /// Maximum number of alerts in the page. Large messages make it shorter.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<AlertId>,
}

/// List active alerts, oldest first
#[utoipa::path(
    get, path = "/api/alerts", operation_id = "list_alerts", tag = "alerts", params(AlertParameters),
    responses(
        (status = 200, description = "The alerts; `meta.next` is present if there are more", body = Answer<Vec<Alert>>),
        (status = 404, description = "The alert in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_alerts(
    State(app): State<App>,
    Query(parameters): Query<AlertParameters>,
) -> Result<Response, Error> {
    let query = AlertQuery {
        resolved: parameters.resolved.unwrap_or_default(),
        after: parameters.after,
        limit: app.page_size(parameters.limit)?,
    };
    app.read_page(move |view| alert::list(view, &query)).await
}

/// Raise an alert for the operator
///
/// The alert stays active until it is resolved. A run may raise alerts about its own task and the tasks below it.
#[utoipa::path(
    post, path = "/api/alerts", operation_id = "raise_alert", tag = "alerts", request_body = AlertInput,
    responses(
        (status = 201, description = "The new alert", body = Answer<Alert>),
        (status = 403, description = "The task is neither the run's own task nor below it", body = ErrorAnswer),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 413, description = "The body is too large, or the message is larger than 16 KiB", body = ErrorAnswer),
    )
)]
pub(super) async fn raise_alert(
    State(app): State<App>,
    caller: Caller,
    body: Body<AlertInput>,
) -> Result<Response, Error> {
    let alert = app
        .engine
        .raise_alert(body.value, &caller, body.once)
        .await?;
    Ok(app.created(alert))
}

/// Get an alert
#[utoipa::path(
    get, path = "/api/alerts/{id}", operation_id = "get_alert", tag = "alerts",
    params(("id" = String, Path, description = "The alert")),
    responses(
        (status = 200, description = "The alert", body = Answer<Alert>),
        (status = 404, description = "Alert not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_alert(
    State(app): State<App>,
    Id(id): Id<AlertId>,
) -> Result<Response, Error> {
    app.read(move |view| alert::get(view, &id)).await
}

/// Resolve an alert
///
/// Needs the operator's token.
#[utoipa::path(
    post, path = "/api/alerts/{id}/resolve", operation_id = "resolve_alert", tag = "alerts",
    security(("token" = [])),
    params(("id" = String, Path, description = "The alert")),
    responses(
        (status = 200, description = "The alert", body = Answer<Alert>),
        (status = 403, description = "A run may not resolve alerts", body = ErrorAnswer),
        (status = 404, description = "Alert not found", body = ErrorAnswer),
        (status = 409, description = "The alert is already resolved", body = ErrorAnswer),
    )
)]
pub(super) async fn resolve_alert(
    State(app): State<App>,
    Segment(id): Segment,
    caller: Caller,
    Once(once): Once,
) -> Result<Response, Error> {
    let alert = app.engine.resolve_alert(find(&id)?, &caller, once).await?;
    Ok(app.ok(alert))
}
