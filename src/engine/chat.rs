//! Chats with the agent that has control.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{Idempotency, MessageId, QueueMessage, TaskId, Text, TraceParent};
use crate::ledger::handoff::{self, Chat, Chatted};
use crate::ledger::task;

/// A message of a person to the agent that has control.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "content": "Please be brief." }))]
pub struct ChatInput {
    /// The message. If it is absent, the messages that wait are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 1_048_576)]
    pub content: Option<Text>,
    /// The agent to talk to. By default, the last agent of the chain. While an agent works, the name of another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub agent_name: Option<Text>,
}

impl Engine {
    /// Sends a message to the agent that has control, or queues it while an agent works.
    pub async fn chat(
        &self,
        task_id: TaskId,
        input: ChatInput,
        trace: Option<TraceParent>,
        once: Option<Idempotency>,
    ) -> Result<Chatted> {
        let content = input.content.filter(|content| !content.is_blank());
        if let Some(content) = &content {
            self.check_text("content", content)?;
        }
        let agent_name = input.agent_name.filter(|name| !name.is_blank());
        let chat = Chat {
            task_id,
            content,
            agent_name: agent_name.map(Text::into_string),
            trace,
        };
        let chatted = self.write(once, move |tx| handoff::chat(tx, &chat)).await?;
        if chatted.handoff.is_some() {
            metrics::counter!("chorus_handoffs_started_total").increment(1);
            self.wake_runner();
        }
        Ok(chatted)
    }

    /// Takes back a queued message that no agent has got.
    pub async fn take_back_message(
        &self,
        task_id: TaskId,
        message_id: MessageId,
        once: Option<Idempotency>,
    ) -> Result<QueueMessage> {
        self.write(once, move |tx| {
            task::take_back_message(tx, &task_id, &message_id)
        })
        .await
    }
}
