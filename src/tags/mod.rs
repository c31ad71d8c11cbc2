//! Tags in Markdown files on disk: atomic changes, search, and waiting. Works without a server.

mod beneath;
mod edit;
mod find;
mod reading;
mod survey;
mod verbs;
mod wait;
mod writing;

pub use edit::{AtLock, EditError, edit};
pub use find::{ContextLine, Found, Search, Unreadable, find};
pub use reading::FileTags;
pub use survey::{Look, Notice, Survey, SurveyError};
pub use verbs::{TagError, add, remove, swap};
pub use wait::{WaitError, await_tag};
pub use writing::{Section, TagWrite, write_tag};
