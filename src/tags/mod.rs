//! Tags in Markdown files on the disk: changed without losing anything, found, and waited for. No server is needed.

mod edit;
mod find;
mod verbs;
mod wait;

pub use edit::{EditError, edit};
pub use find::{ContextLine, Found, Search, Unreadable, find};
pub use verbs::{TagError, add, remove, swap};
pub use wait::{WaitError, await_tag};
