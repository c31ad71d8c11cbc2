//! Consistent copies of the database while it is in use.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use crate::store::{Result, StoreError};

/// Writes a compact copy to a file that must not exist. The file is complete, or it does not exist.
pub(super) fn backup(connection: &Connection, to: &Path) -> Result<()> {
    let folder = match to.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let unfinished = tempfile::Builder::new()
        .prefix(".chorus-backup-")
        .tempdir_in(folder)
        .map_err(io)?;
    let copy = unfinished.path().join("chorus.db");
    let name = copy
        .to_str()
        .ok_or_else(|| StoreError::inconsistent("the file's name is not UTF-8"))?;
    connection.execute("VACUUM INTO ?1", [name])?;
    let finish = || -> std::io::Result<()> {
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600))?;
        std::fs::File::open(&copy)?.sync_all()?;
        // A hard link fails if the name is taken; a rename would replace the existing file.
        std::fs::hard_link(&copy, to)?;
        unfinished.close()?;
        std::fs::File::open(folder)?.sync_all()
    };
    finish().map_err(io)
}

fn io(error: std::io::Error) -> StoreError {
    StoreError::Driver(error.into())
}
