//! Options of the engine and of its loops.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::{DataDir, Limits};
use crate::domain::AgentName;

/// What an engine is made of.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Where files are kept.
    pub data_dir: DataDir,
    /// What tells the time.
    pub clock: Clock,
    /// How much of anything is allowed.
    pub limits: Limits,
    /// The directory that workspaces must stay in, if there is one.
    pub workspace_root: Option<PathBuf>,
}

/// How requests are started.
#[derive(Debug, Clone)]
pub struct DispatcherOptions {
    /// Whether approved requests are started at all.
    pub enabled: bool,
    /// How long to wait after the last approval.
    pub debounce: Duration,
    /// How many agents work at the same time.
    pub max_runs: u32,
    /// The command that follows the log of the hand-off that is named behind it, if windows of tmux are wanted.
    pub tmux: Option<Vec<OsString>>,
}

/// How tasks are given to agents.
#[derive(Debug, Clone, Default)]
pub struct RouterOptions {
    /// Whether ready tasks are given to agents at all.
    pub enabled: bool,
    /// How many agents work at the same time.
    pub max_runs: u32,
    /// Who gets what nobody suits.
    pub fallback: Option<AgentName>,
}
