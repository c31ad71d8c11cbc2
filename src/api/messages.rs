//! `/api/tasks/{id}/messages`, `/api/tasks/{id}/conversation` and `/api/tasks/{id}/tree`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, ChangedTask, Id, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Caller, Message, MessageQuery, Page, TaskId, TaskTree};
use crate::engine::ConversationInput;
use crate::ledger::{message, task};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MessageParameters {
    /// Only messages behind this number: `meta.next` of the answer before.
    after: Option<i64>,
    /// At most so many.
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

/// Lists what was said on a task, oldest first.
#[utoipa::path(
    get, path = "/api/tasks/{id}/messages", operation_id = "list_messages", tag = "conversations",
    params(("id" = String, Path, description = "The task"), MessageParameters),
    responses(
        (status = 200, description = "The messages; `meta.next` is there when there is more", body = Answer<Vec<Message>>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn list_messages(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<MessageParameters>,
) -> Result<Response, Error> {
    let query = parameters.query(&app)?;
    let page = app
        .engine
        .read(move |view| message::of_task(view, &id, query));
    let Page { items, next } = page.await?;
    Ok(app.page(items, next))
}

/// Adds a message to a task's conversation. What a run adds is said by its agent; what others add, but for
/// `user_message`, by the task's current agent.
#[utoipa::path(
    post, path = "/api/tasks/{id}/messages", operation_id = "add_message", tag = "conversations",
    request_body = ConversationInput, params(("id" = String, Path, description = "The task")),
    responses(
        (status = 201, description = "The message", body = Answer<Message>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn add_message(
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

/// Shows the conversation of the whole chain that a task belongs to, in one order: who said what on which task, and where
/// control moved.
#[utoipa::path(
    get, path = "/api/tasks/{id}/conversation", operation_id = "get_conversation", tag = "conversations",
    params(("id" = String, Path, description = "Any task of the chain"), MessageParameters),
    responses(
        (status = 200, description = "The messages; `meta.next` is there when there is more", body = Answer<Vec<Message>>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn get_conversation(
    State(app): State<App>,
    Id(id): Id<TaskId>,
    Query(parameters): Query<MessageParameters>,
) -> Result<Response, Error> {
    let query = parameters.query(&app)?;
    let page = app
        .engine
        .read(move |view| message::of_family(view, &id, query));
    let Page { items, next } = page.await?;
    Ok(app.page(items, next))
}

/// Shows the chain that a task belongs to as a tree from its first task: agents, outcomes, times and costs.
#[utoipa::path(
    get, path = "/api/tasks/{id}/tree", operation_id = "get_task_tree", tag = "conversations",
    params(("id" = String, Path, description = "Any task of the chain")),
    responses(
        (status = 200, description = "The tree; of a chain with more than 1000 tasks the oldest, and not deeper than 40: `omitted` counts the rest", body = Answer<TaskTree>),
        (status = 404, description = "There is no such task", body = ErrorAnswer),
    )
)]
pub(super) async fn get_task_tree(
    State(app): State<App>,
    Id(id): Id<TaskId>,
) -> Result<Response, Error> {
    let tree = app.engine.read(move |view| task::tree(view, &id)).await?;
    Ok(app.ok(tree))
}
