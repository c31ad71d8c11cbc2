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

/// The definition of a hand-off tool.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "name": "handoff_to_qa",
    "description": "Hand off to qa. Use it when something is ready to be tested.",
    "targetAgent": "qa",
    "contextVariables": [{ "name": "build", "type": "string", "required": true, "description": "The build to test" }],
    "handoffInstructions": "Test it on a clean machine."
}))]
#[expect(
    dead_code,
    reason = "describes for OpenAPI what the deserializer of a tool accepts"
)]
pub(super) struct ToolInput {
    /// The name of the tool. `PUT` takes it from the path if it is absent.
    name: ToolName,
    /// When an agent should use the tool.
    #[schema(min_length = 1, max_length = 4096, pattern = "\\S")]
    description: String,
    /// The agent that continues the work.
    target_agent: AgentName,
    /// The variables that the tool passes on.
    #[schema(required = false, max_items = 100)]
    context_variables: Vec<ContextVariable>,
    /// Instructions for the target agent.
    #[schema(required = false, max_length = 32768)]
    handoff_instructions: String,
    /// The agents that may use the tool; null or absent allows all agents except the target.
    #[schema(required = false, min_items = 1)]
    allowed_agents: Option<Vec<AgentName>>,
}

async fn find_tool(app: &App, name: ToolName) -> Result<Tool, Error> {
    app.engine.read(move |view| tool::get(view, &name)).await
}

/// List the hand-off tools by name
#[utoipa::path(
    get, path = "/api/tools", operation_id = "list_tools", tag = "tools",
    responses((status = 200, description = "The tools", body = Answer<Vec<Tool>>))
)]
pub(super) async fn list_tools(State(app): State<App>) -> Result<Response, Error> {
    app.read(tool::list).await
}

/// Create a hand-off tool
///
/// Needs the operator's token.
#[utoipa::path(
    post, path = "/api/tools", operation_id = "create_tool", tag = "tools", request_body = ToolInput,
    security(("token" = [])),
    responses(
        (status = 201, description = "The new tool", body = Answer<Tool>),
        (status = 400, description = "The body is not valid; `details.problems` lists every fault, including an unknown target", body = ErrorAnswer),
        (status = 409, description = "A tool with this name exists", body = ErrorAnswer),
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

/// Get a hand-off tool
#[utoipa::path(
    get, path = "/api/tools/{name}", operation_id = "get_tool", tag = "tools",
    params(("name" = String, Path, description = "The tool", example = "handoff_to_sdr")),
    responses(
        (status = 200, description = "The tool", body = Answer<Tool>),
        (status = 404, description = "Tool not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_tool(
    State(app): State<App>,
    Id(name): Id<ToolName>,
) -> Result<Response, Error> {
    app.read(move |view| tool::get(view, &name)).await
}

/// Replace the whole definition of a hand-off tool
///
/// The tool must exist. Needs the operator's token.
#[utoipa::path(
    put, path = "/api/tools/{name}", operation_id = "put_tool", tag = "tools", request_body = ToolInput,
    security(("token" = [])),
    params(("name" = String, Path, description = "The tool")),
    responses(
        (status = 200, description = "The tool", body = Answer<Tool>),
        (status = 400, description = "The body is not valid; `details.problems` lists every fault", body = ErrorAnswer),
        (status = 404, description = "Tool not found", body = ErrorAnswer),
    )
)]
pub(super) async fn put_tool(
    State(app): State<App>,
    Segment(name): Segment,
    _: MaySetUp,
    body: Body<Map<String, Value>>,
) -> Result<Response, Error> {
    let name: ToolName = find(&name)?;
    find_tool(&app, name.clone()).await?;
    let mut value = body.value;
    // The name in the path counts; the body may repeat it.
    let named = value
        .entry("name")
        .or_insert_with(|| name.as_str().into())
        .clone();
    if named != name.as_str() {
        return Err(Error::InvalidBody(format!(
            "name: must be {name}, the name in the path; tools cannot be renamed"
        )));
    }
    let tool: Tool = super::extract::read(Value::Object(value))?;
    let changed = app
        .engine
        .write(body.once, move |tx| tool::change(tx, &tool));
    Ok(app.ok(changed.await?))
}

/// Delete a hand-off tool
///
/// Past transfers by the tool stay. Needs the operator's token.
#[utoipa::path(
    delete, path = "/api/tools/{name}", operation_id = "delete_tool", tag = "tools",
    security(("token" = [])),
    params(("name" = String, Path, description = "The tool")),
    responses(
        (status = 200, description = "The deleted tool", body = Answer<Tool>),
        (status = 404, description = "Tool not found", body = ErrorAnswer),
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

/// List the tools of an agent as function definitions for a model
#[utoipa::path(
    get, path = "/api/agents/{name}/tools", operation_id = "list_agent_tools", tag = "tools",
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The function definitions, by name", body = Answer<Vec<FunctionDefinition>>),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_agent_tools(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    app.read(move |view| tool::definitions(view, &name)).await
}

/// Transfer control of a task with a hand-off tool
///
/// The task completes, and a child task continues with the merged context. The body holds the variables. A run may
/// transfer its own task, other callers any task that has not ended.
#[utoipa::path(
    post, path = "/api/tasks/{id}/tools/{tool}", operation_id = "call_tool", tag = "tools",
    request_body(content = Object, example = json!({ "lead_id": "123" })),
    params(("id" = String, Path, description = "The task"), ("tool" = String, Path, description = "The tool")),
    responses(
        (status = 200, description = "The child task with its current agent", body = Answer<TaskWire>),
        (status = 400, description = "The variables are not valid; `details.problems` lists every fault", body = ErrorAnswer),
        (status = 403, description = "The agent may not use this tool, or the task is not the run's own task", body = ErrorAnswer),
        (status = 404, description = "Task or tool not found", body = ErrorAnswer),
        (status = 409, description = "Control has already moved, the task has ended, or the target is not available", body = ErrorAnswer),
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
