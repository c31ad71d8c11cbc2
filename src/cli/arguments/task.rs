//! What can be typed after `chorus task`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::{NeedsArguments, ServerArguments, Tags};
use crate::domain::{MessageType, Role, StatusName};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TaskCommand {
    /// Make a task
    Create(CreateTaskArguments),
    /// List tasks, oldest first
    List(ListTasksArguments),
    /// Set what a task needs; what is not given stays as it is
    Update {
        /// The task
        task: String,
        #[command(flatten)]
        needs: Box<NeedsArguments>,
        /// Merge --agent-context and --handoff-instructions into what is there, key by key; a null takes a key away
        #[arg(long)]
        merge: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a task
    Show {
        /// The task
        task: String,
        /// Everything: what it needs, what it waits for, its context and instructions
        #[arg(long)]
        full: bool,
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
    /// Show the chain that a task belongs to, as a tree: who worked on what, how it ended, how long it took and what it cost
    Tree {
        /// The task
        task: String,
        /// Print a Mermaid flowchart
        #[arg(long, conflicts_with_all = ["dot", "json"])]
        mermaid: bool,
        /// Print a Graphviz graph
        #[arg(long, conflicts_with = "json")]
        dot: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show what was said on the chain that a task belongs to, and where control moved
    Conversation {
        /// The task
        task: String,
        /// At most so many messages; all if it is not given
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// Only messages behind this one
        #[arg(long, value_name = "NUMBER")]
        after: Option<i64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Add a message to a task's conversation
    Say {
        /// The task
        task: String,
        /// What to say; - reads it from standard input
        text: String,
        /// What kind of message it is
        #[arg(long = "type", value_name = "TYPE", default_value = MessageType::UserMessage.as_str(), value_parser = message_types())]
        message_type: MessageType,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateTaskArguments {
    /// What is to be done; - reads it from standard input
    pub description: String,
    /// The working directory of its agents
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub needs: NeedsArguments,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ListTasksArguments {
    /// Only tasks with this status
    #[arg(long, value_enum)]
    pub status: Option<StatusArgument>,
    /// Only tasks for this role
    #[arg(long, value_name = "ROLE")]
    pub agent_role: Option<Role>,
    /// Only tasks with at least one of these tags
    #[arg(long, value_name = "TAG,…")]
    pub tags: Option<Tags>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
    /// Only tasks made after this one
    #[arg(long, value_name = "TASK")]
    pub after: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Reads the word that stands for a type of message.
fn message_types() -> impl TypedValueParser<Value = MessageType> {
    PossibleValuesParser::new(MessageType::ALL.map(MessageType::as_str))
        .try_map(|word| MessageType::parse(&word).ok_or("is not a type of message"))
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
