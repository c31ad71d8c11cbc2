//! `/api/tasks/{id}/handoff…` and `/api/handoffs`

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, ChangedTask, Id, OptionalBody, Query, Trace};
use super::tasks::wait_time;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Handoff, HandoffId, TaskId, TaskWire, Text};
use crate::engine::HandoffInput;
use crate::ledger::handoff;

/// Hands a task to an agent. Answers at once; wait on the task or the hand-off for the end.
#[utoipa::path(
    post, path = "/api/tasks/{id}/handoff", operation_id = "start_handoff", tag = "hand-offs", request_body = HandoffInput,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task, with its new current agent; a child task if the task's own agent hands it on", body = Answer<TaskWire>),
        (status = 400, description = "The body is wrong, or the agent is not known (`UNKNOWN_AGENT`; `details.agents` lists the known ones)", body = ErrorAnswer),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
        (status = 409, description = "An agent is already active on the task", body = ErrorAnswer),
        (status = 413, description = "The body or the prompt is too large", body = ErrorAnswer),
        (status = 422, description = "The chain of hand-offs is too long; `details.chain` names it", body = ErrorAnswer),
    )
)]
pub(super) async fn start_handoff(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    caller: Caller,
    Trace(trace): Trace,
    body: Body<HandoffInput>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .start_handoff(id, body.value, &caller, trace, body.once)
        .await?;
    Ok(app.ok(task))
}

/// What a caller says of a hand-off to be completed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "output": "Done: the tests pass" }))]
pub struct CompleteInput {
    /// The final message.
    pub output: Text,
}

/// Completes the open hand-off of a task from outside.
#[utoipa::path(
    put, path = "/api/tasks/{id}/handoff/complete", operation_id = "complete_handoff", tag = "hand-offs",
    request_body = CompleteInput, params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task, without a current agent", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
        (status = 409, description = "No hand-off is open", body = ErrorAnswer),
    )
)]
pub(super) async fn complete_handoff(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    body: Body<CompleteInput>,
) -> Result<Response, Error> {
    Ok(app.ok(app
        .engine
        .complete_handoff(id, body.value.output, body.once)
        .await?))
}

/// What a caller says of a hand-off to be cancelled.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "reason": "No longer needed" }))]
pub struct CancelInput {
    /// Why; it becomes the output of the hand-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

/// Stops the open hand-off of a task.
#[utoipa::path(
    post, path = "/api/tasks/{id}/handoff/cancel", operation_id = "cancel_handoff", tag = "hand-offs",
    request_body = Option<CancelInput>,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task, without a current agent", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
        (status = 409, description = "No hand-off is open", body = ErrorAnswer),
    )
)]
pub(super) async fn cancel_handoff(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    body: OptionalBody<CancelInput>,
) -> Result<Response, Error> {
    Ok(app.ok(app
        .engine
        .cancel_handoff(id, body.value.reason, body.once)
        .await?))
}

/// Lists the hand-offs of a task in full, in the order of its chain.
#[utoipa::path(
    get, path = "/api/tasks/{id}/handoffs", operation_id = "list_handoffs", tag = "hand-offs",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The hand-offs", body = Answer<Vec<Handoff>>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn list_handoffs(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    let handoffs = app
        .engine
        .read(move |view| handoff::of_task(view, &id))
        .await?;
    Ok(app.ok(handoffs))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HandoffParameters {
    /// Wait so many seconds for the end.
    #[param(minimum = 0, maximum = 600)]
    wait: Option<u64>,
}

/// Shows a hand-off in full; with `wait`, as soon as it has ended.
#[utoipa::path(
    get, path = "/api/handoffs/{id}", operation_id = "get_handoff", tag = "hand-offs",
    params(("id" = String, Path, description = "The hand-off"), HandoffParameters),
    responses(
        (status = 200, description = "The hand-off", body = Answer<Handoff>),
        (status = 404, description = "There is no such hand-off", body = ErrorAnswer),
    )
)]
pub(super) async fn get_handoff(
    State(app): State<App>,
    Id(id): Id<HandoffId>,
    Query(parameters): Query<HandoffParameters>,
) -> Result<Response, Error> {
    let timeout = wait_time(&app, "wait", parameters.wait)?;
    let handoff = match parameters.wait {
        None => app.engine.read(move |view| handoff::get(view, &id)).await?,
        Some(_) => app.engine.handoff_when_ended(&id, timeout).await?,
    };
    Ok(app.ok(handoff))
}
