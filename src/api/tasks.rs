//! `/api/tasks`

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::extract::{Body, ChangedTask, Id, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    Caller, History, IllegalSkill, Page, PlanningChange, Role, Skill, Status, StatusName, Task,
    TaskId, TaskQuery, TaskSummary, TaskWire,
};
use crate::engine::TaskInput;
use crate::ledger::task;

/// How much of a task a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum View {
    /// Whole tasks.
    #[default]
    Full,
    /// Without the agent chain and the plan.
    Summary,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParameters {
    /// Only tasks with this status.
    #[param(inline)]
    status: Option<StatusName>,
    /// Only tasks for this role.
    agent_role: Option<Role>,
    /// Only tasks with at least one of these tags, which commas separate.
    tags: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Only tasks made after this one: `meta.next` of the answer before.
    after: Option<TaskId>,
    /// How much of each task is shown; `full` if it is not given.
    #[serde(default)]
    #[param(inline)]
    view: View,
}

/// Tasks, in the view that was asked for.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Tasks {
    Full(Vec<Task>),
    Summary(Vec<TaskSummary>),
}

impl PartialSchema for Tasks {
    fn schema() -> RefOr<Schema> {
        let list = |item| ArrayBuilder::new().items(Ref::from_schema_name(item));
        // Not `oneOf`: a whole task is also a summary with more keys.
        AnyOfBuilder::new()
            .item(list("Task"))
            .item(list("TaskSummary"))
            .description(Some("Whole tasks, or summaries with `view=summary`."))
            .into()
    }
}

impl ToSchema for Tasks {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((TaskWire::name().into(), TaskWire::schema()));
        schemas.push((TaskSummary::name().into(), TaskSummary::schema()));
        TaskWire::schemas(schemas);
        TaskSummary::schemas(schemas);
    }
}

/// Lists tasks, oldest first.
#[utoipa::path(
    get, path = "/api/tasks", operation_id = "list_tasks", tag = "tasks", params(ListParameters),
    responses(
        (status = 200, description = "The tasks; `meta.next` is there when there is more", body = Answer<Tasks>),
        (status = 404, description = "The task in `after` is not there", body = ErrorAnswer),
    )
)]
pub(super) async fn list_tasks(
    State(app): State<App>,
    Query(parameters): Query<ListParameters>,
) -> Result<Response, Error> {
    let query = TaskQuery {
        status: parameters.status,
        agent_role: parameters.agent_role,
        tags: tags(parameters.tags.as_deref())?,
        after: parameters.after,
        limit: app.page_size(parameters.limit)?,
    };
    Ok(match parameters.view {
        View::Full => {
            let page = app.engine.read(move |view| task::list(view, &query));
            let Page { items, next } = page.await?;
            app.page(Tasks::Full(items), next)
        }
        View::Summary => {
            let page = app
                .engine
                .read(move |view| task::list_summaries(view, &query));
            let Page { items, next } = page.await?;
            app.page(Tasks::Summary(items), next)
        }
    })
}

/// Reads tags that commas separate.
fn tags(asked: Option<&str>) -> Result<Vec<Skill>, Error> {
    let Some(asked) = asked else {
        return Ok(Vec::new());
    };
    let tags = asked.split(',').map(|tag| tag.trim().parse());
    tags.collect::<Result<_, IllegalSkill>>()
        .map_err(|error| Error::InvalidQuery(format!("query: tags: {error}")))
}

/// Makes a task.
#[utoipa::path(
    post, path = "/api/tasks", operation_id = "create_task", tag = "tasks", request_body = TaskInput,
    responses(
        (status = 201, description = "The task", body = Answer<TaskWire>),
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
    /// `idle`: answer when no agent is current, or at the time-out. `settled`: when none is on any task below it either.
    #[param(inline)]
    wait: Option<WaitFor>,
    /// How many seconds to wait; needs `wait`.
    #[param(minimum = 0, maximum = 600, default = 25)]
    timeout: Option<u64>,
}

/// What a reader of a task waits for.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum WaitFor {
    Idle,
    Settled,
}

/// Shows a task; with `wait=idle`, as soon as no agent works on it; with `wait=settled`, on none below it either, wherever
/// control moved.
#[utoipa::path(
    get, path = "/api/tasks/{id}", operation_id = "get_task", tag = "tasks",
    params(("id" = String, Path, description = "The task"), WaitParameters),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<WaitParameters>,
) -> Result<Response, Error> {
    let timeout = wait_time(&app, "timeout", parameters.timeout)?;
    let task = match parameters.wait {
        None if parameters.timeout.is_some() => {
            return Err(Error::InvalidQuery(
                "query: timeout: needs wait=idle or wait=settled".to_owned(),
            ));
        }
        None => app.engine.read(move |view| task::get(view, &id)).await?,
        Some(WaitFor::Idle) => app.engine.task_when_idle(&id, timeout).await?,
        Some(WaitFor::Settled) => app.engine.task_when_settled(&id, timeout).await?,
    };
    Ok(app.ok(task))
}

/// Checks how long a caller wants to wait.
pub(super) fn wait_time(
    app: &App,
    parameter: &str,
    seconds: Option<u64>,
) -> Result<Duration, Error> {
    let limits = app.engine.limits();
    match seconds.unwrap_or(limits.wait) {
        seconds if seconds <= limits.longest_wait => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::InvalidQuery(format!(
            "query: {parameter}: must be 0 to {} seconds",
            limits.longest_wait
        ))),
    }
}

/// What a caller says of a status to be set.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "status": "completed" }))]
pub struct StatusInput {
    /// A word, or an object with the word as `type`; `failed` may have a `message`.
    #[schema(value_type = StatusForm)]
    pub status: Status,
}

/// The two ways to write a status.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "says in the OpenAPI document what the reader of a status accepts"
)]
enum StatusForm {
    Word(StatusName),
    Object {
        r#type: StatusName,
        /// Why it failed; only for `failed`.
        #[schema(value_type = Option<String>)]
        message: Option<()>,
    },
}

/// Sets a task's status.
#[utoipa::path(
    put, path = "/api/tasks/{id}/status", operation_id = "set_status", tag = "tasks", request_body = StatusInput,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn set_status(
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

/// Sets planning fields of a task, which is then planned. Fields that are not given keep their value.
#[utoipa::path(
    put, path = "/api/tasks/{id}/planning", operation_id = "plan_task", tag = "tasks", request_body = PlanningChange,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn plan_task(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    body: Body<PlanningChange>,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.plan_task(id, body.value, body.once).await?))
}

/// Shows a task's history, oldest first.
#[utoipa::path(
    get, path = "/api/tasks/{id}/history", operation_id = "get_history", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The history", body = Answer<History>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn get_history(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    let history = app
        .engine
        .read(move |view| task::history(view, &id))
        .await?;
    Ok(app.ok(history))
}
