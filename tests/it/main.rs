//! The integration tests: one program, one file or folder per area.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod api;
mod archive;
mod callers;
mod cli;
mod concurrency;
mod crash;
mod dispatch;
mod docs;
mod invariants;
mod layers;
mod mail;
mod migration;
mod model;
mod private;
mod routing;
mod runner;
mod schema;
mod schema_doc;
mod sqlite_shell;
mod store;
mod surface;
mod tags;
#[cfg(feature = "otlp")]
mod telemetry;
mod time;
mod torture;
mod waiters;
mod watching;
mod web;
mod wire;
