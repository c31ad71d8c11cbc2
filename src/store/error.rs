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
    /// It has migrations that this program does not know.
    #[error(
        "the database {} was made by a newer version of Chorus (it has migration {version}); use that version or a later one",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The first migration that is not known.
        version: i64,
    },
    /// A migration is not the one that was applied.
    #[error(
        "migration {version} of the database {} is not the one that this version of Chorus has; restore a backup, or use the version that made it",
        path.display()
    )]
    Changed {
        /// The database.
        path: PathBuf,
        /// The migration.
        version: i64,
    },
    /// It cannot be opened or brought up to date.
    #[error("cannot open the database {}: {cause}", path.display())]
    Failed {
        /// The database.
        path: PathBuf,
        /// Why.
        cause: Cause,
    },
}
