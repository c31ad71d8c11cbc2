//! `GET /api/tasks`, and `GET /api/ready`, which it replaces

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::extract::Query;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    AgentName, IllegalSkill, ReadyQuery, Role, Skill, StatusName, Task, TaskId, TaskQuery,
    TaskSummary, TaskWire,
};
use crate::ledger::task;

/// How much of each task a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum View {
    /// Whole tasks.
    #[default]
    Full,
    /// Summaries, without the agent chain and the plan.
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
    /// Only tasks with at least one of these tags, separated by commas.
    #[param(
        min_length = 1,
        pattern = "^[^\\s,\\x00-\\x1f\\x7f-\\x9f]+(,[^\\s,\\x00-\\x1f\\x7f-\\x9f]+)*$"
    )]
    tags: Option<String>,
    /// Only tasks that are ready to start: pending, with all dependencies met. The most urgent come first, then the oldest.
    /// Cannot be combined with another `status`, `agentRole` or `tags`.
    #[serde(default)]
    ready: bool,
    /// Only ready tasks that this agent qualifies for by its roles and skills. Needs `ready=true`.
    for_agent: Option<AgentName>,
    /// Whether to list the child tasks that were made for delegated hand-offs. They end with their hand-off.
    #[serde(default = "yes")]
    #[param(default = true)]
    delegated: bool,
    /// Newest first. Cannot be combined with `ready`.
    #[serde(default)]
    newest: bool,
    /// Maximum number of tasks in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<TaskId>,
    /// How much of each task to show; `full` by default.
    #[serde(default)]
    #[param(inline)]
    view: View,
}

const fn yes() -> bool {
    true
}

impl ListParameters {
    /// Refuses filters that contradict `ready`, and filters that need it.
    fn check(&self) -> Result<(), Error> {
        let refuse = |message: &str| Err(Error::InvalidQuery(format!("query: {message}")));
        match self.status {
            _ if !self.ready && self.for_agent.is_some() => {
                refuse("forAgent: needs ready=true; only ready tasks can be listed for an agent")
            }
            _ if !self.ready => Ok(()),
            _ if !self.delegated => refuse(
                "delegated: cannot be combined with ready=true; delegated tasks are never ready",
            ),
            _ if self.newest => refuse(
                "newest: cannot be combined with ready=true; ready tasks are sorted by priority",
            ),
            Some(status) if status != StatusName::Pending => {
                refuse("status: contradicts ready=true; ready tasks are pending")
            }
            _ if self.agent_role.is_some() => {
                refuse("agentRole: cannot be combined with ready=true; use forAgent")
            }
            _ if self.tags.is_some() => {
                refuse("tags: cannot be combined with ready=true; use forAgent")
            }
            _ => Ok(()),
        }
    }
}

/// Tasks in the view that the caller asked for.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Tasks {
    Full(Vec<Task>),
    Summary(Vec<TaskSummary>),
}

impl PartialSchema for Tasks {
    fn schema() -> RefOr<Schema> {
        let list = |item| ArrayBuilder::new().items(Ref::from_schema_name(item));
        // Not `oneOf`: a whole task is also a valid summary, with more keys.
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

/// List tasks, oldest first unless `newest` is true
///
/// With `ready=true`, lists only tasks that are ready to start, most urgent first.
#[utoipa::path(
    get, path = "/api/tasks", operation_id = "list_tasks", tag = "tasks", params(ListParameters),
    responses(
        (status = 200, description = "The tasks; `meta.next` is present if there are more", body = Answer<Tasks>),
        (status = 404, description = "The agent in `forAgent` or the task in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_tasks(
    State(app): State<App>,
    Query(parameters): Query<ListParameters>,
) -> Result<Response, Error> {
    parameters.check()?;
    if parameters.ready {
        let ready = ReadyParameters {
            for_agent: parameters.for_agent,
            limit: parameters.limit,
            after: parameters.after,
        };
        return list_ready(&app, ready, parameters.view).await;
    }
    let query = TaskQuery {
        status: parameters.status,
        agent_role: parameters.agent_role,
        tags: tags(parameters.tags.as_deref())?,
        newest: parameters.newest,
        delegated: parameters.delegated,
        after: parameters.after,
        limit: app.page_size(parameters.limit)?,
    };
    match parameters.view {
        View::Full => {
            app.read_page_as(move |view| task::list(view, &query), Tasks::Full)
                .await
        }
        View::Summary => {
            app.read_page_as(
                move |view| task::list_summaries(view, &query),
                Tasks::Summary,
            )
            .await
        }
    }
}

/// Parses tags separated by commas.
fn tags(text: Option<&str>) -> Result<Vec<Skill>, Error> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let tags = text.split(',').map(|tag| tag.trim().parse());
    tags.collect::<Result<_, IllegalSkill>>()
        .map_err(|error| Error::InvalidQuery(format!("query: tags: {error}")))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReadyParameters {
    /// Only tasks that this agent qualifies for by its roles and skills.
    for_agent: Option<AgentName>,
    /// Maximum number of tasks in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<TaskId>,
}

/// List tasks that are ready to start, most urgent first
#[utoipa::path(
    get, path = "/api/ready", operation_id = "list_ready_tasks", tag = "tasks", params(ReadyParameters),
    responses(
        (status = 200, description = "The tasks; `meta.next` is present if there are more", body = Answer<Vec<TaskWire>>),
        (status = 404, description = "The agent in `forAgent` or the task in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_ready_tasks(
    State(app): State<App>,
    Query(parameters): Query<ReadyParameters>,
) -> Result<Response, Error> {
    list_ready(&app, parameters, View::Full).await
}

async fn list_ready(app: &App, parameters: ReadyParameters, view: View) -> Result<Response, Error> {
    let query = ReadyQuery {
        for_agent: parameters.for_agent,
        after: parameters.after,
        limit: app.page_size(parameters.limit)?,
    };
    let tasks = move |items: Vec<Task>| match view {
        View::Full => Tasks::Full(items),
        View::Summary => Tasks::Summary(items.iter().map(TaskSummary::from).collect()),
    };
    app.read_page_as(move |view| task::ready(view, &query), tasks)
        .await
}
