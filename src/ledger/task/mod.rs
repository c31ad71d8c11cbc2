//! Tasks: creating, finding, planning and changing them.

mod attachments;
mod create;
mod dependencies;
mod edit;
mod find;
mod list;
mod plan;
mod queue;
mod readiness;
mod status;
mod tree;

pub use attachments::{
    Attach, Attached, Detached, attach, attachment, carry_attachments, detach, uses_bytes,
};
pub use create::{create, create_counted};
pub use dependencies::{repoint_dependants, unmet};
pub use edit::{ChangeNeeds, change_needs};
pub use find::{exists, find_workspace, get, history, keys, load, number};
pub use list::{held, list, list_summaries, ready};
pub use plan::plan;
pub use queue::{
    DeliveredQueue, deliver_queue, move_chat, queue, queue_chat, queue_message, record_sent,
    return_queue, take_back_message,
};
pub use readiness::{follow_context, follow_status};
pub use status::{SetStatus, set_status};
pub use tree::{is_settled, tree};
