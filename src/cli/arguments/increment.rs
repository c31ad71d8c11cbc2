//! Arguments of `chorus increment`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::{IncrementArgument, ServerArguments, Tags};
use crate::domain::{IncrementState, TaskPriority};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum IncrementCommand {
    /// Create an increment and print its id
    ///
    /// An increment is an implementation, a test and a verification. Each stage is a task, which the router gives to a suitable
    /// agent.
    Create(CreateIncrementArguments),
    /// List increments, oldest first
    List {
        /// Only increments in this state
        #[arg(long, value_parser = states())]
        state: Option<IncrementState>,
        /// Maximum number of increments
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only increments created after this one
        #[arg(long, value_name = "INCREMENT")]
        after: Option<IncrementArgument>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the stages of an increment
    Show {
        /// Increment to show
        increment: IncrementArgument,
        /// Wait until the increment is done; exit 1 if it is blocked
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Retry a blocked increment
    ///
    /// A blocked stage runs again. A failed test gets one more round of fix and test.
    Retry {
        /// Increment to retry
        increment: IncrementArgument,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateIncrementArguments {
    /// Title, in one line
    pub title: String,
    /// Full description of the work; - reads standard input
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub description: String,
    /// Command that tests the work
    #[arg(long, value_name = "COMMAND")]
    pub test_command: Option<String>,
    /// Increment that must be done first (repeatable)
    #[arg(long, value_name = "INCREMENT")]
    pub depends_on: Vec<IncrementArgument>,
    /// Skills the agents should have, such as `python,mcp`
    #[arg(long, value_name = "TAG,…")]
    pub tags: Option<Tags>,
    /// Priority: 0 (most urgent) to 4, or P0 to P4 [default: 2]
    #[arg(long, value_name = "0-4")]
    pub priority: Option<TaskPriority>,
    /// Working directory of the agents
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArguments,
}

fn states() -> impl TypedValueParser<Value = IncrementState> {
    PossibleValuesParser::new(IncrementState::ALL.map(IncrementState::as_str))
        .try_map(|word| IncrementState::parse(&word).ok_or("is not a state"))
}
