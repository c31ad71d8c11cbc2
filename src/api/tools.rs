//! `/api/tools`, `/api/agents/{name}/tools` and `/api/tasks/{id}/tools/{tool}`

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::extract::{Body, Id, MaySetUp, Once, OptionalBody, Segment, TaskItem, Trace, find};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    AgentName, Caller, ContextVariable, FunctionDefinition, TaskWire, Tool, ToolName,
};
use crate::ledger::tool;

/// What a caller says of a tool.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "name": "handoff_to_qa",
    "description": "Hand off to qa. Use it when something is ready to be tested.",
    "targetAgent": "qa",
    "contextVariables": [{ "name": "build", "type": "string", "required": true, "description": "Which build" }],
    "handoffInstructions": "Test it on a clean machine."
}))]
#[expect(
    dead_code,
    reason = "says in the OpenAPI document what the reader of a tool accepts"
)]
pub(super) struct ToolInput {
    /// Its name; in a change it may be left out, and is that of the path.
    name: ToolName,
    /// When to use it.
    description: String,
    /// Who goes on.
    target_agent: AgentName,
    /// What is passed on.
    #[schema(required = false)]
    context_variables: Vec<ContextVariable>,
    /// What the target is told.
    #[schema(required = false)]
    handoff_instructions: String,
    /// Who may use it; null or nothing stands for all agents but the target.
    #[schema(required = false)]
    allowed_agents: Option<Vec<AgentName>>,
}

async fn find_tool(app: &App, name: ToolName) -> Result<Tool, Error> {
    app.engine.read(move |view| tool::get(view, &name)).await
}

/// Lists the hand-off tools by name.
#[utoipa::path(
    get, path = "/api/tools", operation_id = "list_tools", tag = "tools",
    responses((status = 200, description = "The tools", body = Answer<Vec<Tool>>))
)]
pub(super) async fn list_tools(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.read(tool::list).await?))
}

/// Makes a hand-off tool. A run cannot.
#[utoipa::path(
    post, path = "/api/tools", operation_id = "create_tool", tag = "tools", request_body = ToolInput,
    responses(
        (status = 201, description = "The tool", body = Answer<Tool>),
        (status = 400, description = "The body is wrong; `details.problems` names every field, an unknown target too", body = ErrorAnswer),
        (status = 409, description = "There is a tool with this name", body = ErrorAnswer),
    )
)]
pub(super) async fn create_tool(
    State(app): State<App>,
    _: MaySetUp,
    body: Body<Tool>,
) -> Result<Response, Error> {
    let created = app
        .engine
        .write(body.once, move |tx| tool::create(tx, &body.value));
    Ok(app.created(created.await?))
}

/// Shows a hand-off tool.
#[utoipa::path(
    get, path = "/api/tools/{name}", operation_id = "get_tool", tag = "tools",
    params(("name" = String, Path, description = "The tool", example = "handoff_to_sdr")),
    responses(
        (status = 200, description = "The tool", body = Answer<Tool>),
        (status = 404, description = "There is no such tool", body = ErrorAnswer),
    )
)]
pub(super) async fn get_tool(
    State(app): State<App>,
    Id(name): Id<ToolName>,
) -> Result<Response, Error> {
    Ok(app.ok(find_tool(&app, name).await?))
}

/// Changes a hand-off tool: what the body says is all that it is. A run cannot.
#[utoipa::path(
    put, path = "/api/tools/{name}", operation_id = "change_tool", tag = "tools", request_body = ToolInput,
    params(("name" = String, Path, description = "The tool")),
    responses(
        (status = 200, description = "The tool", body = Answer<Tool>),
        (status = 400, description = "The body is wrong; `details.problems` names every field", body = ErrorAnswer),
        (status = 404, description = "There is no such tool", body = ErrorAnswer),
    )
)]
pub(super) async fn change_tool(
    State(app): State<App>,
    Segment(name): Segment,
    _: MaySetUp,
    body: Body<Map<String, Value>>,
) -> Result<Response, Error> {
    let name: ToolName = find(&name)?;
    find_tool(&app, name.clone()).await?;
    let mut value = body.value;
    // The path says which tool it is; a body may repeat it.
    let named = value
        .entry("name")
        .or_insert_with(|| name.as_str().into())
        .clone();
    if named != name.as_str() {
        return Err(Error::InvalidBody(format!(
            "name: must be {name}, as in the path; a tool keeps its name"
        )));
    }
    let tool: Tool = super::extract::read(Value::Object(value))?;
    let changed = app
        .engine
        .write(body.once, move |tx| tool::change(tx, &tool));
    Ok(app.ok(changed.await?))
}

/// Deletes a hand-off tool; what it did stays. A run cannot.
#[utoipa::path(
    delete, path = "/api/tools/{name}", operation_id = "delete_tool", tag = "tools",
    params(("name" = String, Path, description = "The tool")),
    responses(
        (status = 200, description = "The tool that was deleted", body = Answer<Tool>),
        (status = 404, description = "There is no such tool", body = ErrorAnswer),
    )
)]
pub(super) async fn delete_tool(
    State(app): State<App>,
    Segment(name): Segment,
    _: MaySetUp,
    Once(once): Once,
) -> Result<Response, Error> {
    let name = find(&name)?;
    let deleted = app.engine.write(once, move |tx| tool::delete(tx, &name));
    Ok(app.ok(deleted.await?))
}

/// Lists the tools that an agent may use, as a model sees them: function definitions, by name.
#[utoipa::path(
    get, path = "/api/agents/{name}/tools", operation_id = "list_agent_tools", tag = "tools",
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The definitions", body = Answer<Vec<FunctionDefinition>>),
        (status = 404, description = "There is no such agent", body = ErrorAnswer),
    )
)]
pub(super) async fn list_agent_tools(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    let definitions = app.engine.read(move |view| tool::definitions(view, &name));
    Ok(app.ok(definitions.await?))
}

/// Passes control of a task by a hand-off tool: the task completes, and a child task goes on with the merged context.
///
/// The body has the variables. A run may do this with its own task; a person with any that is not done.
#[utoipa::path(
    post, path = "/api/tasks/{id}/tools/{tool}", operation_id = "call_tool", tag = "tools",
    request_body(content = Object, example = json!({ "lead_id": "123" })),
    params(("id" = String, Path, description = "The task"), ("tool" = String, Path, description = "The tool")),
    responses(
        (status = 200, description = "The child task, with its current agent", body = Answer<TaskWire>),
        (status = 400, description = "The variables are wrong; `details.problems` names each", body = ErrorAnswer),
        (status = 403, description = "The agent may not use this tool, or the task is not the run's own", body = ErrorAnswer),
        (status = 404, description = "There is no such task or tool", body = ErrorAnswer),
        (status = 409, description = "Control has already moved, the task is done, or the target is not available", body = ErrorAnswer),
        (status = 413, description = "The body or the merged context is too large", body = ErrorAnswer),
        (status = 422, description = "The chain of hand-offs is too long; `details.chain` names it", body = ErrorAnswer),
    )
)]
pub(super) async fn call_tool(
    State(app): State<App>,
    TaskItem { task_id, name }: TaskItem,
    caller: Caller,
    Trace(trace): Trace,
    body: OptionalBody<Map<String, Value>>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .transfer(task_id, name, body.value, &caller, trace, body.once)
        .await?;
    Ok(app.ok(task))
}
