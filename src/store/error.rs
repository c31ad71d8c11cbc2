//! Errors of the store.

use std::path::PathBuf;

use crate::domain::{Fault, Refusal};

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// An error of an operation. Whatever the variant, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operation breaks a rule.
    #[error("refused: {0:?}")]
    Refused(Refusal),
    #[error("the database failed")]
    Driver(#[source] Cause),
    /// The database cannot be used, for a reason outside of the operation.
    #[error("the database cannot be used ({fault:?})")]
    Unavailable {
        fault: Fault,
        #[source]
        cause: Cause,
    },
    /// The database contains a value that Chorus never writes.
    #[error("the database is inconsistent: {0}")]
    Inconsistent(String),
    /// The source of an import could not be read.
    #[error("the import was aborted")]
    Source(#[source] Cause),
    #[error("the database is closed")]
    Closed,
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl StoreError {
    /// Returns the fault of the database, if the operation is not to blame.
    pub const fn fault(&self) -> Option<Fault> {
        match self {
            Self::Unavailable { fault, .. } => Some(*fault),
            _ => None,
        }
    }

    pub(crate) fn inconsistent(what: impl std::fmt::Display) -> Self {
        Self::Inconsistent(what.to_string())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database has migrations that this version of Chorus does not know.
    #[error("the database {} has an unknown migration, {version}; use a newer version of Chorus", path.display())]
    Newer {
        path: PathBuf,
        /// The first unknown migration.
        version: i64,
    },
    /// The checksum of an applied migration differs.
    #[error("migration {version} of the database {} differs from the one of this version; restore a backup", path.display())]
    Changed { path: PathBuf, version: i64 },
    #[error("cannot open the database {}: {cause}", path.display())]
    Failed { path: PathBuf, cause: Cause },
}
