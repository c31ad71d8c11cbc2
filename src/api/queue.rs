//! `/api/tasks/{id}/queue`

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, ChangedTask, Id, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Queue, QueueMessage, TaskId, Text};
use crate::ledger::task;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct QueueParameters {
    /// Cursor: `meta.next` of the previous answer.
    after: Option<i64>,
}

/// Get the messages queued for the next agent on a task
#[utoipa::path(
    get, path = "/api/tasks/{id}/queue", operation_id = "get_task_queue", tag = "tasks",
    params(("id" = String, Path, description = "The task"), QueueParameters),
    responses(
        (status = 200, description = "The queue, oldest message first; `meta.next` is present if it is too large for one answer", body = Answer<Queue>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task_queue(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<QueueParameters>,
) -> Result<Response, Error> {
    let after = parameters.after.unwrap_or_default();
    let queue = |messages| Queue { messages };
    app.read_page_as(move |view| task::queue(view, &id, after), queue)
        .await
}

/// A message for the next agent on a task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "content": "Mind the edge cases" }))]
pub struct MessageInput {
    #[schema(value_type = String, min_length = 1, max_length = 1_048_576, pattern = "\\S")]
    pub content: Text,
}

/// Queue a message for the next agent on a task
#[utoipa::path(
    post, path = "/api/tasks/{id}/queue", operation_id = "queue_message", tag = "tasks", request_body = MessageInput,
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 201, description = "The queued message", body = Answer<QueueMessage>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn queue_message(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    body: Body<MessageInput>,
) -> Result<Response, Error> {
    Ok(app.created(
        app.engine
            .queue_message(id, body.value.content, body.once)
            .await?,
    ))
}
