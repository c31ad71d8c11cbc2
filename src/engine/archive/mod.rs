//! The documented JSON layout: the whole ledger as files, out and in again.
//!
//! ```text
//! registry/registry.json                {"version": 1, "tasks": [summary …]}
//! registry/<task-id>/task.json          the task, with the prompts of its hand-offs
//! registry/<task-id>/history.json       its events
//! registry/<task-id>/queue.json         its queue
//! registry/<task-id>/messages.json      its messages, if there are any; one that stands for a prompt has `"isPrompt": true`
//! registry/<task-id>/attachments/       the bytes of its attachments
//! agents/<name>.json                    an agent
//! tools/<name>.json                     a hand-off tool, if there is any
//! requests/<id>.json                    a request with its transitions and recoveries, if there is any
//! alerts/<id>.json                      an alert, if there is any
//! increments/<id>.json                  an increment, if there is any; its tasks name it
//! mail/<id>.json                        a mail with what became of it, if there is any
//! dispatch/routes.json                  the routes of requests, an array, if there are any
//! ```
//!
//! Archives that were written before `isPrompt` existed have prompts as empty user messages of a hand-off, and are read as such.
//!
//! What refers to something that is not in the archive refers to nothing when it is read. Which tag of which file a request
//! stands for is not kept: whoever watches the file finds that out again.

mod export;
mod import;
mod one_file;
mod plan;
mod present;
mod reader;
mod seen;
mod task_files;

use std::path::PathBuf;

pub use export::Exported;
pub use import::{ImportOptions, ImportReport};
pub use reader::BadFile;

use crate::store::StoreError;

/// Where the routes are.
const ROUTES: &str = "dispatch/routes.json";

/// The version of the layout.
const VERSION: u32 = 1;

/// Why an export or import did not happen.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Exports do not mix with what is there.
    #[error("{} is not empty; export into a new or empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// There is nothing to import.
    #[error("{} has no registry/registry.json; is it a directory that `chorus export` made?", .0.display())]
    NotAnArchive(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The files are not what they must be. Nothing was imported.
    #[error("{} of the files cannot be imported; nothing was imported", .0.len())]
    Bad(Vec<BadFile>),
    /// The store failed.
    #[error("the database failed; nothing was imported or exported")]
    Store(#[from] StoreError),
}

/// Names the file in an error of the file system.
fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ArchiveError {
    let path = path.into();
    move |cause| ArchiveError::Io { path, cause }
}

/// How far an export or import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many tasks are done.
    pub done: u64,
    /// How many there are.
    pub total: u64,
}
