//! The engine on one SQLite file.
//!
//! One thread writes (see [`writer`]), some read (see [`readers`]), each on a connection of its own through rusqlite: a statement
//! costs seven times as much through the channel of an asynchronous driver as in SQLite itself. sqlx has the migrations.

mod backend;
mod backup;
mod connection;
mod migrations;
mod readers;
mod writer;

pub(super) use backend::open;
pub use migrations::{MigrationState, MigrationStatus, migrate, migration_status};
