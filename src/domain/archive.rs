//! A task with everything that belongs to it, as it is exported and imported.

use super::{AttachmentId, History, Queue, Task};

/// One folder of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskArchive {
    /// The task, with the prompts of its hand-offs.
    pub task: Task,
    /// Its history.
    pub history: History,
    /// Its queue.
    pub queue: Queue,
    /// The ids of its attachments, in their order: the folders that hold the bytes.
    pub attachment_ids: Vec<AttachmentId>,
}
