//! What happens to the ledger: one transaction each.

pub mod agent_changes;
pub mod agents;
pub mod alert;
pub mod archive;
pub mod attachments;
pub mod handoff;
pub mod history;
pub mod idempotency_keys;
pub mod import;
pub mod increment;
pub mod mail;
pub mod messages;
pub mod old;
pub mod reactions;
pub mod request;
pub mod routing;
pub mod run;
pub mod session;
pub mod task;
pub mod tools;
pub mod usage;

pub use old::Store;

pub use crate::store::{Result, Tx, View};
