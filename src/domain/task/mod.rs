//! Tasks: units of work, with their needs, status, plan and files.

mod attachment;
mod dependency;
mod id;
mod needs;
mod planning;
mod priority;
mod query;
mod queue;
mod status;
mod summary;
mod task;
mod tree;

pub use attachment::{Attachment, AttachmentFolder, AttachmentId, Filename};
pub(crate) use dependency::DependencyForm;
pub use dependency::{Dependency, DependencyOutcome};
pub use id::TaskId;
pub use needs::{Needs, NeedsChange};
pub use planning::{Planning, PlanningChange, SharedPlan, TaskPlan};
pub use priority::{IllegalPriority, TaskPriority};
pub use query::{ReadyQuery, TaskQuery};
pub use queue::{MessageId, Queue, QueueMessage};
pub use status::{Status, StatusName};
pub use summary::TaskSummary;
pub(crate) use task::TaskWire;
pub use task::{NewTask, Routing, Source, Task};
pub use tree::{TaskTree, TreeHandoff};
