//! Arguments of `chorus handoff`, `chorus cancel` and `chorus log`.

use clap::Args;

use super::{COMMON, DataArguments, HandoffArgument, ServerArguments, TaskArgument};

#[derive(Debug, Args)]
#[command(override_usage = "chorus handoff [OPTIONS] [TASK] <AGENT> <PROMPT>")]
pub(in crate::cli) struct HandoffArguments {
    /// Task to hand off [default in a run: its own]
    pub task: TaskArgument,
    /// Agent that gets the task
    pub agent: String,
    /// Prompt for the agent; - reads standard input
    pub prompt: String,
    /// Reason for the hand-off
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Continue the agent's last session on this task
    #[arg(long)]
    pub resume: bool,
    /// Start a new hand-off, even if an agent repeats its own words
    ///
    /// Without it, an agent that runs the same command again before it got the answer continues to wait for the same hand-off.
    #[arg(long)]
    pub new: bool,
    /// Print the hand-off's id without waiting
    #[arg(long)]
    pub no_wait: bool,
    /// Seconds to wait; the hand-off continues
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ChatArguments {
    /// Task to talk about; without it, the first message is a new one
    pub task: Option<TaskArgument>,
    /// Agent of the first message [default: the last one of the task]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CancelArguments {
    /// Task whose hand-off is cancelled [default in a run: its own]
    pub task: TaskArgument,
    /// Reason for the cancellation
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LogArguments {
    /// Hand-off, or a task to read its last one [default in a run: its own]
    pub handoff: HandoffArgument,
    /// Follow the output until the run has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Print standard error instead
    #[arg(long)]
    pub stderr: bool,
    /// URL of the server, or unix:PATH
    ///
    /// Without it: the server of the data directory, or, without `./data`, `http://127.0.0.1:8080`.
    #[arg(long, env = "CHORUS_URL", help_heading = COMMON)]
    pub url: Option<String>,
    #[command(flatten)]
    pub data: DataArguments,
}
