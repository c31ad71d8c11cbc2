//! What can be typed after `chorus agents`.

use clap::Subcommand;

use super::ServerArguments;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AgentsCommand {
    /// List the agents
    List {
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show an agent
    Show {
        /// The agent
        agent: String,
        #[command(flatten)]
        server: ServerArguments,
    },
}
