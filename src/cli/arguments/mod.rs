//! The grammar of the command line. One file per noun.

mod agents;
mod alert;
mod data;
mod handoff;
mod id;
mod increment;
mod mail;
mod needs;
mod operator;
mod overview;
mod request;
mod routing;
mod serve;
mod session;
mod stats;
mod tag;
mod task;
mod tool;

use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand};

pub(super) use agents::{
    AgentCommand, AgentFields, Clearable, ImportAgentsArguments, OfferedFields,
};
pub(super) use alert::AlertCommand;
pub(super) use data::{
    BackupArguments, DoctorArguments, ExportArguments, ImportArguments, MigrateArguments,
};
pub(super) use handoff::{CancelArguments, ChatArguments, HandoffArguments, LogArguments};
pub(super) use id::{
    AlertArgument, HandoffArgument, IncrementArgument, MailArgument, OWN_TASK, RequestArgument,
    ShortId, TaskArgument, ThreadArgument, nouns_of, short_ids, value_name,
};
pub(super) use increment::{CreateIncrementArguments, IncrementCommand};
pub(super) use mail::{InboxArguments, MailCommand, MarkArguments, SendMailArguments};
pub(super) use needs::{DependencyArgument, NeedsArguments, OrNothing, Tags};
pub(super) use operator::{OperatorCommand, OperatorLinkArguments};
pub(super) use overview::GROUPS;
pub(super) use request::{CreateRequestArguments, RequestCommand, WaitArguments};
pub(super) use routing::{ReadyArguments, ReportArguments, RouteArguments};
pub(super) use serve::{DemoArguments, ServeArguments};
pub(super) use session::{SessionCommand, SessionHandoffArguments};
pub(super) use stats::{Since, StatsArguments};
pub(super) use tag::{TagCommand, TagFindArguments, TagWaitArguments};
pub(super) use task::{CreateTaskArguments, ListTasksArguments, TaskCommand};
pub(super) use tool::{ToolCommand, ToolFields};

/// Heading of the options that most commands share.
const COMMON: &str = "Common options";

/// Hand-off server for coding agents: one binary, one SQLite file
#[derive(Debug, Parser)]
#[command(
    name = "chorus",
    version,
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 server unreachable, 6 timed out, 130 interrupted"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, in the order of their groups in [`overview`].
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create, show and change tasks
    #[command(subcommand)]
    Task(TaskCommand),
    /// Hand a task to an agent, wait, and print its final message
    ///
    /// Waits as long as the agent works, also through restarts of the server, and reports now and then on standard error. If something stops the
    /// command inside an agent's run, the same command waits for the same hand-off again.
    Handoff(HandoffArguments),
    /// Talk to the agent that has control of a task
    ///
    /// On a terminal, sends one message per line and shows the conversation live; `/agent NAME`, `/queue`, `/undo`, `/cancel` and `/quit` are commands.
    /// Otherwise, sends standard input as one message, waits, and prints the answer. While an agent works, messages wait until it has completed.
    Chat(ChatArguments),
    /// Cancel the open hand-off of a task
    Cancel(CancelArguments),
    /// Print the output of an agent's run
    Log(LogArguments),
    /// Create, approve and work on requests
    #[command(subcommand, alias = "requests")]
    Request(RequestCommand),
    /// Create and follow work that is implemented, tested and verified
    #[command(subcommand)]
    Increment(IncrementCommand),
    /// Move conversations between agents, and show their history
    #[command(subcommand)]
    Session(SessionCommand),
    /// Send, read and acknowledge mail
    #[command(subcommand)]
    Mail(MailCommand),
    /// Create, list and resolve alerts for the operator
    #[command(subcommand)]
    Alert(AlertCommand),
    /// Create, show, change and delete agents
    #[command(subcommand, visible_alias = "agents")]
    Agent(AgentCommand),
    /// Create, change and call hand-off tools
    #[command(subcommand)]
    Tool(ToolCommand),
    /// Add, remove, find and await tags in Markdown files
    ///
    /// Needs no server.
    #[command(subcommand)]
    Tag(TagCommand),
    /// Run the server, by default on port 8080
    Serve(ServeArguments),
    /// Print the link to the web app
    #[command(subcommand)]
    Operator(OperatorCommand),
    /// Run scripted agents through every kind of work; needs no API key
    Demo(DemoArguments),
    /// Check the data, permissions, clock and agent programs
    Doctor(DoctorArguments),
    /// Show success, time, cost and common paths of hand-offs
    Stats(StatsArguments),
    /// Write all data as JSON files to a new directory
    Export(ExportArguments),
    /// Read the files of `chorus export`, all of them or none
    ///
    /// Stop the server first: no server may use the data directory during an import.
    Import(ImportArguments),
    /// Copy the database to a file, also while the server runs
    ///
    /// The copy is consistent. Attachments are not in the database: copy the directory uploads/ as well.
    Backup(BackupArguments),
    /// Apply pending database migrations
    Migrate(MigrateArguments),
    /// Print a completion script for a shell
    ///
    /// For bash, add `source <(chorus completions bash)` to ~/.bashrc; for zsh, `source <(chorus completions zsh)` to ~/.zshrc; for fish,
    /// `chorus completions fish | source` to ~/.config/fish/config.fish. Completion also offers ids and names, if the server answers.
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Old name of `chorus task ready`
    #[command(hide = true)]
    Ready(ReadyArguments),
    /// Old name of `chorus task route`
    #[command(hide = true)]
    Route(RouteArguments),
    /// Old name of `chorus task report`
    #[command(hide = true)]
    Report(ReportArguments),
    /// Old name of `chorus request wait`
    #[command(hide = true)]
    Await(WaitArguments),
    /// Old name of `chorus tag wait`
    #[command(hide = true)]
    AwaitTag(TagWaitArguments),
    /// Play an agent of the demo; started by the server
    #[command(hide = true)]
    DemoAgent,
    /// Supervise one run; started by the server
    #[command(hide = true)]
    Supervise {
        /// Run directory
        dir: PathBuf,
    },
}

/// Returns the whole command line, with its commands in groups.
pub(super) fn command() -> clap::Command {
    overview::in_groups(Arguments::command())
}

/// Returns the command line without the variables of the environment.
pub(super) fn without_environment() -> clap::Command {
    fn plain(command: clap::Command) -> clap::Command {
        command
            .mut_args(|argument| argument.env(Resettable::Reset))
            .mut_subcommands(plain)
    }
    plain(command())
}

/// Returns the grammar of the subcommand that was called.
pub(super) fn of(matches: &ArgMatches) -> clap::Command {
    let mut command = command();
    let mut matches = matches;
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            break;
        };
        (command, matches) = (found.clone(), below);
    }
    command
}

/// The data directory of a command that names none.
pub(super) const DEFAULT_DATA_DIR: &str = "./data";

#[derive(Debug, Clone, Args)]
pub(super) struct DataArguments {
    /// Data directory of the server
    #[arg(
        long,
        env = "CHORUS_DATA_DIR",
        default_value = DEFAULT_DATA_DIR,
        help_heading = COMMON,
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,
}

/// The options of every command that talks to a server.
#[derive(Debug, Clone, Args)]
pub(super) struct ServerArguments {
    /// URL of the server, or unix:PATH
    ///
    /// Without it: the server of the data directory, or, without `./data`, `http://127.0.0.1:8080`.
    #[arg(long, env = "CHORUS_URL", help_heading = COMMON)]
    pub url: Option<String>,
    /// Print the JSON answer of the API
    #[arg(long, help_heading = COMMON)]
    pub json: bool,
    #[command(flatten)]
    pub data: DataArguments,
}
