//! Exports the whole ledger as JSON files, and imports it again.
//!
//! ```text
//! registry/registry.json                {"version": 1, "tasks": [summary …]}
//! registry/<task-id>/task.json          the task, with the prompts of its hand-offs
//! registry/<task-id>/history.json       its events
//! registry/<task-id>/queue.json         its queue
//! registry/<task-id>/messages.json      its messages, if there are any; a prompt has `"isPrompt": true`
//! registry/<task-id>/runs.json          the runs of its hand-offs, if it has hand-offs
//! registry/<task-id>/links.json         links of its hand-offs to others, and the router's notes, if there are any
//! registry/<task-id>/attachments/       its attachments
//! agents/<name>.json                    an agent
//! tools/<name>.json                     a hand-off tool, if there is any
//! requests/<id>.json                    a request with its transitions and recoveries, if there is any
//! alerts/<id>.json                      an alert, if there is any
//! increments/<id>.json                  an increment, if there is any; its tasks name it
//! mail/<id>.json                        a mail with the state of each recipient, if there is any
//! dispatch/routes.json                  the kind rules of requests, an array, if there are any
//! events.json                           the events of no task, if there are any
//! ledger.json                           times of agents and tools, tags in watched files
//! ```
//!
//! Everything but the documented files may be missing, as in archives of earlier versions: without `runs.json`, an open hand-off gets a
//! run that the next server ends; without `number`, events are numbered in the order of the files; without `isPrompt`, an empty user
//! message of a hand-off is read as a prompt.
//!
//! On import, dangling references become NULL.

mod export;
mod import;
mod one_file;
mod places;
mod plan;
mod present;
mod reader;
mod seen;
mod task_files;
mod times;

use std::path::PathBuf;

pub use export::{ExportOptions, Exported};
pub use import::{ImportOptions, ImportReport, Starting};
pub use plan::Displaced;
pub use reader::BadFile;

use crate::store::StoreError;

/// The file of kind rules, which were called routes when the layout was defined.
const ROUTES: &str = "dispatch/routes.json";

/// The file of events that belong to no task.
const EVENTS: &str = "events.json";

/// The version of the layout.
const VERSION: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("Directory {} is not empty; export into a new or empty directory", .0.display())]
    NotEmpty(PathBuf),
    #[error("Directory {} has no registry/registry.json; name a directory written by `chorus export`", .0.display())]
    NotAnArchive(PathBuf),
    #[error(
        "No agent has the environment variable {0}; `chorus agent show` lists those of an agent"
    )]
    UnknownVariable(String),
    #[error("{}: {cause}", path.display())]
    Io {
        path: PathBuf,
        cause: std::io::Error,
    },
    /// Files that failed the check. Nothing was imported.
    #[error("Nothing was imported; bad files in the archive: {}", .0.len())]
    Bad(Vec<BadFile>),
    #[error("The database failed; nothing was imported or exported")]
    Store(#[from] StoreError),
}

/// Adds the path to an I/O error.
fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ArchiveError {
    let path = path.into();
    move |cause| ArchiveError::Io { path, cause }
}

/// The progress of an export or import, in tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}
