//! The tables: one file each, with its statements, their arguments and the reading of their rows.
//!
//! The tables contain no rules: they refuse nothing, record no events and cause no reactions. The ledger does that.

pub mod agents;
pub mod alerts;
pub mod applicants;
pub mod attachments;
pub mod attention;
pub mod board;
pub mod delegations;
pub mod dispatch_routes;
pub mod earlier_results;
pub mod events;
pub mod handoff_days;
pub mod handoff_sums;
pub mod handoffs;
pub mod idempotency_keys;
pub mod ids;
pub mod increments;
pub mod installation;
pub mod lineage;
pub mod mail;
pub mod mail_recipients;
pub mod messages;
pub mod queue_messages;
pub mod reports;
pub mod request_recoveries;
pub mod request_tags;
pub mod request_transitions;
pub mod requests;
pub mod runs;
pub mod sessions;
pub mod task_dependencies;
pub mod task_lists;
pub mod task_routing;
pub mod task_stages;
pub mod task_trees;
pub mod tasks;
pub mod tools;
pub mod usage;
