//! `/api/increments`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Id, MaySetUp, Once, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Increment, IncrementId, IncrementState, IncrementTasks, Page};
use crate::engine::IncrementInput;
use crate::ledger::increment;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParameters {
    /// Only increments in this state.
    #[param(inline)]
    state: Option<IncrementState>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Only increments made after this one: `meta.next` of the answer before.
    after: Option<IncrementId>,
}

/// Lists increments, oldest first.
#[utoipa::path(
    get, path = "/api/increments", operation_id = "list_increments", tag = "increments", params(ListParameters),
    responses(
        (status = 200, description = "The increments, without their tasks", body = Answer<Vec<Increment>>),
        (status = 404, description = "The increment in `after` is not there", body = ErrorAnswer),
    )
)]
pub(super) async fn list_increments(
    State(app): State<App>,
    Query(parameters): Query<ListParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let ListParameters { state, after, .. } = parameters;
    let Page { items, next } = app
        .engine
        .read(move |view| increment::list(view, state, after.as_ref(), limit))
        .await?;
    Ok(app.page(items, next))
}

/// Makes an increment: an implementation, its test, and its verification, each a task for the router. What a test finds is
/// mended and tested again.
#[utoipa::path(
    post, path = "/api/increments", operation_id = "create_increment", tag = "increments", request_body = IncrementInput,
    responses(
        (status = 201, description = "The increment", body = Answer<IncrementTasks>),
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

/// Shows an increment with its tasks, in the order in which they were made.
#[utoipa::path(
    get, path = "/api/increments/{id}", operation_id = "get_increment", tag = "increments",
    params(("id" = String, Path, description = "The increment")),
    responses(
        (status = 200, description = "The increment", body = Answer<IncrementTasks>),
        (status = 404, description = "There is no such increment", body = ErrorAnswer),
    )
)]
pub(super) async fn get_increment(
    State(app): State<App>,
    Id(id): Id<IncrementId>,
) -> Result<Response, Error> {
    let increment = app
        .engine
        .read(move |view| increment::get(view, &id))
        .await?;
    Ok(app.ok(increment))
}

/// Lets a blocked increment go on: what is blocked is tried again, and what failed is mended and tested once more, however often
/// that was done.
#[utoipa::path(
    post, path = "/api/increments/{id}/retry", operation_id = "retry_increment", tag = "increments",
    params(("id" = String, Path, description = "The increment")),
    responses(
        (status = 200, description = "The increment", body = Answer<IncrementTasks>),
        (status = 403, description = "A run asks, and this is for people", body = ErrorAnswer),
        (status = 404, description = "There is no such increment", body = ErrorAnswer),
        (status = 409, description = "It is not blocked", body = ErrorAnswer),
    )
)]
pub(super) async fn retry_increment(
    State(app): State<App>,
    Id(id): Id<IncrementId>,
    _: MaySetUp,
    Once(once): Once,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.retry_increment(id, once).await?))
}
