//! `/api/tasks/{id}/handoff…` and `/api/handoffs`

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, ChangedTask, Id, OptionalBody, Query, Trace};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Handoff, HandoffId, TaskId, TaskWire, Text};
use crate::engine::HandoffInput;
use crate::ledger::handoff::{self, Delegated};
use crate::words;

/// Hand a task to an agent
///
/// Answers at once. A run that repeats task, agent and prompt before it got the answer gets the same hand-off, with `meta.existing`,
/// unless it sends `new`. Wait for the end with `GET /api/tasks/{id}?wait=idle` or `GET /api/handoffs/{id}?wait=25`.
#[utoipa::path(
    post, path = "/api/tasks/{id}/handoff", operation_id = "start_handoff", tag = "hand-offs", request_body = HandoffInput,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task with its new current agent; a child task if the task's own agent hands it on", body = Answer<TaskWire>),
        (status = 400, description = "The body is not valid, or the agent is unknown (`UNKNOWN_AGENT`; `details.agents` lists the known ones)", body = ErrorAnswer),
        (status = 404, description = "Task not found", body = ErrorAnswer),
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
    let Delegated { task, is_existing } = app
        .engine
        .start_handoff(id, body.value, &caller, trace, body.once)
        .await?;
    Ok(app.ok_or_existing(task, is_existing))
}

/// The result of a hand-off that is completed from outside.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "output": "Done: the tests pass" }))]
pub struct CompleteInput {
    /// The final message of the hand-off.
    pub output: Text,
}

/// Complete the open hand-off of a task from outside
///
/// Stops the run of the hand-off. Later output of the run is kept only in its log.
#[utoipa::path(
    put, path = "/api/tasks/{id}/handoff/complete", operation_id = "complete_handoff", tag = "hand-offs",
    request_body = CompleteInput, params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task, without a current agent", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 409, description = "The task has no open hand-off", body = ErrorAnswer),
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

/// The reason to cancel a hand-off.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "reason": "No longer needed" }))]
pub struct CancelInput {
    /// The reason; becomes the output of the hand-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

/// Cancel the open hand-off of a task
///
/// Cancels the hand-offs that its agent waits for as well. Stops their runs, by force if an agent does not end within the grace period. `meta.warning` says if processes
/// are left that even SIGKILL does not end.
#[utoipa::path(
    post, path = "/api/tasks/{id}/handoff/cancel", operation_id = "cancel_handoff", tag = "hand-offs",
    request_body = Option<CancelInput>,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task, without a current agent", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 409, description = "The task has no open hand-off", body = ErrorAnswer),
    )
)]
pub(super) async fn cancel_handoff(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    body: OptionalBody<CancelInput>,
) -> Result<Response, Error> {
    let (task, left) = app
        .engine
        .cancel_handoff(id, body.value.reason, body.once)
        .await?;
    Ok(app.ok_with(task, words::processes_left(left)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ChainParameters {
    /// Cursor: `meta.next` of the previous answer.
    #[param(value_type = Option<String>, max_length = 100, min_length = 1, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    after: Option<HandoffId>,
}

/// List the hand-offs of a task in full, oldest first
#[utoipa::path(
    get, path = "/api/tasks/{id}/handoffs", operation_id = "list_task_handoffs", tag = "hand-offs",
    params(("id" = String, Path, description = "The task"), ChainParameters),
    responses(
        (status = 200, description = "The hand-offs", body = Answer<Vec<Handoff>>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_task_handoffs(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<ChainParameters>,
) -> Result<Response, Error> {
    app.read_page(move |view| handoff::of_task(view, &id, parameters.after.as_ref()))
        .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceParameters {
    /// A W3C trace id, or the `harnessTraceId` of a session's hand-off.
    trace: String,
    /// Cursor: `meta.next` of the previous page.
    after: Option<HandoffId>,
    /// Maximum number of hand-offs in the page. Large records make it shorter.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// List the hand-offs of a trace, oldest first
#[utoipa::path(
    get, path = "/api/handoffs", operation_id = "list_trace_handoffs", tag = "hand-offs", params(TraceParameters),
    responses(
        (status = 200, description = "The hand-offs; `meta.next` is present if there are more", body = Answer<Vec<Handoff>>),
        (status = 404, description = "The hand-off in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_trace_handoffs(
    State(app): State<App>,
    Query(parameters): Query<TraceParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    app.read_page(move |view| {
        handoff::of_trace(view, &parameters.trace, parameters.after.as_ref(), limit)
    })
    .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HandoffParameters {
    /// Maximum number of seconds to wait for the end of the hand-off.
    #[param(minimum = 0, maximum = 600)]
    wait: Option<u64>,
}

/// Get a hand-off in full, or wait until it ends
///
/// If a run asks for the end of a hand-off that it waits for, it has got the answer.
#[utoipa::path(
    get, path = "/api/handoffs/{id}", operation_id = "get_handoff", tag = "hand-offs",
    params(("id" = String, Path, description = "The hand-off"), HandoffParameters),
    responses(
        (status = 200, description = "The hand-off", body = Answer<Handoff>),
        (status = 404, description = "Hand-off not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_handoff(
    State(app): State<App>,
    Id(id): Id<HandoffId>,
    caller: Caller,
    Query(parameters): Query<HandoffParameters>,
) -> Result<Response, Error> {
    let timeout = app.wait_time("wait", parameters.wait)?;
    let handoff = match parameters.wait {
        None | Some(0) => app.engine.handoff(&id).await?,
        Some(_) => {
            app.engine.await_answer(&caller, &id).await?;
            app.engine.handoff_when_ended(&id, timeout).await?
        }
    };
    if handoff.outcome.is_some() {
        app.engine.deliver_answer(&caller, &handoff.id).await?;
    }
    Ok(app.ok(handoff))
}
