//! The sentences for people, written from the data of the domain.
//!
//! Every edge (HTTP, command line) uses them, and so does the ledger for a stored sentence: a mail, a waiting reason. No program
//! parses them. An error says first what happened, then what to do.

mod context;
mod fault;
mod handoff;
mod number;
mod process;
mod refusal;
mod request;
mod routing;
mod tag;

pub use context::context_cut;
pub use fault::fault;
pub use handoff::{messages_held, not_completed, taken_down};
pub use number::counted;
pub use process::processes_left;
pub use refusal::{refusal, too_large};
pub use request::{FILES_DO_NOT_APPROVE, held_reason, recovery_action};
pub use routing::{blocked_mail, nobody_suits, route_choice, wait_reason};
pub use tag::{tag_refusal, tags_now};
