//! Tasks: making, planning and changing them.

mod attachments;
mod create;
mod find;
mod plan;
mod queue;
mod status;

pub use attachments::{Attach, Attached, attach, attachment, detach};
pub use create::create;
pub use find::{get, history, keys, load, number};
pub use plan::plan;
pub use queue::{queue, queue_message};
pub use status::set_status;
