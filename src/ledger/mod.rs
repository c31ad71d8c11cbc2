//! The ledger: everything that happens, one transaction each.
//!
//! Functions here decide and are synchronous: reads take a [`View`], the ledger at one moment, and writes a [`Tx`], a transaction
//! that is committed or leaves nothing. A write checks everything first and then carries it out, and may be run again after its
//! transaction was rolled back. No SQL is here: statements are in [`crate::store::tables`]. [`reactions`] lists what follows when a
//! status changes or a hand-off ends.

pub mod agent;
pub mod alert;
pub mod archive;
pub mod handoff;
pub mod history;
pub mod idempotency;
pub mod ids;
pub mod increment;
pub mod installation;
pub mod mail;
pub mod message;
pub mod reactions;
pub mod request;
pub mod rights;
pub mod routing;
pub mod run;
pub mod session;
pub mod task;
pub mod tool;
pub mod usage;

pub use crate::store::{Result, Tx, View};
