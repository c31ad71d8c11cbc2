//! `/api/increments`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Id, MayDecide, Once, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Increment, IncrementId, IncrementState, IncrementTasks};
use crate::engine::IncrementInput;
use crate::ledger::increment;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParameters {
    /// Only increments in this state.
    #[param(inline)]
    state: Option<IncrementState>,
    /// Newest first.
    #[serde(default)]
    newest: bool,
    /// Maximum number of increments in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<IncrementId>,
}

/// List increments, oldest first unless `newest` is true
#[utoipa::path(
    get, path = "/api/increments", operation_id = "list_increments", tag = "increments", params(ListParameters),
    responses(
        (status = 200, description = "The increments, without their tasks", body = Answer<Vec<Increment>>),
        (status = 404, description = "The increment in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_increments(
    State(app): State<App>,
    Query(parameters): Query<ListParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let ListParameters {
        state,
        newest,
        after,
        ..
    } = parameters;
    app.read_page(move |view| increment::list(view, state, newest, after.as_ref(), limit))
        .await
}

/// Create an increment
///
/// An increment is an implementation, its test and its verification, each a task for the router. When a test finds a fault,
/// Chorus adds a fix and another test.
#[utoipa::path(
    post, path = "/api/increments", operation_id = "create_increment", tag = "increments", request_body = IncrementInput,
    responses(
        (status = 201, description = "The new increment", body = Answer<IncrementTasks>),
    )
)]
pub(super) async fn create_increment(
    State(app): State<App>,
    caller: Caller,
    body: Body<IncrementInput>,
) -> Result<Response, Error> {
    let made = app
        .engine
        .create_increment(body.value, &caller, body.once)
        .await?;
    Ok(app.created(made))
}

/// Get an increment with its tasks, oldest first
#[utoipa::path(
    get, path = "/api/increments/{id}", operation_id = "get_increment", tag = "increments",
    params(("id" = String, Path, description = "The increment")),
    responses(
        (status = 200, description = "The increment", body = Answer<IncrementTasks>),
        (status = 404, description = "Increment not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_increment(
    State(app): State<App>,
    Id(id): Id<IncrementId>,
) -> Result<Response, Error> {
    app.read(move |view| increment::get(view, &id)).await
}

/// Retry a blocked increment
///
/// Blocked tasks are tried again. A failed test or verification gets one more round, regardless of the limit of rounds.
#[utoipa::path(
    post, path = "/api/increments/{id}/retry", operation_id = "retry_increment", tag = "increments",
    security(("token" = [])),
    params(("id" = String, Path, description = "The increment")),
    responses(
        (status = 200, description = "The increment", body = Answer<IncrementTasks>),
        (status = 403, description = "A run may not retry an increment", body = ErrorAnswer),
        (status = 404, description = "Increment not found", body = ErrorAnswer),
        (status = 409, description = "The increment is not blocked", body = ErrorAnswer),
    )
)]
pub(super) async fn retry_increment(
    State(app): State<App>,
    Id(id): Id<IncrementId>,
    _: MayDecide,
    Once(once): Once,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.retry_increment(id, once).await?))
}
