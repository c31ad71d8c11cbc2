//! `/api/tasks/{id}/route` and `/api/tasks/{id}/report`

use axum::extract::State;
use axum::response::Response;

use super::extract::{Body, ChangedTask, Id, Once};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Report, RouteChoice, TaskId, TaskWire};
use crate::words;

/// Explain which agent the router would choose for a task
///
/// Gives the reason for or against each agent. Changes nothing.
#[utoipa::path(
    get, path = "/api/tasks/{id}/route", operation_id = "explain_route", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The choice", body = Answer<RouteChoice>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn explain_route(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    let choice = app.engine.explain_route(id).await?;
    Ok(app.ok(words::route_choice(choice)))
}

/// Route a task to the best-suited agent now
#[utoipa::path(
    post, path = "/api/tasks/{id}/route", operation_id = "route_task", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 409, description = "No agent qualifies, or the task is not ready", body = ErrorAnswer),
    )
)]
pub(super) async fn route_task(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    Once(once): Once,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.route_task(id, once).await?))
}

/// Submit the report of a run on its task
///
/// Only the run that works on the task may submit it. The last report counts, and takes precedence over the run's last message.
#[utoipa::path(
    post, path = "/api/tasks/{id}/report", operation_id = "submit_report", tag = "tasks", request_body = Report,
    params(("id" = String, Path, description = "The task of the run")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 403, description = "The caller is not the run that works on the task", body = ErrorAnswer),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn submit_report(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    caller: Caller,
    body: Body<Report>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .give_report(id, body.value, &caller, body.once)
        .await?;
    Ok(app.ok(task))
}
