//! What happens to the ledger: one transaction each.

pub mod agent;
pub mod alerts;
pub mod archive;
pub mod dispatch_overview;
pub mod dispatches;
pub mod file_alerts;
pub mod handoff;
pub mod history;
pub mod idempotency;
pub mod import_requests;
pub mod increment;
pub mod installation;
pub mod mail;
pub mod message;
pub mod old;
pub mod reactions;
pub mod request_moves;
pub mod request_tags;
pub mod requests;
pub mod routes;
pub mod routing;
pub mod run;
pub mod session;
pub mod task;
pub mod tool;
pub mod usage;

pub use old::Store;

pub use crate::store::{Result, Tx, View};
