//! Mail between agents, people and the router.

mod addresses;
mod deliver;
mod list;
mod mark;
mod post;
mod send;

pub use deliver::{DeliverMail, deliver, mark_copy_read, mark_read_after_handoff};
pub use list::{exists, get, list, list_pending};
pub use mark::{MailMark, MarkMail, mark};
pub use post::{insert, post};
pub use send::{SendMail, Sender, send};
