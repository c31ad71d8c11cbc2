//! The integration tests: one program, one file per area.

#[path = "../support/mod.rs"]
mod support;

mod archive;
mod layers;
mod schema_doc;
