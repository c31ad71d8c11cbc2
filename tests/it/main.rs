//! The integration tests: one program, one file per area.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, what cannot go wrong and does should fail loudly"
)]

#[path = "../support/mod.rs"]
mod support;

mod api;
mod archive;
mod archive_mail;
mod archive_requests;
mod archive_routing;
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
mod routing;
mod runner;
mod schema;
mod schema_doc;
mod store;
mod store_mail;
mod store_requests;
mod surface;
mod tags;
#[cfg(feature = "otlp")]
mod telemetry;
mod torture;
mod waiters;
mod watching;
mod web;
mod wire;
