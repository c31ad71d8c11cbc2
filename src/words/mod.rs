//! The words in which Chorus tells people what the ledger and the domain give as data.
//!
//! Every edge (HTTP, command line) uses these, so that a sentence is written once; nothing is ever read from them.

mod context;
mod refusal;
mod request;
mod routing;
mod tag;

pub use context::context_cut;
pub use refusal::{refusal, too_large};
pub use request::{FILES_DO_NOT_APPROVE, held_reason, recovery_action};
pub use routing::{blocked_mail, nobody_suits, route_choice, wait_reason};
pub use tag::{tag_refusal, tags_now};
