//! The database behind a narrow waist.
//!
//! Operations are closures over a [`View`] or a [`Tx`]; a [`Database`] runs them, and nothing above this folder knows on which engine.
//! [`tables`] has every statement, and no rule. A lookup returns `Option`; the ledger decides what is refused.
//!
//! # Adding a table
//! 1. A numbered file in `migrations/sqlite/`, never an edit of an old one.
//! 2. One file in `tables/` with its statements and its row struct.
//! 3. Operations on it in `src/ledger`, and tests of them in `tests/it`.

mod columns;
mod database;
mod error;
mod feed;
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
pub use row::{FromRow, Item, Json, Row};
pub(crate) use row::{columns, packed};
pub use sql::Statement;
pub(crate) use sql::{sql, text};
pub use sqlite::{MigrationState, MigrationStatus, migrate, migration_status};
pub use tx::{Tx, View};
pub(crate) use value::params;

/// A result of the store.
pub type Result<T> = std::result::Result<T, StoreError>;
