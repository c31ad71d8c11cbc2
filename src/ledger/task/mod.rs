//! Tasks: making, finding, planning and changing them.

mod create;
mod find;
mod list;
mod plan;
mod queue;
mod status;
mod tree;

pub use create::create;
pub use find::{get, history, keys, load, number};
pub use list::{held, list, list_summaries, ready};
pub use plan::plan;
pub use queue::{queue, queue_message};
pub use status::set_status;
pub use tree::{is_settled, tree};
