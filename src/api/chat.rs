//! `/api/tasks/{id}/chat`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Id, MayChat, Once, TaskItem, Trace, find};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Handoff, MessageId, QueueMessage, Task, TaskId, TaskWire};
use crate::engine::ChatInput;
use crate::ledger::handoff::Chatted;

/// The fate of a chat message. Either `queued` or `handoff` is present.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ChatAnswer {
    /// The message, which waits for the end of the open hand-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub queued: Option<QueueMessage>,
    /// The hand-off that the message has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub handoff: Option<Handoff>,
    /// The task that has control: the one in the path, or one to which its control was transferred.
    #[schema(value_type = TaskWire)]
    pub task: Task,
}

/// Talk to the agent that has control
///
/// If an agent works on the task, the message is queued. When the hand-off has completed, the server sends all such messages as one
/// prompt to the same agent; after any other outcome they wait, and a message in the conversation says so. If no agent works, the
/// message starts a hand-off together with the messages that wait, in the session of the agent if its program can resume it.
#[utoipa::path(
    post, path = "/api/tasks/{id}/chat", operation_id = "send_chat_message", tag = "conversations", request_body = ChatInput,
    params(("id" = String, Path, description = "The task. If its control was transferred, the message goes to the task that has control.")),
    responses(
        (status = 201, description = "The message has started a hand-off", body = Answer<ChatAnswer>),
        (status = 202, description = "The message waits in the queue", body = Answer<ChatAnswer>),
        (status = 403, description = "A run may not speak as a person", body = ErrorAnswer),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 409, description = "Another agent than the named one works on the task, or the named one is not available", body = ErrorAnswer),
    )
)]
pub(super) async fn send_chat_message(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    _: MayChat,
    Trace(trace): Trace,
    body: Body<ChatInput>,
) -> Result<Response, Error> {
    let chatted = app.engine.chat(id, body.value, trace, body.once).await?;
    let Chatted {
        task,
        queued,
        handoff,
    } = chatted;
    let status = if handoff.is_some() {
        StatusCode::CREATED
    } else {
        StatusCode::ACCEPTED
    };
    let answer = ChatAnswer {
        queued,
        handoff,
        task,
    };
    Ok((status, app.ok(answer)).into_response())
}

/// Take back a queued message
#[utoipa::path(
    delete, path = "/api/tasks/{id}/queue/{message}", operation_id = "delete_queued_message", tag = "tasks",
    params(
        ("id" = String, Path, description = "The task, or another one of its family"),
        ("message" = String, Path, description = "The message"),
    ),
    responses(
        (status = 200, description = "The message, which is no longer in the queue", body = Answer<QueueMessage>),
        (status = 403, description = "A run may not take back messages", body = ErrorAnswer),
        (status = 404, description = "Task or message not found", body = ErrorAnswer),
        (status = 409, description = "An agent has the message already", body = ErrorAnswer),
    )
)]
pub(super) async fn delete_queued_message(
    State(app): State<App>,
    item: TaskItem,
    _: MayChat,
    Once(once): Once,
) -> Result<Response, Error> {
    let id: MessageId = find(&item.name)?;
    let message = app.engine.take_back_message(item.task_id, id, once).await?;
    Ok(app.ok(message))
}
