//! `/api/agents`

use axum::extract::State;
use axum::response::Response;

use super::extract::{Body, Id, MaySetUp, Once, OnlyNew, Segment};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Agent, AgentChange, AgentName, Caller, Capabilities, Problems};
use crate::ledger::agent;

/// List the configured agents by name
#[utoipa::path(
    get, path = "/api/agents", operation_id = "list_agents", tag = "agents",
    responses((status = 200, description = "The agents", body = Answer<Vec<Agent>>))
)]
pub(super) async fn list_agents(State(app): State<App>) -> Result<Response, Error> {
    app.read(agent::list).await
}

/// Get an agent
#[utoipa::path(
    get, path = "/api/agents/{name}", operation_id = "get_agent", tag = "agents",
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The agent", body = Answer<Agent>),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_agent(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    app.read(move |view| agent::get(view, &name)).await
}

/// Create an agent, or replace its whole configuration
///
/// Faults that would fail the first run are refused now: a missing spec, a `command` without a program. Names are
/// case-insensitive. Needs the operator's token.
#[utoipa::path(
    put, path = "/api/agents/{name}", operation_id = "put_agent", tag = "agents", request_body = AgentChange,
    security(("token" = [])),
    params(
        ("name" = String, Path, description = "The agent", example = "reviewer"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only create, never replace"),
    ),
    responses(
        (status = 200, description = "The replaced agent", body = Answer<Agent>),
        (status = 201, description = "The new agent", body = Answer<Agent>),
        (status = 400, description = "The name or the body is not valid; `details.problems` lists every fault", body = ErrorAnswer),
        (status = 403, description = "A run may not change the configuration", body = ErrorAnswer),
        (status = 409, description = "The agent exists and `If-None-Match` forbids it, or the name is too similar to another agent's name", body = ErrorAnswer),
    )
)]
pub(super) async fn put_agent(
    State(app): State<App>,
    Segment(name): Segment,
    _: MaySetUp,
    OnlyNew(only_new): OnlyNew,
    body: Body<AgentChange>,
) -> Result<Response, Error> {
    let name = AgentName::parse(name).map_err(|error| {
        let mut problems = Problems::default();
        problems.add("name", error.to_string());
        Error::InvalidFields(problems)
    })?;
    check_name(&name, &body.value)?;
    let agent = body.value.into_new(name);
    let put = app.engine.put_agent(agent, only_new, body.once).await?;
    Ok(if put.is_new {
        app.created(put.agent)
    } else {
        app.ok(put.agent)
    })
}

/// Edit fields of an agent
///
/// Absent fields keep their value; null clears a nullable field. Needs the operator's token.
#[utoipa::path(
    patch, path = "/api/agents/{name}", operation_id = "edit_agent", tag = "agents", request_body = AgentChange,
    security(("token" = [])),
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The agent", body = Answer<Agent>),
        (status = 400, description = "The body is not valid; `details.problems` lists every fault", body = ErrorAnswer),
        (status = 403, description = "A run may not change the configuration", body = ErrorAnswer),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
    )
)]
pub(super) async fn edit_agent(
    State(app): State<App>,
    Id(name): Id<AgentName>,
    MaySetUp(caller): MaySetUp,
    body: Body<AgentChange>,
) -> Result<Response, Error> {
    check_name(&name, &body.value)?;
    let agent = app
        .engine
        .change_agent(name, body.value, &caller, body.once)
        .await?;
    Ok(app.ok(agent))
}

/// Delete an agent that is not in use
///
/// Its past hand-offs stay. Needs the operator's token.
#[utoipa::path(
    delete, path = "/api/agents/{name}", operation_id = "delete_agent", tag = "agents",
    security(("token" = [])),
    params(("name" = String, Path, description = "The agent")),
    responses(
        (status = 200, description = "The deleted agent", body = Answer<Agent>),
        (status = 403, description = "A run may not change the configuration", body = ErrorAnswer),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
        (status = 409, description = "The agent works on a task, or a tool or a route refers to it; the message names it", body = ErrorAnswer),
    )
)]
pub(super) async fn delete_agent(
    State(app): State<App>,
    Id(name): Id<AgentName>,
    _: MaySetUp,
    Once(once): Once,
) -> Result<Response, Error> {
    let deleted = app.engine.write(once, move |tx| agent::delete(tx, &name));
    Ok(app.ok(deleted.await?))
}

/// Declare the roles, skills and session limit of an agent
///
/// A run may do so for its own agent, and may lower the session limit, but not raise or remove it. Other callers need the
/// operator's token.
#[utoipa::path(
    post, path = "/api/agents/{name}/capabilities", operation_id = "announce_capabilities", tag = "agents",
    request_body = Capabilities,
    params(("name" = String, Path, description = "The agent", example = "testing-specialist")),
    responses(
        (status = 200, description = "The agent", body = Answer<Agent>),
        (status = 400, description = "The body is not valid; the message names the field", body = ErrorAnswer),
        (status = 403, description = "The caller is a run of another agent, or would raise its own session limit", body = ErrorAnswer),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
    )
)]
pub(super) async fn announce_capabilities(
    State(app): State<App>,
    Id(name): Id<AgentName>,
    caller: Caller,
    body: Body<Capabilities>,
) -> Result<Response, Error> {
    let agent = app
        .engine
        .change_agent(name, body.value.into(), &caller, body.once)
        .await?;
    Ok(app.ok(agent))
}

/// Checks that a name in the body equals the name in the path.
fn check_name(name: &AgentName, body: &AgentChange) -> Result<(), Error> {
    match &body.name {
        Some(other) if !other.eq_ignore_case(name) => Err(Error::InvalidBody(format!(
            "name: must be {name}, the name in the path; agents cannot be renamed"
        ))),
        _ => Ok(()),
    }
}
