//! Archives: a task with everything that belongs to it, as it is exported and imported.

use serde::{Deserialize, Serialize};

use super::{AttachmentId, History, Message, Queue, Task};

/// One folder of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskArchive {
    /// The task, with the prompts of its hand-offs.
    pub task: Task,
    /// Its history.
    pub history: History,
    /// Its queue.
    pub queue: Queue,
    /// What was said on it; a prompt is empty here, because the task has it.
    pub conversation: Conversation,
    /// The ids of its attachments, in their order: the folders that hold the bytes.
    pub attachment_ids: Vec<AttachmentId>,
}

/// What was said on one task, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The messages.
    pub messages: Vec<Message>,
}
