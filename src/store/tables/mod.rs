//! The tables: one file each, with its statements, the binding of their arguments and the reading of their rows.
//!
//! No rule is here: nothing is refused, no event is recorded, and no table calls for what follows a change. That is the ledger's.

pub mod events;
pub mod queue_messages;
pub mod tasks;
