//! The engine for one SQLite file.
//!
//! One thread writes (see [`writer`]), several read (see [`readers`]), each on its own rusqlite connection: a statement costs
//! seven times as much through the channel of an asynchronous driver as in SQLite itself. sqlx only runs the migrations.

mod backend;
mod backup;
mod connection;
mod damage;
mod fault;
mod migrations;
mod presence;
mod readers;
mod time;
mod writer;

pub(super) use backend::open;
pub use migrations::{MigrationState, MigrationStatus, migrate, migration_status};
