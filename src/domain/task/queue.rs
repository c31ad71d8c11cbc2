//! Queues: messages for the next agent of a task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::text::id;
use crate::domain::{Text, Timestamp};

id::id! {
    /// The id of a queued message.
    MessageId
}

/// The messages of a task's queue, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// The messages.
    pub messages: Vec<QueueMessage>,
}

/// One message of a task's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueMessage {
    /// Its id.
    pub id: MessageId,
    /// What it says.
    pub content: Text,
    /// When it came.
    pub received_at: Timestamp,
}
