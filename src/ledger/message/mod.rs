//! Messages: the conversation of a task and of its family.

mod add;
mod list;
mod record;

pub use add::{AddMessage, add};
pub use list::{of_family, of_task};
pub use record::{record, record_on_task, record_prompt, record_unsaid};
