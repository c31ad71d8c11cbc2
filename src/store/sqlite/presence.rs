//! Notices that the files of an open database were deleted or replaced.
//!
//! SQLite keeps writing to a deleted file as if nothing had happened, and every write would be lost with the process. So the
//! writer compares the files at their paths with the ones that it opened.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::domain::Fault;
use crate::store::{Result, StoreError};

type Inode = (u64, u64);

/// The files that a connection has opened.
#[derive(Debug)]
pub(super) struct Presence {
    database: (PathBuf, Inode),
    /// SQLite creates this file at the first access.
    log: (PathBuf, Option<Inode>),
}

impl Presence {
    pub fn of(path: &Path) -> std::io::Result<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        Ok(Self {
            database: (path.to_owned(), inode(path)?),
            log: (log.into(), None),
        })
    }

    /// Fails if a file is no longer the one that was opened.
    pub fn check(&mut self) -> Result<()> {
        let (path, opened) = &self.database;
        if inode(path).ok() != Some(*opened) {
            return Err(gone(path));
        }
        let (path, opened) = &mut self.log;
        match (inode(path).ok(), &opened) {
            (found @ Some(_), None) => *opened = found,
            (found, Some(_)) if found != *opened => return Err(gone(path)),
            _ => {}
        }
        Ok(())
    }
}

fn inode(path: &Path) -> std::io::Result<Inode> {
    let file = std::fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

fn gone(path: &Path) -> StoreError {
    StoreError::Unavailable {
        fault: Fault::Gone,
        cause: format!("{} is not the file that was opened", path.display()).into(),
    }
}
