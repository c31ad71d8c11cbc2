//! Queues: messages for the next agent of a task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::text::id;
use crate::domain::{HandoffId, Text, Timestamp};

id::id! {
    /// The id of a queued message.
    MessageId
}

/// The queued messages of a task, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// The messages.
    pub messages: Vec<QueueMessage>,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The text of the message.
    pub content: Text,
    /// The time of arrival.
    pub received_at: Timestamp,
    /// The time at which the message was put into the prompt of an agent; null while it waits.
    #[serde(default)]
    #[schema(required)]
    pub delivered_at: Option<Timestamp>,
    /// The hand-off whose prompt has the message.
    #[serde(default)]
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// Whether the message is part of a chat: it starts a hand-off when the open one has completed. Absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub starts_handoff: bool,
}

impl QueueMessage {
    /// Joins messages into one prompt, oldest first.
    pub fn join<'a>(messages: impl Iterator<Item = &'a Self>) -> Text {
        let texts = messages.map(|message| message.content.as_str().trim());
        Text::lossy(texts.collect::<Vec<_>>().join("\n\n"))
    }
}
