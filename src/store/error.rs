//! What can go wrong in a store.

use std::path::PathBuf;

use crate::domain::Refusal;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an operation of the store did not happen. Whatever it is, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A rule forbids it.
    #[error("refused: {0:?}")]
    Refused(Refusal),
    /// The database failed.
    #[error("the database failed")]
    Driver(#[source] Cause),
    /// The database holds what Chorus never writes.
    #[error("the database is inconsistent: {0}")]
    Inconsistent(String),
    /// What was to be imported could not be read.
    #[error("the import was ended")]
    Source(#[source] Cause),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl StoreError {
    /// Makes an error of a row that cannot be understood.
    pub(crate) fn inconsistent(what: impl std::fmt::Display) -> Self {
        Self::Inconsistent(what.to_string())
    }
}

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database has migrations that this version of Chorus does not know.
    #[error("the database {} has the unknown migration {version}", path.display())]
    Newer {
        path: PathBuf,
        /// The first unknown migration.
        version: i64,
    },
    /// The database was migrated by a different text of a migration.
    #[error("the database {} has another migration {version}", path.display())]
    Changed { path: PathBuf, version: i64 },
    #[error("cannot open the database {}: {cause}", path.display())]
    Failed { path: PathBuf, cause: Cause },
}
