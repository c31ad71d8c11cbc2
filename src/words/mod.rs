//! The words in which Chorus tells people what the ledger and the domain give as data.
//!
//! Every edge (HTTP, command line) uses these, so that a sentence is written once; nothing is ever read from them.

mod refusal;
mod routing;
mod tag;

pub use refusal::{refusal, too_large};
pub use routing::{route_choice, wait_reason};
pub use tag::{tag_refusal, tags_now};
