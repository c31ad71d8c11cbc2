//! What can be typed. One file per noun.

mod agents;
mod alert;
mod data;
mod handoff;
mod increment;
mod mail;
mod needs;
mod request;
mod routing;
mod serve;
mod session;
mod stats;
mod tag;
mod task;
mod tool;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(super) use agents::{AgentsCommand, Clearable};
pub(super) use alert::AlertCommand;
pub(super) use data::{
    BackupArguments, DoctorArguments, ExportArguments, ImportArguments, MigrateArguments,
};
pub(super) use handoff::{CancelArguments, HandoffArguments, LogArguments};
pub(super) use increment::{CreateIncrementArguments, IncrementCommand};
pub(super) use mail::{InboxArguments, MailCommand, MarkArguments, SendMailArguments};
pub(super) use needs::{NeedsArguments, OrNothing, Tags};
pub(super) use request::{AwaitArguments, CreateRequestArguments, RequestCommand};
pub(super) use routing::{ReadyArguments, ReportArguments, RouteArguments};
pub(super) use serve::{DemoArguments, ServeArguments};
pub(super) use session::{SessionCommand, SessionHandoffArguments};
pub(super) use stats::{Since, StatsArguments};
pub(super) use tag::{AwaitTagArguments, TagCommand, TagFindArguments};
pub(super) use task::{CreateTaskArguments, ListTasksArguments, TaskCommand};
pub(super) use tool::{ToolCommand, ToolFields};

use crate::client::DEFAULT_URL;

/// A hand-off server for coding agents: one binary, one SQLite file.
#[derive(Debug, Parser)]
#[command(
    name = "chorus",
    version,
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 server unreachable"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the server
    Serve(ServeArguments),
    /// Show a whole chain of hand-offs with scripted agents; needs no agent program and no key
    Demo(DemoArguments),
    /// Play an agent of the demo; started by the server
    #[command(hide = true)]
    DemoAgent,
    /// Make, show and change tasks
    #[command(subcommand)]
    Task(TaskCommand),
    /// Hand a task to an agent, wait, and print its final message
    Handoff(HandoffArguments),
    /// Stop the hand-off that is open on a task
    Cancel(CancelArguments),
    /// Make, change and use hand-off tools, by which agents pass control
    #[command(subcommand)]
    Tool(ToolCommand),
    /// Move conversations between agents, and show where they were
    #[command(subcommand)]
    Session(SessionCommand),
    /// List the tasks that are ready, the most urgent first: pending, and all that they wait for has ended as it must
    Ready(ReadyArguments),
    /// Give a task to the agent that suits best, or say who would get it and why
    Route(RouteArguments),
    /// Make work that is implemented, tested, fixed and verified by different agents, and see where it stands
    #[command(subcommand)]
    Increment(IncrementCommand),
    /// Say what came out of your work; for agents, inside a run
    Report(ReportArguments),
    /// Leave work behind, approve it, and work on it
    #[command(subcommand, visible_alias = "requests")]
    Request(RequestCommand),
    /// Wait until a request is done, and print its response
    Await(AwaitArguments),
    /// Raise, list and resolve alerts: what a person must see until it is resolved
    #[command(subcommand)]
    Alert(AlertCommand),
    /// Send mail to agents, and read and acknowledge it
    #[command(subcommand)]
    Mail(MailCommand),
    /// Show how hand-offs went: success, time, cost and common paths
    Stats(StatsArguments),
    /// Change and find tags in Markdown files; needs no server
    #[command(subcommand)]
    Tag(TagCommand),
    /// Wait until a file has a tag; needs no server
    AwaitTag(AwaitTagArguments),
    /// Print what an agent's program printed
    Log(LogArguments),
    /// Hold one run; started by the server
    #[command(hide = true)]
    Supervise {
        /// The run directory
        dir: PathBuf,
    },
    /// Show, make, change and delete agents
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Write the whole ledger as JSON files to a new directory
    Export(ExportArguments),
    /// Take in what `chorus export` wrote: all of it or nothing. No server may run on the data directory
    Import(ImportArguments),
    /// Write a consistent copy of the database, also while the server runs. Attachments are in uploads/ and are not part of it
    Backup(BackupArguments),
    /// Bring the database up to date
    Migrate(MigrateArguments),
    /// Check data, permissions, clock and the programs of agents, and say what to do
    Doctor(DoctorArguments),
    /// Print a script that completes commands in a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Which data directory.
#[derive(Debug, Clone, Args)]
pub(super) struct DataArguments {
    /// The directory that holds everything
    #[arg(
        long,
        env = "CHORUS_DATA_DIR",
        default_value = "./data",
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,
}

/// Which server, and how its answers are shown.
#[derive(Debug, Clone, Args)]
pub(super) struct ServerArguments {
    /// The server
    #[arg(long, env = "CHORUS_URL", default_value = DEFAULT_URL)]
    pub url: String,
    /// Print what the API answers
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub data: DataArguments,
}
