//! What can be typed after `chorus session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ServerArguments;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SessionCommand {
    /// List sessions, oldest first
    List {
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only sessions behind this one
        #[arg(long, value_name = "SESSION")]
        after: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a session and its hand-offs. As JSON: its hand-offs with all that was said
    Show {
        /// The session
        session: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Move a conversation to another agent, and print the hand-off's id
    Handoff(SessionHandoffArguments),
    /// Count the hand-offs of a session
    Count {
        /// The session
        session: String,
        /// Only those from this agent
        #[arg(long, value_name = "AGENT")]
        from: Option<String>,
        /// Only those to this agent
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SessionHandoffArguments {
    /// The session; a new id makes one
    pub session: String,
    /// The agent that has the conversation
    pub from: String,
    /// The agent that is to have it
    pub to: String,
    /// Why it moves
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// What the user wants
    #[arg(long, value_name = "TEXT")]
    pub intent: String,
    /// A file that has what was said as a JSON array; - reads it from standard input [default: what the session moved with last]
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// The trace of the harness that leads the conversation
    #[arg(long, value_name = "ID")]
    pub harness_trace: Option<String>,
    /// Only record the move; do not run the agent
    #[arg(long)]
    pub no_invoke: bool,
    /// Wait for the end of all that follows, and print the last final message
    #[arg(long, conflicts_with = "no_invoke")]
    pub wait: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}
