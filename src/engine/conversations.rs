//! What was said, and the tree of tasks on which it was said.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{Idempotency, Message, MessageType, RunIdentity, Task, TaskId, TaskTree, Text};
use crate::error::Error;
use crate::ledger::message::{self, AddMessage};

/// What a caller says of a message to be added.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "type": "user_message", "content": "Please be brief." }))]
pub struct ConversationInput {
    /// What kind of line it is.
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// What it says.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub content: Text,
}

impl Engine {
    /// Adds a message to a task's conversation.
    pub async fn add_message(
        &self,
        task_id: TaskId,
        input: ConversationInput,
        caller: Option<RunIdentity>,
        once: Option<Idempotency>,
    ) -> Result<Message> {
        if input.content.is_blank() {
            return Err(Error::InvalidBody("content: must not be empty".to_owned()));
        }
        let limit = self.limits().prompt;
        if input.content.as_str().len() > limit {
            return Err(Error::TooLarge {
                what: "content",
                limit,
            });
        }
        let add = AddMessage {
            task_id,
            message_type: input.message_type,
            content: input.content,
            caller,
        };
        self.write(once, move |tx| message::add(tx, &add)).await
    }

    /// Finds the tree of the chain that a task belongs to.
    pub async fn task_tree(&self, id: &TaskId) -> Result<TaskTree> {
        self.store
            .task_tree(id)
            .await?
            .ok_or_else(|| Error::not_found("Task", id))
    }

    /// Answers when no agent works on a task or on any below it, at the time-out, or when the server stops.
    pub async fn task_when_settled(&self, id: &TaskId, timeout: Duration) -> Result<Task> {
        let deadline = Instant::now() + timeout;
        let task = self.task(id).await?;
        let watch = self.feed().watch_chain(task.chain_id());
        loop {
            let changed = watch.changed();
            if self.store.is_settled(id).await? || !self.wait(changed, deadline).await {
                return self.task(id).await;
            }
        }
    }
}
