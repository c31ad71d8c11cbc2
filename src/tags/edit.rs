//! Changes files atomically.
//!
//! # How it works
//!
//! A file is replaced, never written in place, so a crash leaves either the old file or the new one. The writer holds a lock on the file
//! during the change. A lock belongs to the inode and not to the name, so after getting the lock the writer checks that the name still
//! refers to that inode; if another writer has replaced the file, the attempt starts again with the new one. Programs that do not
//! lock are noticed too: just before the rename, the old file must still have the content that was read.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

/// The maximum number of attempts while another program keeps writing to the file.
const TRIES: usize = 100;

/// The reason why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("File not found: {}", path.display())]
    NotFound { path: PathBuf },
    #[error(
        "{} is not Markdown: tags belong into files that end in .md, .markdown or .txt",
        path.display()
    )]
    NotMarkdown { path: PathBuf },
    #[error("{} is not a regular file; name the file itself, not a folder or a symbolic link", path.display())]
    NotAFile { path: PathBuf },
    #[error("File {} cannot be opened for reading and writing: {cause}", path.display())]
    Unreadable {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error(
        "File {} cannot be replaced: {cause}; make its folder writable and free some space. The file is unchanged",
        path.display()
    )]
    Unwritable {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("File {} is being changed by another program; try again when it has finished", path.display())]
    Busy { path: PathBuf },
    #[error("File {} is locked by another program; the tag is written when the lock is released", path.display())]
    Locked { path: PathBuf },
}

impl EditError {
    /// Replaces the path by the one that the user knows.
    #[must_use]
    pub(super) fn at(mut self, known: &Path) -> Self {
        let (Self::NotFound { path }
        | Self::NotAFile { path }
        | Self::NotMarkdown { path }
        | Self::Unreadable { path, .. }
        | Self::Unwritable { path, .. }
        | Self::Busy { path }
        | Self::Locked { path }) = &mut self;
        known.clone_into(path);
        self
    }
}

/// The behaviour at a file that another program has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtLock {
    Wait,
    /// Returns [`EditError::Locked`].
    GiveUp,
}

/// The result of one attempt.
enum Try {
    Done(bool),
    /// The file was replaced during the wait for its lock.
    Replaced,
    /// The file was changed by a program that does not lock it.
    Changed,
}

/// Replaces a file by the result of `change`. Returns whether it was replaced; `None` from `change` leaves it as it is.
///
/// Concurrent calls for the same file are serialised, and each sees the result of the one before. The new file has the mode of the old
/// one, and its owner if the process is allowed to set it. The path must not be a symbolic link, which would itself be replaced;
/// resolve it first. Other hard links to the file keep the old text.
///
/// `change` is called again if the file was changed in the meantime.
pub fn edit<E: From<EditError>>(
    path: &Path,
    at_lock: AtLock,
    mut change: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<bool, E> {
    let mut tries = 0;
    while tries < TRIES {
        match attempt(path, at_lock, &mut change)? {
            Try::Done(is_changed) => return Ok(is_changed),
            Try::Replaced => {}
            Try::Changed => tries += 1,
        }
    }
    let path = path.to_owned();
    Err(EditError::Busy { path }.into())
}

fn attempt<E: From<EditError>>(
    path: &Path,
    at_lock: AtLock,
    change: &mut impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<Try, E> {
    let unreadable = |cause| unreadable(path, cause);
    let mut file = open(path)?;
    match at_lock {
        AtLock::Wait => file.lock().map_err(unreadable)?,
        AtLock::GiveUp => file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => EditError::Locked {
                path: path.to_owned(),
            },
            TryLockError::Error(cause) => unreadable(cause),
        })?,
    }
    let before = file.metadata().map_err(unreadable)?;
    match std::fs::symlink_metadata(path) {
        Ok(named) if is_same(&named, &before) => {}
        Ok(_) => return Ok(Try::Replaced),
        Err(cause) => return Err(unreadable(cause).into()),
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let Some(new) = change(&bytes)? else {
        return Ok(Try::Done(false));
    };
    let unwritable = |cause| EditError::Unwritable {
        path: path.to_owned(),
        cause,
    };
    let made = make_beside(path, &before, &new).map_err(unwritable)?;
    if !is_unchanged(path, &mut file, &before, &bytes) {
        return Ok(Try::Changed);
    }
    made.persist(path)
        .map_err(|error| unwritable(error.error))?;
    sync_folder(path).map_err(unwritable)?;
    Ok(Try::Done(true))
}

/// Opens the file for reading and writing, so that a write-protected file is not replaced.
fn open(path: &Path) -> Result<File, EditError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|cause| unreadable(path, cause))?;
    let metadata = file.metadata().map_err(|cause| unreadable(path, cause))?;
    if metadata.is_file() {
        Ok(file)
    } else {
        let path = path.to_owned();
        Err(EditError::NotAFile { path })
    }
}

fn unreadable(path: &Path, cause: std::io::Error) -> EditError {
    let path = path.to_owned();
    let is_link = cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    match cause.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => EditError::NotFound { path },
        ErrorKind::IsADirectory => EditError::NotAFile { path },
        _ if is_link => EditError::NotAFile { path },
        _ => EditError::Unreadable { path, cause },
    }
}

/// Writes the new file beside the old one. It is removed on drop, and has a hidden name in case the removal fails.
fn make_beside(path: &Path, old: &Metadata, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut made = tempfile::Builder::new()
        .prefix(".chorus-")
        .suffix(".tmp")
        .tempfile_in(folder(path))?;
    let file = made.as_file_mut();
    file.write_all(bytes)?;
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may change the owner. Otherwise keep at least the group, if the process belongs to it.
        if fchown(&*file, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(&*file, None, Some(old.gid()));
        }
    }
    // After the owner, because changing the owner clears some mode bits.
    file.set_permissions(old.permissions())?;
    file.sync_all()?;
    Ok(made)
}

/// Whether the file still has the content that was read. Times alone do not suffice, because of their granularity.
fn is_unchanged(path: &Path, file: &mut File, before: &Metadata, bytes: &[u8]) -> bool {
    let named = std::fs::symlink_metadata(path);
    let is_untouched = named.is_ok_and(|named| {
        is_same(&named, before)
            && named.size() == before.size()
            && (named.mtime(), named.mtime_nsec()) == (before.mtime(), before.mtime_nsec())
            && (named.ctime(), named.ctime_nsec()) == (before.ctime(), before.ctime_nsec())
    });
    let mut again = Vec::with_capacity(bytes.len());
    is_untouched && file.rewind().is_ok() && file.read_to_end(&mut again).is_ok() && again == bytes
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
