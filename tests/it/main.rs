//! The integration tests: one program, one file per area.

#[path = "../support/mod.rs"]
mod support;

mod concurrency;
mod crash;
mod invariants;
mod layers;
mod model;
mod store;
