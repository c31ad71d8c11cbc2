//! What was said on tasks, and waiting until nothing more is said.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{Caller, Idempotency, Message, MessageType, Task, TaskId, Text};
use crate::error::Error;
use crate::ledger::message::{self, AddMessage};
use crate::ledger::task;

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
        caller: &Caller,
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
            caller: caller.clone(),
        };
        self.write(once, move |tx| message::add(tx, &add)).await
    }

    /// Answers when no agent works on a task or on any below it, at the time-out, or when the server stops.
    pub async fn task_when_settled(&self, id: &TaskId, timeout: Duration) -> Result<Task> {
        let deadline = Instant::now() + timeout;
        let task = self.task(id).await?;
        let watch = self.feed().watch_family(task.root_id());
        loop {
            let changed = watch.changed();
            let task_id = id.clone();
            let is_settled = self
                .read(move |view| task::is_settled(view, &task_id))
                .await?;
            if is_settled || !self.wait(changed, deadline).await {
                return self.task(id).await;
            }
        }
    }
}
