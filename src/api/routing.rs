//! `/api/ready`, `/api/route` and reports: what the router works with.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, ChangedTask, Id, Once, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    AgentName, Caller, NeedsChange, Page, ReadyQuery, Report, RouteChoice, TaskId, TaskWire,
};
use crate::ledger::task;
use crate::words;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReadyParameters {
    /// Only tasks that this agent suits, by its roles and skills.
    for_agent: Option<AgentName>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Only tasks that come after this one: `meta.next` of the answer before.
    after: Option<TaskId>,
}

/// Lists the tasks that are ready: pending, and all that they wait for has ended as it must. The most urgent come first, then
/// the oldest.
#[utoipa::path(
    get, path = "/api/ready", operation_id = "list_ready_tasks", tag = "routing", params(ReadyParameters),
    responses(
        (status = 200, description = "The tasks; `meta.next` is there when there is more", body = Answer<Vec<TaskWire>>),
        (status = 404, description = "There is no such agent, or the task in `after` is not there", body = ErrorAnswer),
    )
)]
pub(super) async fn list_ready_tasks(
    State(app): State<App>,
    Query(parameters): Query<ReadyParameters>,
) -> Result<Response, Error> {
    let query = ReadyQuery {
        for_agent: parameters.for_agent,
        after: parameters.after,
        limit: app.page_size(parameters.limit)?,
    };
    let page = app.engine.read(move |view| task::ready(view, &query));
    let Page { items, next } = page.await?;
    Ok(app.page(items, next))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ChangeParameters {
    /// Whether `agentContext` and `handoffInstructions` are merged into what is there, key by key; a null takes a key away.
    #[serde(default)]
    merge: bool,
}

/// Sets what a task needs. What is not given stays as it is.
#[utoipa::path(
    patch, path = "/api/tasks/{id}", operation_id = "change_task", tag = "routing", request_body = NeedsChange,
    params(("id" = String, Path, description = "The task"), ChangeParameters),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
        (status = 409, description = "The tasks would wait for each other, or the `Idempotency-Key` was used for another request", body = ErrorAnswer),
    )
)]
pub(super) async fn change_task(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    caller: Caller,
    Query(parameters): Query<ChangeParameters>,
    body: Body<NeedsChange>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .change_needs(id, body.value, parameters.merge, &caller, body.once)
        .await?;
    Ok(app.ok(task))
}

/// Says whom the router would give a task to, and why each agent is taken or not. Nothing changes.
#[utoipa::path(
    get, path = "/api/route/{taskId}", operation_id = "explain_route", tag = "routing",
    params(("taskId" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The choice", body = Answer<RouteChoice>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn explain_route(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    let choice = app.engine.explain_route(id).await?;
    Ok(app.ok(words::route_choice(choice)))
}

/// Gives a task to the agent that suits best, now.
#[utoipa::path(
    post, path = "/api/route/{taskId}", operation_id = "route_task", tag = "routing",
    params(("taskId" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
        (status = 409, description = "Nobody suits, or the task is not ready", body = ErrorAnswer),
    )
)]
pub(super) async fn route_task(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    Once(once): Once,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.route_task(id, once).await?))
}

/// Takes what the run that works on a task says of its work. It counts more than what its last message says.
#[utoipa::path(
    post, path = "/api/tasks/{id}/report", operation_id = "give_report", tag = "routing", request_body = Report,
    params(("id" = String, Path, description = "The task that the run works on")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 403, description = "It is not the task of this run", body = ErrorAnswer),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn give_report(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    caller: Caller,
    body: Body<Report>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .give_report(id, body.value, &caller, body.once)
        .await?;
    Ok(app.ok(task))
}
