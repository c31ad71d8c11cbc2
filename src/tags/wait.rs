//! Waits until a file has a tag.
//!
//! The folder is watched and not the file, because editors save by replacing the file, and it may not exist yet. The watch is set
//! before the file is read, so no change in between is missed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::event::EventKind;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::domain::tag::{Present, TagPattern, scan};
use crate::words;

#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    #[error("{pattern} did not appear in {} in time; {}", path.display(), now(present.as_ref()))]
    TimedOut {
        pattern: TagPattern,
        path: PathBuf,
        /// The file's tags, or `None` if the file does not exist.
        present: Option<Present>,
    },
    #[error("File {} cannot be read: {cause}", path.display())]
    Unreadable {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("File {} cannot be watched: {cause}; raise fs.inotify.max_user_instances and max_user_watches", path.display())]
    Unwatchable { path: PathBuf, cause: notify::Error },
}

fn now(present: Option<&Present>) -> String {
    match present {
        Some(present) => words::tags_now(present),
        None => "the file does not exist".to_owned(),
    }
}

/// Waits until a file has a matching tag, on its Tags line or inline, or until the timeout.
pub fn await_tag(
    path: &Path,
    pattern: &TagPattern,
    timeout: Option<Duration>,
) -> Result<(), WaitError> {
    // A deadline beyond the range of `Instant` is never reached.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let unwatchable = |cause| WaitError::Unwatchable {
        path: path.to_owned(),
        cause,
    };
    let (teller, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the file also causes access events.
        if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
            // An error means that the wait is over.
            let _ = teller.send(());
        }
    })
    .map_err(unwatchable)?;
    let mut under_watch = Vec::new();
    loop {
        watch_again(&mut watcher, &mut under_watch, path).map_err(unwatchable)?;
        let present = match look(path, pattern)? {
            Look::Has => return Ok(()),
            Look::HasNot(present) => present,
        };
        let notice = match deadline {
            None => changes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => {
                changes.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            }
        };
        match notice {
            Ok(()) => while changes.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {
                return Err(WaitError::TimedOut {
                    pattern: pattern.clone(),
                    path: path.to_owned(),
                    present,
                });
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(unwatchable(notify::Error::generic("the watcher ended")));
            }
        }
    }
}

/// Sets the watches again, because a folder may have been replaced by another of the same name, which the old watch does not see.
fn watch_again(
    watcher: &mut RecommendedWatcher,
    under_watch: &mut Vec<PathBuf>,
    path: &Path,
) -> notify::Result<()> {
    for folder in under_watch.drain(..) {
        // An error means that the folder is gone, and its watch too.
        let _ = watcher.unwatch(&folder);
    }
    loop {
        let wanted = folders(path)?;
        let Some(missing) = wanted
            .into_iter()
            .find(|folder| !under_watch.contains(folder))
        else {
            return Ok(());
        };
        match watcher.watch(&missing, RecursiveMode::NonRecursive) {
            Ok(()) => under_watch.push(missing),
            // The folder was just deleted, so another ancestor is now the nearest.
            Err(_) if !missing.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the nearest existing folder above the path, and the folder of the target if the path is a symbolic link.
fn folders(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let path = std::path::absolute(path)?;
    let mut folders: Vec<_> = path
        .ancestors()
        .skip(1)
        .find(|folder| folder.is_dir())
        .map(Path::to_owned)
        .into_iter()
        .collect();
    if let Ok(target) = path.canonicalize()
        && let Some(folder) = target.parent()
    {
        folders.push(folder.to_owned());
    }
    Ok(folders)
}

enum Look {
    Has,
    /// The tags of the file, or `None` if it does not exist.
    HasNot(Option<Present>),
}

fn look(path: &Path, pattern: &TagPattern) -> Result<Look, WaitError> {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Look::HasNot(None));
        }
        Err(cause) => {
            return Err(WaitError::Unreadable {
                path: path.to_owned(),
                cause,
            });
        }
    };
    let scan = scan(&bytes);
    let has = scan
        .occurrences
        .iter()
        .any(|found| pattern.matches(&bytes[found.range.clone()]));
    Ok(if has {
        Look::Has
    } else {
        Look::HasNot(Some(Present::of(&scan)))
    })
}

/// Reads a regular file only, because opening a named pipe would block.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::read(path)
    } else {
        Err(std::io::Error::other("not a regular file"))
    }
}
