//! `/api/tasks/{id}/messages` and `/api/tasks/{id}/conversation`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, ChangedTask, Id, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Message, MessageQuery, TaskId};
use crate::engine::ConversationInput;
use crate::ledger::message;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MessageParameters {
    /// Cursor: `meta.next` of the previous page.
    after: Option<i64>,
    /// Maximum number of messages in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

impl MessageParameters {
    fn query(&self, app: &App) -> Result<MessageQuery, Error> {
        Ok(MessageQuery {
            after: self.after.unwrap_or_default(),
            limit: app.page_size(self.limit)?,
        })
    }
}

/// List the messages of a task, oldest first
#[utoipa::path(
    get, path = "/api/tasks/{id}/messages", operation_id = "list_messages", tag = "conversations",
    params(("id" = String, Path, description = "The task"), MessageParameters),
    responses(
        (status = 200, description = "The messages; `meta.next` is present if there are more", body = Answer<Vec<Message>>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_messages(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<MessageParameters>,
) -> Result<Response, Error> {
    let query = parameters.query(&app)?;
    app.read_page(move |view| message::of_task(view, &id, query))
        .await
}

/// Add a message to the conversation of a task
///
/// The author is the agent of the run that calls. For other callers it is the task's current agent, except for a
/// `user_message`.
#[utoipa::path(
    post, path = "/api/tasks/{id}/messages", operation_id = "create_message", tag = "conversations",
    request_body = ConversationInput, params(("id" = String, Path, description = "The task")),
    responses(
        (status = 201, description = "The new message", body = Answer<Message>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn create_message(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    caller: Caller,
    body: Body<ConversationInput>,
) -> Result<Response, Error> {
    let message = app
        .engine
        .add_message(id, body.value, &caller, body.once)
        .await?;
    Ok(app.created(message))
}

/// Get the conversation of a task's whole family in one order
///
/// Shows the author and task of each message, and where control moved.
#[utoipa::path(
    get, path = "/api/tasks/{id}/conversation", operation_id = "get_conversation", tag = "conversations",
    params(("id" = String, Path, description = "Any task of the family"), MessageParameters),
    responses(
        (status = 200, description = "The messages; `meta.next` is present if there are more", body = Answer<Vec<Message>>),
        (status = 404, description = "Task not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_conversation(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<MessageParameters>,
) -> Result<Response, Error> {
    let query = parameters.query(&app)?;
    app.read_page(move |view| message::of_family(view, &id, query))
        .await
}
