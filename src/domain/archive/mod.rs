//! Archives: the ledger as exported and imported, with the parts that the API does not show.

mod conversation;
mod ledger;
mod links;
mod number;
mod run;

pub use conversation::{ArchivedMessage, Conversation};
pub use ledger::{ArchivedAlertTag, ArchivedTag, LedgerArchive, RowTimes, Seeding};
pub use links::{ArchivedDelegation, HandoffLinks, TaskLinks};
pub use number::MOST_NUMBER;
pub use run::{ArchivedRun, Runs};

use super::{AttachmentFolder, History, Queue, Task};

/// A task with all its data: one folder of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskArchive {
    /// Includes the prompts of the hand-offs.
    pub task: Task,
    pub history: History,
    pub queue: Queue,
    /// Without the prompts of the hand-offs, which are in `task`.
    pub conversation: Conversation,
    /// `None` in archives of earlier versions.
    pub runs: Option<Runs>,
    pub links: TaskLinks,
    /// In the order of the attachments.
    pub folders: Vec<AttachmentFolder>,
}
