//! What can be typed after `chorus serve` and `chorus demo`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser};

use super::{Arguments, Command, DataArguments};
use crate::domain::AgentName;
use crate::telemetry::LogFormat;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, and says what is not done"
)]
pub(in crate::cli) struct ServeArguments {
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
    /// Start no approved requests; whoever claims them does the work
    #[arg(long, env = "CHORUS_NO_DISPATCH")]
    pub no_dispatch: bool,
    /// How many seconds to wait after the last approval, so that what is approved together is seen together
    #[arg(
        long,
        env = "CHORUS_DEBOUNCE_SECONDS",
        default_value_t = 3.0,
        value_name = "SECONDS",
        value_parser = seconds
    )]
    pub debounce_seconds: f64,
    /// How many seconds a claim of a request lasts without a heartbeat, where the claim does not say
    #[arg(long, env = "CHORUS_LEASE_SECONDS", default_value_t = 15 * 60, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=24 * 60 * 60))]
    pub lease_seconds: u64,
    /// Give no tasks to agents: whoever wants to asks `chorus route`
    #[arg(long, env = "CHORUS_NO_ROUTE")]
    pub no_route: bool,
    /// Who gets the tasks with a role for which nobody suits
    #[arg(long, env = "CHORUS_FALLBACK_AGENT", value_name = "AGENT")]
    pub fallback_agent: Option<AgentName>,
    /// How often a task is given to an agent whose run fails, before a person must look
    #[arg(long, env = "CHORUS_ROUTE_ATTEMPTS", default_value_t = 2, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub route_attempts: u32,
    /// How many bytes of what an agent leaves behind the next one is told
    #[arg(long, env = "CHORUS_CONTEXT_BYTES", default_value_t = 2048, value_name = "BYTES",
          value_parser = bytes)]
    pub context_bytes: usize,
    /// How often an increment is tested before a person must look
    #[arg(long, env = "CHORUS_MAX_ROUNDS", default_value_t = 5, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_rounds: u32,
    /// A tree of Markdown files whose tags are requests, such as `#needs-fix` (repeatable)
    #[arg(long, env = "CHORUS_WATCH", value_delimiter = ',', value_name = "DIR")]
    pub watch: Vec<PathBuf>,
    /// Let no file approve: `#delegated-…` and `#next-…` that a person writes are put back
    #[arg(long, env = "CHORUS_NO_FILE_APPROVAL")]
    pub no_file_approval: bool,
    /// Follow the log of each dispatched agent in a window of the tmux session `dispatch`, if tmux is installed
    #[arg(long, env = "CHORUS_TMUX")]
    pub tmux: bool,
    /// How many tasks deep a chain of hand-offs may be: each delegation from inside and each transfer is one deeper
    #[arg(long, env = "CHORUS_MAX_DEPTH", default_value_t = 10, value_name = "N")]
    pub max_depth: u32,
    /// How many hand-offs from agent to agent a task and all that came from it may see
    #[arg(long, env = "CHORUS_MAX_HOPS", default_value_t = 50, value_name = "N")]
    pub max_hops: u32,
    /// How often agents may hand straight back in one chain
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
    #[arg(long, env = crate::cli::collector::VARIABLE, hide_env_values = true, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

/// Reads a number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be a number from 0 to 86400".to_owned()),
    }
}

/// Reads a number of bytes in which a context has room.
fn bytes(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(bytes) if (256..=65_536).contains(&bytes) => Ok(bytes),
        _ => Err("must be a number from 256 to 65536".to_owned()),
    }
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
pub(in crate::cli) struct DemoArguments {
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
