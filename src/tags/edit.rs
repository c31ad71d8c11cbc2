//! The one way in which a file is changed.
//!
//! # How it works
//!
//! A file is replaced, never written in place, so that a crash leaves the old one or the new one. Who replaces it holds a lock on the
//! file itself meanwhile. A lock belongs to a file and not to its name, so who gets the lock looks whether the name still leads to
//! that file; if not, somebody has replaced it, and everything begins again with the new one. Programs that do not lock are
//! noticed too: just before the new file takes the name, the old one must be what was read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

/// How often to begin again when somebody else keeps writing to the file.
const TRIES: usize = 100;

/// Why a file could not be changed. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// There is no such file.
    #[error("{} is not there", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// It is a folder, a symbolic link, or something else.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// It may not be read or written.
    #[error("cannot open {} for reading and writing: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The new file cannot be made.
    #[error(
        "cannot replace {}: {cause}; its folder must be writable and have room. The file is as it was",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// Somebody else writes to it all the time.
    #[error("another program keeps writing to {}; try again when it has finished", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

impl EditError {
    /// Names the file by the path that people know.
    #[must_use]
    pub(super) fn at(mut self, known: &Path) -> Self {
        let (Self::NotFound { path }
        | Self::NotAFile { path }
        | Self::Unreadable { path, .. }
        | Self::Unwritable { path, .. }
        | Self::Busy { path }) = &mut self;
        known.clone_into(path);
        self
    }
}

/// How one try ended.
enum Try {
    Done(bool),
    /// The file was replaced while its lock was waited for.
    Replaced,
    /// The file was changed by somebody who does not lock it.
    Changed,
}

/// Changes a file: reads it, asks what it is to be, and replaces it. Returns whether it was changed, which it is not if the answer is
/// `None`.
///
/// Of all who change a file this way at the same time, each sees what the one before left. The new file has the mode of the old
/// one, and its owner if this process may give it. The name must not be a symbolic link: resolve it first, or it would be replaced. Other
/// names of the same file (hard links) keep the old text.
///
/// `change` is asked again if the file was changed meanwhile.
pub fn edit<E: From<EditError>>(
    path: &Path,
    mut change: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<bool, E> {
    let mut tries = 0;
    while tries < TRIES {
        match attempt(path, &mut change)? {
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
    change: &mut impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<Try, E> {
    let unreadable = |cause| unreadable(path, cause);
    let mut file = open(path)?;
    file.lock().map_err(unreadable)?;
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

/// Opens the file that has this name, for writing too: a file that its owner protects is not replaced.
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

/// Writes the new file beside the old one. It is removed if it is not used, and has a hidden name in case that it cannot be.
fn make_beside(path: &Path, old: &Metadata, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut made = tempfile::Builder::new()
        .prefix(".chorus-")
        .suffix(".tmp")
        .tempfile_in(folder(path))?;
    let file = made.as_file_mut();
    file.write_all(bytes)?;
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file away; then the group at least, if this process is in it.
        if fchown(&*file, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(&*file, None, Some(old.gid()));
        }
    }
    // After the owner, whose change takes some bits of the mode away.
    file.set_permissions(old.permissions())?;
    file.sync_all()?;
    Ok(made)
}

/// Tells whether the name still leads to what was read. Times alone do not tell: they have the grain of the system's clock.
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
