//! `/api/alerts`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Id, Once, Query, Segment, find};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Alert, AlertId, AlertQuery, Caller, Page};
use crate::engine::AlertInput;
use crate::ledger::alert;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AlertParameters {
    /// Those that are resolved too.
    #[param(default = false)]
    resolved: Option<bool>,
    /// At most so many; fewer come if their messages are large.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Only alerts raised after this one: `meta.next` of the answer before.
    #[param(value_type = Option<String>)]
    after: Option<AlertId>,
}

/// Lists the alerts that are active, oldest first.
#[utoipa::path(
    get, path = "/api/alerts", operation_id = "list_alerts", tag = "alerts", params(AlertParameters),
    responses(
        (status = 200, description = "The alerts; `meta.next` is there when there is more", body = Answer<Vec<Alert>>),
        (status = 404, description = "The alert in `after` is not there", body = ErrorAnswer),
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
    let page = app.engine.read(move |view| alert::list(view, &query));
    let Page { items, next } = page.await?;
    Ok(app.page(items, next))
}

/// Raises an alert: something that a person must see until it is resolved. What a run raises is about its own task, or
/// one below that.
#[utoipa::path(
    post, path = "/api/alerts", operation_id = "raise_alert", tag = "alerts", request_body = AlertInput,
    responses(
        (status = 201, description = "The alert", body = Answer<Alert>),
        (status = 403, description = "The task is neither the run's own nor below it", body = ErrorAnswer),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
        (status = 413, description = "The body is too large, or the message has more than 16 KiB", body = ErrorAnswer),
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

/// Shows an alert.
#[utoipa::path(
    get, path = "/api/alerts/{id}", operation_id = "get_alert", tag = "alerts",
    params(("id" = String, Path, description = "The alert")),
    responses(
        (status = 200, description = "The alert", body = Answer<Alert>),
        (status = 404, description = "There is no such alert", body = ErrorAnswer),
    )
)]
pub(super) async fn get_alert(
    State(app): State<App>,
    Id(id): Id<AlertId>,
) -> Result<Response, Error> {
    let alert = app.engine.read(move |view| alert::get(view, &id));
    Ok(app.ok(alert.await?))
}

/// Resolves an alert: somebody has seen it, and has done what is to be done. A run cannot.
#[utoipa::path(
    post, path = "/api/alerts/{id}/resolve", operation_id = "resolve_alert", tag = "alerts",
    params(("id" = String, Path, description = "The alert")),
    responses(
        (status = 200, description = "The alert", body = Answer<Alert>),
        (status = 403, description = "A run may not resolve alerts", body = ErrorAnswer),
        (status = 404, description = "There is no such alert", body = ErrorAnswer),
        (status = 409, description = "It has already been resolved", body = ErrorAnswer),
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
