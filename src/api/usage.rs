//! `/api/tasks/{id}/usage` and `/api/agents/{name}/usage`

use axum::extract::State;
use axum::response::Response;

use super::extract::Id;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{AgentName, TaskId, UsageSum};
use crate::ledger::usage;

/// Adds up what the runs of a task used: tokens, turns, time and cost.
#[utoipa::path(
    get, path = "/api/tasks/{id}/usage", operation_id = "get_task_usage", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The sums", body = Answer<UsageSum>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task_usage(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    let sum = app
        .engine
        .read(move |view| usage::of_task(view, &id))
        .await?;
    Ok(app.ok(sum))
}

/// Adds up what the runs of an agent used: tokens, turns, time and cost.
#[utoipa::path(
    get, path = "/api/agents/{name}/usage", operation_id = "get_agent_usage", tag = "agents",
    params(("name" = String, Path, description = "The agent")),
    responses(
        (status = 200, description = "The sums", body = Answer<UsageSum>),
        (status = 404, description = "There is no such agent", body = ErrorAnswer),
    )
)]
pub(super) async fn get_agent_usage(
    State(app): State<App>,
    Id(name): Id<AgentName>,
) -> Result<Response, Error> {
    let sum = app
        .engine
        .read(move |view| usage::of_agent(view, &name))
        .await?;
    Ok(app.ok(sum))
}
