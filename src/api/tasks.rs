//! `/api/tasks`

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, ChangedTask, Id, PlannedTask, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    Caller, History, NeedsChange, PlanningChange, Status, StatusName, TaskId, TaskTree, TaskWire,
};
use crate::engine::TaskInput;
use crate::ledger::task;

/// Create a task
#[utoipa::path(
    post, path = "/api/tasks", operation_id = "create_task", tag = "tasks", request_body = TaskInput,
    responses(
        (status = 201, description = "The new task", body = Answer<TaskWire>),
    )
)]
pub(super) async fn create_task(
    State(app): State<App>,
    caller: Caller,
    body: Body<TaskInput>,
) -> Result<Response, Error> {
    Ok(app.created(
        app.engine
            .create_task(body.value, &caller, body.once)
            .await?,
    ))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitParameters {
    /// `idle`: wait until no agent works on the task. `settled`: wait until no agent works on the task or its descendants.
    #[param(inline)]
    wait: Option<WaitFor>,
    /// Maximum number of seconds to wait. Needs `wait`.
    #[param(minimum = 0, maximum = 600, default = 25)]
    timeout: Option<u64>,
}

/// The condition to wait for.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum WaitFor {
    Idle,
    Settled,
}

/// Get a task, or wait until no agent works on it
///
/// With `wait`, answers as soon as the condition holds, and at the timeout in any case. `wait=settled` follows the work
/// wherever control moves.
#[utoipa::path(
    get, path = "/api/tasks/{id}", operation_id = "get_task", tag = "tasks",
    params(("id" = String, Path, description = "The task"), WaitParameters),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    caller: Caller,
    Query(parameters): Query<WaitParameters>,
) -> Result<Response, Error> {
    let timeout = app.wait_time("timeout", parameters.timeout)?;
    let is_waiting = parameters.wait.is_some();
    if is_waiting && caller.run().is_some() {
        let id = id.clone();
        let task = app.engine.read(move |view| task::get(view, &id)).await?;
        if let Some(open) = task.open_handoff() {
            app.engine.await_answer(&caller, &open.id).await?;
        }
    }
    let task = match parameters.wait {
        None if parameters.timeout.is_some() => {
            return Err(Error::InvalidQuery(
                "query: timeout: needs wait=idle or wait=settled".to_owned(),
            ));
        }
        None => return app.read(move |view| task::get(view, &id)).await,
        Some(WaitFor::Idle) => app.engine.task_when_idle(&id, timeout).await?,
        Some(WaitFor::Settled) => app.engine.task_when_settled(&id, timeout).await?,
    };
    if is_waiting && let Some(last) = task.agent_chain().last() {
        app.engine.deliver_answer(&caller, &last.id).await?;
    }
    Ok(app.ok(task))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EditParameters {
    /// Merge `agentContext` and `handoffInstructions` into the stored objects key by key, instead of replacing them. A null
    /// removes a key.
    #[serde(default)]
    merge: bool,
}

/// Edit the role, tags, priority, dependencies or context of a task
///
/// Fields that are absent from the body keep their value.
#[utoipa::path(
    patch, path = "/api/tasks/{id}", operation_id = "edit_task", tag = "tasks", request_body = NeedsChange,
    params(("id" = String, Path, description = "The task"), EditParameters),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 409, description = "The dependencies would form a cycle, or the `Idempotency-Key` was used for another request", body = ErrorAnswer),
    )
)]
pub(super) async fn edit_task(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    caller: Caller,
    Query(parameters): Query<EditParameters>,
    body: Body<NeedsChange>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .change_needs(id, body.value, parameters.merge, &caller, body.once)
        .await?;
    Ok(app.ok(task))
}

/// A new status.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "status": "completed" }))]
pub struct StatusInput {
    /// The name of the status, or an object with the name as `type`. `failed` may have a `message`.
    #[schema(value_type = StatusForm)]
    pub status: Status,
}

/// The two ways to write a status.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "describes for OpenAPI what the deserializer of a status accepts"
)]
enum StatusForm {
    Word(StatusName),
    Object {
        r#type: StatusName,
        /// The reason of the failure; only for `failed`.
        #[schema(value_type = Option<String>)]
        message: Option<()>,
    },
}

/// Set the status of a task
#[utoipa::path(
    put, path = "/api/tasks/{id}/status", operation_id = "set_task_status", tag = "tasks", request_body = StatusInput,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn set_task_status(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    caller: Caller,
    body: Body<StatusInput>,
) -> Result<Response, Error> {
    Ok(app.ok(app
        .engine
        .set_status(id, body.value.status, &caller, body.once)
        .await?))
}

/// Set the planning fields of a task
///
/// The task becomes a planned task. Fields that are absent from the body keep their value. A task with a `sharedPlan` stands for another
/// one: the plan of both changes.
#[utoipa::path(
    put, path = "/api/tasks/{id}/planning", operation_id = "plan_task", tag = "tasks", request_body = PlanningChange,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn plan_task(
    State(app): State<App>,
    PlannedTask(id): PlannedTask,
    body: Body<PlanningChange>,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.plan_task(id, body.value, body.once).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryParameters {
    /// Cursor: `meta.next` of the previous answer.
    after: Option<i64>,
}

/// Get the history of a task, oldest event first
#[utoipa::path(
    get, path = "/api/tasks/{id}/history", operation_id = "get_task_history", tag = "tasks",
    params(("id" = String, Path, description = "The task"), HistoryParameters),
    responses(
        (status = 200, description = "The history; `meta.next` is present if it is too large for one answer", body = Answer<History>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task_history(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<HistoryParameters>,
) -> Result<Response, Error> {
    let after = parameters.after.unwrap_or_default();
    let history = |events| History { events };
    app.read_page_as(move |view| task::history(view, &id, after), history)
        .await
}

/// Get the family of a task as a tree of tasks and hand-offs
///
/// The tree begins at the root task. It shows agents, outcomes, times and costs.
#[utoipa::path(
    get, path = "/api/tasks/{id}/tree", operation_id = "get_task_tree", tag = "tasks",
    params(("id" = String, Path, description = "Any task of the family")),
    responses(
        (status = 200, description = "The tree, cut off at the 1000 oldest tasks and at a depth of 40: `omitted` counts the rest", body = Answer<TaskTree>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task_tree(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    app.read(move |view| task::tree(view, &id)).await
}
