//! What can be typed after `chorus task`.

use clap::{Subcommand, ValueEnum};

use super::ServerArguments;
use crate::domain::StatusName;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TaskCommand {
    /// Make a task
    Create {
        /// What is to be done; - reads it from standard input
        description: String,
        /// The working directory of its agents
        #[arg(long, value_name = "DIR")]
        workspace: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List tasks, oldest first
    List {
        /// Only tasks with this status
        #[arg(long, value_enum)]
        status: Option<StatusArgument>,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only tasks made after this one
        #[arg(long, value_name = "TASK")]
        after: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a task
    Show {
        /// The task
        task: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Set a task's status
    Status {
        /// The task
        task: String,
        /// The status
        #[arg(value_enum)]
        status: StatusArgument,
        /// Why it failed
        #[arg(long)]
        message: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Set planning fields of a task; what is not given stays as it is
    Plan {
        /// The task
        task: String,
        /// What it is about, in short
        #[arg(long)]
        summary: Option<String>,
        /// What must be there (repeatable)
        #[arg(long = "requirement", value_name = "TEXT")]
        requirements: Vec<String>,
        /// How one sees that it is done (repeatable)
        #[arg(long = "criterion", value_name = "TEXT")]
        acceptance_criteria: Vec<String>,
        /// A step (repeatable)
        #[arg(long = "step", value_name = "TEXT")]
        plan: Vec<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show who worked on a task, as a tree
    Tree {
        /// The task
        task: String,
        #[command(flatten)]
        server: ServerArguments,
    },
}

/// A status on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(in crate::cli) enum StatusArgument {
    Pending,
    Active,
    Waiting,
    Completed,
    Failed,
}

impl From<StatusArgument> for StatusName {
    fn from(argument: StatusArgument) -> Self {
        match argument {
            StatusArgument::Pending => Self::Pending,
            StatusArgument::Active => Self::Active,
            StatusArgument::Waiting => Self::Waiting,
            StatusArgument::Completed => Self::Completed,
            StatusArgument::Failed => Self::Failed,
        }
    }
}
