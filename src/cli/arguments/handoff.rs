//! What can be typed after `chorus handoff`, `chorus cancel` and `chorus log`.

use clap::Args;

use super::{DataArguments, ServerArguments};
use crate::client::DEFAULT_URL;

#[derive(Debug, Args)]
pub(in crate::cli) struct HandoffArguments {
    /// The task
    pub task: String,
    /// Whom to ask
    pub agent: String,
    /// What to ask; - reads it from standard input
    pub prompt: String,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
    /// Continue the agent's last session on this task
    #[arg(long)]
    pub resume: bool,
    /// Print the hand-off's id and do not wait
    #[arg(long)]
    pub no_wait: bool,
    /// Wait at most so many seconds; the hand-off goes on
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CancelArguments {
    /// The task
    pub task: String,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LogArguments {
    /// The hand-off, or a task, whose last hand-off is meant
    pub handoff: String,
    /// Go on with what is added, until the run has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Standard error instead of standard output
    #[arg(long)]
    pub stderr: bool,
    /// The server
    #[arg(long, env = "CHORUS_URL", default_value = DEFAULT_URL)]
    pub url: String,
    #[command(flatten)]
    pub data: DataArguments,
}
