//! The database, behind a small interface.
//!
//! Operations are closures over a [`View`] or a [`Tx`]; a [`Database`] runs them, and nothing above this folder knows the
//! engine. [`tables`] contains all SQL and no rules. A lookup returns `Option`; the ledger decides about refusals.
//!
//! # Adding a table
//! 1. Add a numbered file to `migrations/sqlite/`. Never edit an old one.
//! 2. Add a file to `tables/` with its statements and its row struct.
//! 3. Add operations to `src/ledger`, and tests to `tests/it`.

mod columns;
mod database;
mod error;
mod feed;
mod page;
pub mod row;
pub mod sql;
mod sqlite;
pub mod tables;
pub mod tx;
pub mod value;

pub use database::{
    Backend, Database, DatabaseOptions, DatabaseUrl, ReadJob, Readers, Sharing, Snapshot, WriteJob,
};
pub use error::{OpenError, StoreError};
pub use feed::{Feed, Published, Watch};
pub use page::{Item, LARGEST_PAGE};
pub use row::{FromRow, Json, Row};
pub(crate) use row::{columns, packed};
pub use sql::Statement;
pub(crate) use sql::{sql, text};
pub use sqlite::{MigrationState, MigrationStatus, migrate, migration_status};
pub use tx::{Tx, View};
pub(crate) use value::params;

pub type Result<T> = std::result::Result<T, StoreError>;
