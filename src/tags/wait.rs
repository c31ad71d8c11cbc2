//! Waiting until a file has a tag.
//!
//! Editors save by replacing a file, and it may not be there yet, so the folder is watched and not the file. Register first, look
//! second: what comes in between is not missed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::event::EventKind;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::domain::tag::{Present, TagPattern, scan};
use crate::words;

/// Why waiting ended without the tag.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// It has not come in time.
    #[error("{pattern} did not come to {} in time; {}", path.display(), now(present.as_ref()))]
    TimedOut {
        /// What was waited for.
        pattern: TagPattern,
        /// The file.
        path: PathBuf,
        /// The tags that it has, if it is there.
        present: Option<Present>,
    },
    /// The file is there and cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The system does not tell of changes.
    #[error("cannot watch {}: {cause}; see fs.inotify.max_user_instances and max_user_watches", path.display())]
    Unwatchable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: notify::Error,
    },
}

fn now(present: Option<&Present>) -> String {
    match present {
        Some(present) => words::tags_now(present),
        None => "the file is not there".to_owned(),
    }
}

/// Waits until a file has a tag that is looked for, on its Tags line or in its text; at most so long.
pub fn await_tag(
    path: &Path,
    pattern: &TagPattern,
    timeout: Option<Duration>,
) -> Result<(), WaitError> {
    // A time that the clock cannot name is never reached.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let unwatchable = |cause| WaitError::Unwatchable {
        path: path.to_owned(),
        cause,
    };
    let (teller, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Looking at the file opens it, which is told too.
        if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
            // Nobody listens any more when the waiting is over.
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

/// Watches the folders anew: any of them may have been replaced by another of the same name since, which the old watch does not see.
fn watch_again(
    watcher: &mut RecommendedWatcher,
    under_watch: &mut Vec<PathBuf>,
    path: &Path,
) -> notify::Result<()> {
    for folder in under_watch.drain(..) {
        // An error means that it is gone, and the watch with it.
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
            // It has gone away just now, so there is another that is the nearest.
            Err(_) if !missing.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the folder that has the name, or the nearest above it that is there; and that of the file that a symbolic link leads to.
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
    /// What there is, if the file is.
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

/// Reads a file; nothing else, because opening a pipe would wait for its other end.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::read(path)
    } else {
        Err(std::io::Error::other("it is not a regular file"))
    }
}
