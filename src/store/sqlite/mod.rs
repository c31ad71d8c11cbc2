//! The store on one SQLite file.
//!
//! sqlx has the readers and the migrations. One thread writes, on a handle of its own, because a statement costs
//! seven times as much through sqlx's channel as in SQLite itself and all writes stand in one line (see [`writer`]).
//! Statements and rows are shared between the two: `sql!` checks a statement's placeholders at compile time, and
//! [`row::Columns`] reads a row of either.

mod agent_changes;
mod agents;
mod alerts;
mod analytics;
mod attachments;
mod backup;
mod caller;
mod delegations;
mod dependencies;
mod dispatch_overview;
mod dispatches;
mod endings;
mod events;
mod file_alerts;
mod handoffs;
mod idempotency_keys;
mod import;
mod import_requests;
mod increment_stages;
mod increments;
mod lineage;
mod mail;
mod messages;
mod migrations;
mod moves;
mod needs;
mod queue_messages;
mod readiness;
mod reports;
mod request_moves;
mod request_tags;
mod requests;
mod route_choice;
mod route_ends;
mod route_mail;
mod routes;
mod routing;
mod row;
mod runs;
mod sessions;
mod snapshot;
mod sql;
mod store;
mod task_lists;
mod tasks;
mod tools;
mod transfers;
mod trees;
mod usage;
mod writer;

pub use migrations::{MigrationState, MigrationStatus, migrate, migration_status};
pub use store::{SqliteOptions, SqliteStore};
