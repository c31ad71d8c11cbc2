//! Options of the engine and of its loops.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::{DataDir, Limits};
use crate::domain::AgentName;

#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub data_dir: DataDir,
    pub clock: Clock,
    pub limits: Limits,
    /// The directory that contains every requested workspace, if one is configured.
    pub workspace_root: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct DispatcherOptions {
    pub enabled: bool,
    /// The quiet period after the last approval.
    pub debounce: Duration,
    pub max_runs: u32,
    /// The command that follows a log in a tmux window; the hand-off's id is appended. `None` opens no windows.
    pub tmux: Option<Vec<OsString>>,
}

#[derive(Debug, Clone, Default)]
pub struct RouterOptions {
    pub enabled: bool,
    pub max_runs: u32,
    /// The agent for tasks that no other agent suits.
    pub fallback: Option<AgentName>,
}
