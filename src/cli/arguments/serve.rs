//! Arguments of `chorus serve` and `chorus demo`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser};

use super::agents::isolation;
use super::{Arguments, Command, DataArguments};
use crate::domain::{AgentName, Isolation};
use crate::telemetry::LogFormat;

const NETWORK: &str = "Network";
const DATA: &str = "Data";
const RUNS: &str = "Runs";
const REQUESTS: &str = "Requests";
const ROUTING: &str = "Routing";
const LIMITS: &str = "Limits of a chain";
const LOGS: &str = "Logs";

#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |argument| argument.help_heading(DATA)))]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent flag")]
pub(in crate::cli) struct ServeArguments {
    /// Port; 0 picks a free one
    #[arg(long, help_heading = NETWORK, env = "CHORUS_PORT", default_value_t = 8080)]
    pub port: u16,
    /// Address to listen on
    ///
    /// Every address but the machine's own needs the token in DIR/operator.token on each request.
    #[arg(long, help_heading = NETWORK, env = "CHORUS_BIND", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// Require a token for every request
    ///
    /// Otherwise, a call without a token counts as a person if it comes from a process of the server's own user on this machine.
    #[arg(long, help_heading = NETWORK, env = "CHORUS_REQUIRE_TOKEN")]
    pub require_token: bool,
    /// Host name of the server, besides localhost (repeatable)
    #[arg(
        long, help_heading = NETWORK,
        env = "CHORUS_ALLOW_HOST",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub allow_host: Vec<String>,
    /// Origin whose pages may call the server (repeatable)
    ///
    /// For example `http://localhost:3000`. The server's own pages are always allowed.
    #[arg(
        long, help_heading = NETWORK,
        env = "CHORUS_ALLOW_ORIGIN",
        value_delimiter = ',',
        value_name = "ORIGIN"
    )]
    pub allow_origin: Vec<String>,
    #[command(flatten)]
    pub data: DataArguments,
    /// Directory with the files of the web app, for its development
    ///
    /// Without it, the files are those of the program.
    #[arg(long, help_heading = NETWORK, env = "CHORUS_WEB_DIR", value_name = "DIR")]
    pub web_dir: Option<PathBuf>,
    /// Directory that must contain the workspaces of all tasks
    #[arg(long, help_heading = DATA, env = "CHORUS_WORKSPACE_ROOT", value_name = "DIR")]
    pub workspace_root: Option<PathBuf>,
    /// Maximum number of writes per database transaction
    #[arg(
        long, help_heading = DATA,
        env = "CHORUS_MAX_BATCH",
        default_value_t = 256,
        value_name = "N"
    )]
    pub max_batch: usize,
    /// Maximum number of concurrent runs; 0 starts none
    ///
    /// The default is twice the number of cores, at least 4. With 0, no external jobs are polled, either.
    #[arg(long, help_heading = RUNS, env = "CHORUS_MAX_RUNS", value_name = "N")]
    pub max_runs: Option<u32>,
    /// Seconds that a run may take, unless its agent sets a limit
    #[arg(long, help_heading = RUNS, env = "CHORUS_MAX_SECONDS", default_value_t = 4 * 60 * 60, value_name = "SECONDS")]
    pub max_seconds: u64,
    /// Isolation of agents that do not name one: none or masked
    ///
    /// `masked` hides the data directory from agents. It needs bubblewrap.
    #[arg(long, help_heading = RUNS, env = "CHORUS_ISOLATION", default_value = "none", value_name = "ISOLATION", value_parser = isolation)]
    pub isolation: Isolation,
    /// Seconds without output, unless the agent sets a limit
    #[arg(long, help_heading = RUNS, env = "CHORUS_IDLE_SECONDS", default_value_t = 60 * 60, value_name = "SECONDS")]
    pub idle_seconds: u64,
    /// Seconds with nothing but errors, before a run is ended
    ///
    /// Programs of agents retry while the API of their model does not answer.
    #[arg(long, help_heading = RUNS, env = "CHORUS_ERROR_SECONDS", default_value_t = 30 * 60, value_name = "SECONDS")]
    pub error_seconds: u64,
    /// Seconds an agent may take to exit after its result or a stop
    #[arg(
        long, help_heading = RUNS,
        env = "CHORUS_GRACE_SECONDS",
        default_value_t = 10,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(..=24 * 60 * 60)
    )]
    pub grace_seconds: u64,
    /// Variable of the server that all agents inherit (repeatable)
    ///
    /// `*` at the end stands for any rest. Without it, an agent inherits the common variables and those of its own provider.
    #[arg(long, help_heading = RUNS, env = "CHORUS_PASS_ENV", value_delimiter = ',', value_name = "NAME")]
    pub pass_env: Vec<String>,
    /// Do not start approved requests; leave them to be claimed
    #[arg(long, help_heading = REQUESTS, env = "CHORUS_NO_DISPATCH")]
    pub no_dispatch: bool,
    /// Seconds to wait after the last approval
    ///
    /// Requests that are approved together are then started together.
    #[arg(
        long, help_heading = REQUESTS,
        env = "CHORUS_DEBOUNCE_SECONDS",
        default_value_t = 3.0,
        value_name = "SECONDS",
        value_parser = seconds
    )]
    pub debounce_seconds: f64,
    /// Seconds a claim lasts without a heartbeat, unless it sets a lease
    #[arg(long, help_heading = REQUESTS, env = "CHORUS_LEASE_SECONDS", default_value_t = 15 * 60, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=24 * 60 * 60))]
    pub lease_seconds: u64,
    /// Folder of Markdown files whose tags are requests (repeatable)
    ///
    /// For example a file with the tag `#needs-fix`.
    #[arg(long, help_heading = REQUESTS, env = "CHORUS_WATCH", value_delimiter = ',', value_name = "DIR")]
    pub watch: Vec<PathBuf>,
    /// Ignore approvals written in files
    ///
    /// The tags `#delegated-…` and `#next-…` that somebody writes are reverted.
    #[arg(long, help_heading = REQUESTS, env = "CHORUS_NO_FILE_APPROVAL")]
    pub no_file_approval: bool,
    /// Follow each dispatched agent in a window of the tmux session `dispatch`
    #[arg(long, help_heading = REQUESTS, env = "CHORUS_TMUX")]
    pub tmux: bool,
    /// Do not route tasks; leave them to `chorus task route`
    #[arg(long, help_heading = ROUTING, env = "CHORUS_NO_ROUTE")]
    pub no_route: bool,
    /// Fallback agent for tasks that have no suitable agent
    #[arg(long, help_heading = ROUTING, env = "CHORUS_FALLBACK_AGENT", value_name = "AGENT")]
    pub fallback_agent: Option<AgentName>,
    /// Attempts to route a task whose runs fail, before you decide
    #[arg(long, help_heading = ROUTING, env = "CHORUS_ROUTE_ATTEMPTS", default_value_t = 2, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub route_attempts: u32,
    /// Bytes of an agent's context that the next agent gets
    #[arg(long, help_heading = ROUTING, env = "CHORUS_CONTEXT_BYTES", default_value_t = 2048, value_name = "BYTES",
          value_parser = bytes)]
    pub context_bytes: usize,
    /// Test rounds of an increment, before you decide
    #[arg(long, help_heading = ROUTING, env = "CHORUS_MAX_ROUNDS", default_value_t = 5, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_rounds: u32,
    /// Maximum depth of the task tree
    ///
    /// Each delegation from inside a run and each transfer adds one level.
    #[arg(long, help_heading = LIMITS, env = "CHORUS_MAX_DEPTH", default_value_t = 10, value_name = "N")]
    pub max_depth: u32,
    /// Maximum number of hand-offs between agents in a task tree
    #[arg(long, help_heading = LIMITS, env = "CHORUS_MAX_HOPS", default_value_t = 50, value_name = "N")]
    pub max_hops: u32,
    /// Maximum number of times agents hand straight back
    #[arg(
        long, help_heading = LIMITS,
        env = "CHORUS_MAX_BOUNCES",
        default_value_t = 6,
        value_name = "N"
    )]
    pub max_bounces: u32,
    /// Log filter: a level, or target=level pairs
    #[arg(
        long, help_heading = LOGS,
        env = "CHORUS_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub log: String,
    /// Format of the log on standard error
    #[arg(long, help_heading = LOGS, env = "CHORUS_LOG_FORMAT", default_value = "text", value_enum)]
    pub log_format: LogFormat,
    /// OpenTelemetry collector that gets a span of every ended hand-off
    ///
    /// For example `http://localhost:4318`. The default is `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[cfg(feature = "otlp")]
    #[arg(long, help_heading = LOGS, env = crate::cli::collector::VARIABLE, hide_env_values = true, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be a number from 0 to 86400".to_owned()),
    }
}

fn bytes(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(bytes) if (256..=65_536).contains(&bytes) => Ok(bytes),
        _ => Err("must be a number from 256 to 65536".to_owned()),
    }
}

impl ServeArguments {
    /// Returns the defaults with warnings only, in a data directory of the demo's own.
    pub fn for_demo(data_dir: PathBuf, port: u16) -> Self {
        match Arguments::parse_from(["chorus", "serve", "--log", "error"]).command {
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
    /// Data directory [default: a temporary one, deleted at the end]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Port; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Milliseconds per step of an agent
    #[arg(long, default_value_t = 300, value_name = "MILLISECONDS")]
    pub pace: u64,
    /// Exit when the last agent has ended
    #[arg(long)]
    pub once: bool,
}

#[cfg(test)]
mod tests {
    use crate::cli::command;

    /// A supervisor adds the grace period to the time of the stop.
    #[test]
    fn a_grace_period_is_a_day_at_most() {
        let serve = |seconds| {
            command().try_get_matches_from(["chorus", "serve", "--grace-seconds", seconds])
        };
        assert!(serve("86400").is_ok());
        assert!(serve("86401").is_err() && serve("18446744073709551615").is_err());
    }
}
