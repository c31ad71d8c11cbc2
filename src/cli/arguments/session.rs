//! Arguments of `chorus session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ServerArguments;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SessionCommand {
    /// List sessions, oldest first
    List {
        /// Maximum number of sessions
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only sessions after this one in the list
        #[arg(long, value_name = "SESSION")]
        after: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a session and its hand-offs
    ///
    /// --json prints the hand-offs with the whole conversation.
    Show {
        /// Session to show
        session: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Move a conversation to another agent and print the hand-off's id
    Handoff(SessionHandoffArguments),
    /// Count the hand-offs of a session
    Count {
        /// Session to count
        session: String,
        /// Only hand-offs from this agent
        #[arg(long, value_name = "AGENT")]
        from: Option<String>,
        /// Only hand-offs to this agent
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SessionHandoffArguments {
    /// Session id; a new id creates a session
    pub session: String,
    /// Agent that has the conversation now
    pub from: String,
    /// Agent that gets the conversation
    pub to: String,
    /// Reason for the move
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Goal of the user
    #[arg(long, value_name = "TEXT")]
    pub intent: String,
    /// JSON array of the messages so far; - reads standard input
    ///
    /// Without it, the session keeps the messages of its last move.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Trace id of the calling harness
    #[arg(long, value_name = "ID")]
    pub harness_trace: Option<String>,
    /// Record the move without running the agent
    #[arg(long)]
    pub no_invoke: bool,
    /// Wait for the chain to end and print its last message
    #[arg(long, conflicts_with = "no_invoke")]
    pub wait: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}
