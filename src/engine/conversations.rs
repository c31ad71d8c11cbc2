//! Adds messages to conversations, and waits until a task and its descendants are idle.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{Caller, Idempotency, Message, MessageType, Task, TaskId, Text};
use crate::error::Error;
use crate::ledger::message::{self, AddMessage};
use crate::ledger::task;

/// A new message of a conversation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "type": "user_message", "content": "Please be brief." }))]
pub struct ConversationInput {
    /// The type of the message.
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// The text of the message.
    #[schema(value_type = String, min_length = 1, max_length = 4_194_304, pattern = "\\S")]
    pub content: Text,
}

impl Engine {
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
        self.check_prompt("content", &input.content)?;
        let add = AddMessage {
            task_id,
            message_type: input.message_type,
            content: input.content,
            caller: caller.clone(),
        };
        self.write(once, move |tx| message::add(tx, &add)).await
    }

    /// Returns the task once no agent works on it or a descendant, or at the timeout, or when the server stops.
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
