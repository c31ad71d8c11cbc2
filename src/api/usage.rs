//! `/api/tasks/{id}/usage` and `/api/agents/{name}/usage`

use axum::extract::State;
use axum::response::Response;

use super::extract::Id;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{AgentName, TaskId, UsageSum};
use crate::ledger::usage;

/// Get the total tokens, turns, time and cost of a task's runs
///
/// The tasks below it count, too: those of delegations, of transfers, and those that agents created.
#[utoipa::path(
    get, path = "/api/tasks/{id}/usage", operation_id = "get_task_usage", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The totals", body = Answer<UsageSum>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task_usage(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    app.read(move |view| usage::of_task(view, &id)).await
}

/// Get the total tokens, turns, time and cost of an agent's runs
#[utoipa::path(
    get, path = "/api/agents/{name}/usage", operation_id = "get_agent_usage", tag = "agents",
    params(("name" = String, Path, description = "The agent")),
    responses(
        (status = 200, description = "The totals", body = Answer<UsageSum>),
        (status = 404, description = "Agent not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_agent_usage(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    app.read(move |view| usage::of_agent(view, &name)).await
}
