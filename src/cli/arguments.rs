//! What can be typed.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::client::DEFAULT_URL;
use crate::domain::StatusName;
use crate::telemetry::LogFormat;

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
    /// Print what an agent's program printed
    Log(LogArguments),
    /// Hold one run; started by the server
    #[command(hide = true)]
    Supervise {
        /// The run directory
        dir: PathBuf,
    },
    /// Show the configured agents
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

#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// The port; 0 takes a free one
    #[arg(long, env = "CHORUS_PORT", default_value_t = 8080)]
    pub port: u16,
    /// The address. Any other than this machine's own needs the token in DIR/operator.token on every request
    #[arg(long, env = "CHORUS_BIND", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    #[command(flatten)]
    pub data: DataArguments,
    /// A name that the server is called by, beside localhost (repeatable)
    #[arg(
        long,
        env = "CHORUS_ALLOW_HOST",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub allow_host: Vec<String>,
    /// An origin whose pages may use the server, beside its own, such as `http://localhost:3000` (repeatable)
    #[arg(
        long,
        env = "CHORUS_ALLOW_ORIGIN",
        value_delimiter = ',',
        value_name = "ORIGIN"
    )]
    pub allow_origin: Vec<String>,
    /// The directory that workspaces of tasks must stay in
    #[arg(long, env = "CHORUS_WORKSPACE_ROOT", value_name = "DIR")]
    pub workspace_root: Option<PathBuf>,
    /// How many agents work at the same time; 0 starts none [default: twice the cores, at least 4]
    #[arg(long, env = "CHORUS_MAX_RUNS", value_name = "N")]
    pub max_runs: Option<u32>,
    /// How many seconds a run may take, where its agent does not say
    #[arg(long, env = "CHORUS_MAX_SECONDS", default_value_t = 4 * 60 * 60, value_name = "SECONDS")]
    pub max_seconds: u64,
    /// How many seconds a run may print nothing, where its agent does not say
    #[arg(long, env = "CHORUS_IDLE_SECONDS", default_value_t = 60 * 60, value_name = "SECONDS")]
    pub idle_seconds: u64,
    /// How many seconds an agent may take to end after its result, or when it is asked to
    #[arg(
        long,
        env = "CHORUS_GRACE_SECONDS",
        default_value_t = 10,
        value_name = "SECONDS"
    )]
    pub grace_seconds: u64,
    /// How many agents may wait for each other in a chain of hand-offs
    #[arg(long, env = "CHORUS_MAX_DEPTH", default_value_t = 10, value_name = "N")]
    pub max_depth: u32,
    /// How many hand-offs from inside a task and its children may see
    #[arg(long, env = "CHORUS_MAX_HOPS", default_value_t = 50, value_name = "N")]
    pub max_hops: u32,
    /// How often two agents may hand back and forth
    #[arg(
        long,
        env = "CHORUS_MAX_BOUNCES",
        default_value_t = 6,
        value_name = "N"
    )]
    pub max_bounces: u32,
    /// How many writes are committed together at most
    #[arg(
        long,
        env = "CHORUS_MAX_BATCH",
        default_value_t = 256,
        value_name = "N"
    )]
    pub max_batch: usize,
    /// What is logged: a level, or target=level pairs
    #[arg(
        long,
        env = "CHORUS_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub log: String,
    /// How it is logged, on standard error
    #[arg(long, env = "CHORUS_LOG_FORMAT", default_value = "text", value_enum)]
    pub log_format: LogFormat,
    /// The OpenTelemetry collector that gets a span of every hand-off that ended, such as `http://localhost:4318`.
    /// If it is not given, `OTEL_EXPORTER_OTLP_ENDPOINT` says where it is
    #[cfg(feature = "otlp")]
    #[arg(long, env = super::collector::VARIABLE, hide_env_values = true, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

impl ServeArguments {
    /// Returns what a demo uses: the defaults, quietly, in a directory of its own.
    pub fn for_demo(data_dir: PathBuf, port: u16) -> Self {
        match Arguments::parse_from(["chorus", "serve", "--log", "warn"]).command {
            Command::Serve(defaults) => Self {
                port,
                data: DataArguments { data_dir },
                ..defaults
            },
            _ => unreachable!("`serve` was parsed"),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// The directory that holds everything; a temporary one if it is not given
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// How many milliseconds an agent takes for a step, so that one can read along
    #[arg(long, default_value_t = 300, value_name = "MILLISECONDS")]
    pub pace: u64,
    /// End when the chain has ended
    #[arg(long)]
    pub once: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum TaskCommand {
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
pub(super) enum StatusArgument {
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

#[derive(Debug, Args)]
pub(super) struct HandoffArguments {
    /// The task
    pub task: String,
    /// Whom to ask
    pub agent: String,
    /// What to ask; - reads it from standard input
    pub prompt: String,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
    /// Continue the agent's last session on this task
    #[arg(long)]
    pub resume: bool,
    /// Print the hand-off's id and do not wait
    #[arg(long)]
    pub no_wait: bool,
    /// Wait at most so many seconds; the hand-off goes on
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(super) struct CancelArguments {
    /// The task
    pub task: String,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(super) struct LogArguments {
    /// The hand-off
    pub handoff: String,
    /// Go on with what is added, until the run has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Standard error instead of standard output
    #[arg(long)]
    pub stderr: bool,
    /// The server
    #[arg(long, env = "CHORUS_URL", default_value = DEFAULT_URL)]
    pub url: String,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Subcommand)]
pub(super) enum AgentsCommand {
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

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// The directory to make
    pub dir: PathBuf,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(super) struct ImportArguments {
    /// The directory that `chorus export` made
    pub dir: PathBuf,
    /// Leave out bad files, and say which, instead of importing nothing
    #[arg(long)]
    pub skip_bad: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(super) struct BackupArguments {
    /// The file to make
    pub file: PathBuf,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(super) struct MigrateArguments {
    /// Change nothing; exit 1 if a migration is pending or not the one that was applied
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// The server
    #[arg(long, env = "CHORUS_URL", default_value = DEFAULT_URL)]
    pub url: String,
    #[command(flatten)]
    pub data: DataArguments,
}
