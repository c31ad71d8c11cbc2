//! What can be typed after `chorus increment`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::{ServerArguments, Tags};
use crate::domain::{IncrementId, IncrementState, TaskPriority};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum IncrementCommand {
    /// Make an increment and print its id: an implementation, its test and its verification, each a task for the router
    Create(CreateIncrementArguments),
    /// Show where an increment stands, stage by stage
    Show {
        /// The increment
        increment: String,
        /// Wait until it is done, or blocked, which is a failure
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Let a blocked increment go on: what is blocked is tried again, what failed is mended and tested once more
    Retry {
        /// The increment
        increment: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List increments, oldest first
    List {
        /// Only those in this state
        #[arg(long, value_parser = states())]
        state: Option<IncrementState>,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only those made after this one
        #[arg(long, value_name = "INCREMENT")]
        after: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateIncrementArguments {
    /// What it is, in a line
    pub title: String,
    /// What is to be done, in full; - reads it from standard input
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub description: String,
    /// How it is tested
    #[arg(long, value_name = "COMMAND")]
    pub test_command: Option<String>,
    /// An increment that must be done before (repeatable)
    #[arg(long, value_name = "INCREMENT")]
    pub depends_on: Vec<IncrementId>,
    /// What its agents should be good at, such as `python,mcp`, beside what their stage asks for
    #[arg(long, value_name = "TAG,…")]
    pub tags: Option<Tags>,
    /// How urgent it is: 0 (the most urgent) to 4, or P0 to P4; 2 if nobody says
    #[arg(long, value_name = "0-4")]
    pub priority: Option<TaskPriority>,
    /// The working directory of its agents
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Reads the word that stands for a state.
fn states() -> impl TypedValueParser<Value = IncrementState> {
    PossibleValuesParser::new(IncrementState::ALL.map(IncrementState::as_str))
        .try_map(|word| IncrementState::parse(&word).ok_or("is not a state"))
}
