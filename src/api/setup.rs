//! `/api/setup` and `/api/agents/{name}/setup`

use axum::extract::State;
use axum::response::Response;

use super::extract::Id;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::AgentName;
use crate::engine::{AgentSetup, AgentSpec};

/// Check the programs and the specs of all agents
///
/// Answers how they are now: a program that is installed later is found without a change of the agent.
#[utoipa::path(
    get, path = "/api/setup", operation_id = "list_agent_setups", tag = "agents",
    responses((status = 200, description = "The findings, by the names of the agents", body = Answer<Vec<AgentSetup>>))
)]
pub(super) async fn list_agent_setups(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.agent_setups().await?))
}

/// Check the program and the spec of an agent, and read the spec
#[utoipa::path(
    get, path = "/api/agents/{name}/setup", operation_id = "get_agent_setup", tag = "agents",
    params(("name" = String, Path, description = "The agent", example = "developer")),
    responses(
        (status = 200, description = "The findings, with the text of the spec", body = Answer<AgentSpec>),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_agent_setup(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.agent_setup(name).await?))
}
