//! `/api/agents`

use axum::extract::State;
use axum::response::Response;

use super::request::AgentPath;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::Agent;

/// Lists the configured agents by name.
#[utoipa::path(
    get, path = "/api/agents", operation_id = "list_agents", tag = "agents",
    responses((status = 200, description = "The agents", body = Answer<Vec<Agent>>))
)]
pub(super) async fn list_agents(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.agents().await?))
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
    AgentPath(name): AgentPath,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.agent(&name).await?))
}
