//! The ledger: every rule that reads or writes, one transaction each.
//!
//! The functions are synchronous. Reads take a [`View`], the ledger at one moment; writes take a [`Tx`], a transaction that is
//! committed as a whole or not at all. A write checks everything before it changes anything, and may run again after a
//! rollback. The SQL is in [`crate::store::tables`]. [`reactions`] lists the consequences of a changed status and of an ended
//! hand-off.

pub mod agent;
pub mod alert;
pub mod archive;
pub mod attention;
pub mod board;
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
