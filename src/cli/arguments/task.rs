//! Arguments of `chorus task`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::{
    NeedsArguments, ReadyArguments, ReportArguments, RouteArguments, ServerArguments, Tags,
    TaskArgument,
};
use crate::domain::{MessageType, Role, StatusName};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TaskCommand {
    /// Create a task and print its id
    Create(CreateTaskArguments),
    /// List the newest tasks, the newest last
    ///
    /// `--json` lists the oldest tasks first, unless `--before` is given.
    List(ListTasksArguments),
    /// Show a task
    Show {
        /// Task to show [default in a run: its own]
        task: TaskArgument,
        /// Show needs, context and instructions too
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Change the needs of a task: role, skills, priority, dependencies
    ///
    /// Options that are not given leave their fields as they are. A repeatable option replaces the whole list.
    #[command(alias = "update")]
    Edit {
        /// Task to change [default in a run: its own]
        task: TaskArgument,
        #[command(flatten)]
        needs: Box<NeedsArguments>,
        /// Merge the JSON objects key by key; null removes a key
        ///
        /// Applies to --agent-context and --handoff-instructions.
        #[arg(long)]
        merge: bool,
        /// Working directory of the agents, while none is active
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Set the status of a task
    Status {
        /// Task to change [default in a run: its own]
        task: TaskArgument,
        /// New status
        #[arg(value_enum)]
        status: StatusArgument,
        /// Reason of a failure
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Complete a task, and record the reason in its history
    Close {
        /// Task to complete [default in a run: its own]
        task: TaskArgument,
        /// Reason; - reads standard input
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Set the plan of a task
    ///
    /// Options that are not given leave their fields as they are. A repeatable option replaces the whole list.
    Plan {
        /// Task to plan [default in a run: its own]
        task: TaskArgument,
        /// Summary of the task
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// Requirement (repeatable)
        #[arg(long = "requirement", value_name = "TEXT")]
        requirements: Vec<String>,
        /// Acceptance criterion (repeatable)
        #[arg(long = "criterion", value_name = "TEXT")]
        acceptance_criteria: Vec<String>,
        /// Step of the plan (repeatable)
        #[arg(long = "step", value_name = "TEXT")]
        plan: Vec<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the task tree with agents, outcomes, durations and costs
    Tree {
        /// Any task of the tree [default in a run: its own]
        task: TaskArgument,
        /// Print a Mermaid flowchart
        #[arg(long, conflicts_with_all = ["dot", "json"])]
        mermaid: bool,
        /// Print a Graphviz graph
        #[arg(long, conflicts_with = "json")]
        dot: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the messages and transfers of a task tree
    Conversation {
        /// Any task of the tree [default in a run: its own]
        task: TaskArgument,
        /// Maximum number of messages [default: all]
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// Only messages after this number
        #[arg(long, value_name = "NUMBER")]
        after: Option<i64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Add a message to the conversation of a task
    Say {
        /// Task to add the message to [default in a run: its own]
        task: TaskArgument,
        /// Message; - reads standard input
        text: String,
        /// Type of the message
        #[arg(long = "type", value_name = "TYPE", default_value = MessageType::UserMessage.as_str(), value_parser = message_types())]
        message_type: MessageType,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the messages for the next agent on a task, or queue one
    Queue {
        /// Task [default in a run: its own]
        task: TaskArgument,
        /// Message to queue; - reads standard input
        #[arg(long, value_name = "TEXT")]
        add: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Wait for the last hand-off of a task, and print its final message
    Wait {
        /// Task [default in a run: its own]
        task: TaskArgument,
        /// Seconds to wait; the hand-off continues
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List tasks that are ready to start, most urgent first
    Ready(ReadyArguments),
    /// Give a task to the most suitable agent, or show the choice
    Route(RouteArguments),
    /// Report the result of a run; for agents
    Report(ReportArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateTaskArguments {
    /// Description of the work; - reads standard input
    pub description: String,
    /// Working directory of the agents
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
    /// Only tasks with one of these skills
    #[arg(long, value_name = "TAG,…")]
    pub tags: Option<Tags>,
    /// List the child tasks of delegated hand-offs too
    ///
    /// They end with their hand-off; `chorus task tree` shows them under their parent.
    #[arg(long)]
    pub all: bool,
    /// Maximum number of tasks
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
    /// Only tasks created after this one, the oldest of them
    #[arg(long, value_name = "TASK")]
    pub after: Option<TaskArgument>,
    /// Only tasks created before this one, the newest of them
    #[arg(long, value_name = "TASK", conflicts_with = "after")]
    pub before: Option<TaskArgument>,
    #[command(flatten)]
    pub server: ServerArguments,
}

fn message_types() -> impl TypedValueParser<Value = MessageType> {
    PossibleValuesParser::new(MessageType::ALL.map(MessageType::as_str))
        .try_map(|word| MessageType::parse(&word).ok_or("is not a type of message"))
}

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
