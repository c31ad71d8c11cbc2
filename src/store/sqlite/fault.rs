//! Maps the result codes of SQLite to errors of the store.

use std::error::Error;

use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_NOMEM};

use crate::domain::Fault;
use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match fault(&error) {
            Some(fault) => Self::Unavailable {
                fault,
                cause: error.into(),
            },
            None => Self::Driver(error.into()),
        }
    }
}

/// Copies an error that several callers of one transaction share.
pub(super) fn shared(error: &StoreError) -> StoreError {
    let text = error.source().unwrap_or(error).to_string();
    match error.fault() {
        Some(fault) => StoreError::Unavailable {
            fault,
            cause: text.into(),
        },
        None => StoreError::Driver(text.into()),
    }
}

fn fault(error: &rusqlite::Error) -> Option<Fault> {
    let error = error.sqlite_error()?;
    Some(match (error.code, error.extended_code) {
        (_, SQLITE_IOERR_NOMEM) | (ErrorCode::OutOfMemory | ErrorCode::CannotOpen, _) => {
            Fault::Short
        }
        (_, SQLITE_IOERR_CORRUPTFS) | (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => {
            Fault::Damaged
        }
        (
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
            _,
        ) => Fault::Locked,
        (ErrorCode::DiskFull, _) => Fault::Full,
        (ErrorCode::ReadOnly, _) => Fault::ReadOnly,
        (ErrorCode::SystemIoFailure, _) => Fault::Io,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn codes_of_sqlite_are_faults_unless_the_operation_is_to_blame() {
        for (code, expected) in [
            (ffi::SQLITE_BUSY, Some(Fault::Locked)),
            (ffi::SQLITE_LOCKED, Some(Fault::Locked)),
            (ffi::SQLITE_FULL, Some(Fault::Full)),
            (ffi::SQLITE_READONLY, Some(Fault::ReadOnly)),
            (ffi::SQLITE_IOERR_WRITE, Some(Fault::Io)),
            (ffi::SQLITE_IOERR_NOMEM, Some(Fault::Short)),
            (ffi::SQLITE_CANTOPEN, Some(Fault::Short)),
            (ffi::SQLITE_CORRUPT, Some(Fault::Damaged)),
            (ffi::SQLITE_NOTADB, Some(Fault::Damaged)),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, None),
            (ffi::SQLITE_MISMATCH, None),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = StoreError::from(error);
            assert_eq!(error.fault(), expected, "{code}");
            assert_eq!(shared(&error).fault(), expected, "{code}");
        }
    }
}
