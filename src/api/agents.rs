//! `/api/agents`

use axum::extract::State;
use axum::response::Response;

use super::extract::{Body, Id, MaySetUp, Once, OnlyNew, Segment};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Agent, AgentChange, AgentName, Caller, Capabilities, Problems};
use crate::ledger::agent;

/// Lists the configured agents by name.
#[utoipa::path(
    get, path = "/api/agents", operation_id = "list_agents", tag = "agents",
    responses((status = 200, description = "The agents", body = Answer<Vec<Agent>>))
)]
pub(super) async fn list_agents(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.read(agent::list).await?))
}

/// Shows an agent.
#[utoipa::path(
    get, path = "/api/agents/{name}", operation_id = "get_agent", tag = "agents",
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The agent", body = Answer<Agent>),
        (status = 404, description = "There is no such agent", body = ErrorAnswer),
    )
)]
pub(super) async fn get_agent(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    let agent = app.engine.read(move |view| agent::get(view, &name));
    Ok(app.ok(agent.await?))
}

/// Makes an agent, or replaces it: what the body says is all that it is. A run cannot.
///
/// What would only fail at its first run is refused now: a spec that is not there, a `command` without a program.
/// Upper and lower case of the name do not matter.
#[utoipa::path(
    put, path = "/api/agents/{name}", operation_id = "put_agent", tag = "agents", request_body = AgentChange,
    params(
        ("name" = String, Path, description = "The agent", example = "reviewer"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only if it is not there yet"),
    ),
    responses(
        (status = 200, description = "The agent, which was there before", body = Answer<Agent>),
        (status = 201, description = "The agent, which was made", body = Answer<Agent>),
        (status = 400, description = "The name or the body is wrong; `details.problems` names every field", body = ErrorAnswer),
        (status = 403, description = "A run may not change how Chorus is set up", body = ErrorAnswer),
        (status = 409, description = "It is there, and must not be; or its name would be taken for another's", body = ErrorAnswer),
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

/// Changes an agent: only the keys that are given; null clears those that may be null. A run cannot.
#[utoipa::path(
    patch, path = "/api/agents/{name}", operation_id = "change_agent", tag = "agents", request_body = AgentChange,
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The agent", body = Answer<Agent>),
        (status = 400, description = "The body is wrong; `details.problems` names every field", body = ErrorAnswer),
        (status = 403, description = "A run may not change how Chorus is set up", body = ErrorAnswer),
        (status = 404, description = "There is no such agent", body = ErrorAnswer),
    )
)]
pub(super) async fn change_agent(
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

/// Deletes an agent that nothing needs; what it did stays. A run cannot.
#[utoipa::path(
    delete, path = "/api/agents/{name}", operation_id = "delete_agent", tag = "agents",
    params(("name" = String, Path, description = "The agent")),
    responses(
        (status = 200, description = "The agent that was deleted", body = Answer<Agent>),
        (status = 403, description = "A run may not change how Chorus is set up", body = ErrorAnswer),
        (status = 404, description = "There is no such agent", body = ErrorAnswer),
        (status = 409, description = "It works on a task, or a tool or a route names it; the message says which", body = ErrorAnswer),
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

/// Says what an agent offers: roles, skills, and how long its sessions may be.
///
/// A run speaks for its own agent alone, and may lower the limit of its sessions, not raise or remove it.
#[utoipa::path(
    post, path = "/api/agents/{name}/capabilities", operation_id = "announce_capabilities", tag = "agents",
    request_body = Capabilities,
    params(("name" = String, Path, description = "The agent", example = "testing-specialist")),
    responses(
        (status = 200, description = "The agent", body = Answer<Agent>),
        (status = 400, description = "The body is wrong; the message names the field", body = ErrorAnswer),
        (status = 403, description = "Another agent's run asks, or the run would raise its own limit", body = ErrorAnswer),
        (status = 404, description = "There is no such agent", body = ErrorAnswer),
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

/// Checks that a body, if it has a name, has that of the path.
fn check_name(name: &AgentName, body: &AgentChange) -> Result<(), Error> {
    match &body.name {
        Some(other) if !other.eq_ignore_case(name) => Err(Error::InvalidBody(format!(
            "name: must be {name}, as in the path; an agent keeps its name"
        ))),
        _ => Ok(()),
    }
}
