//! Arguments of `chorus task ready`, `chorus task route` and `chorus task report`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{ServerArguments, TaskArgument};
use crate::domain::{AgentName, ReportResult};

#[derive(Debug, Args)]
pub(in crate::cli) struct ReadyArguments {
    /// Only tasks that suit this agent
    #[arg(long = "as", alias = "for-agent", value_name = "AGENT")]
    pub for_agent: Option<AgentName>,
    /// Maximum number of tasks
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
    /// Only tasks after this one in the list
    #[arg(long, value_name = "TASK")]
    pub after: Option<TaskArgument>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RouteArguments {
    /// Task to route; optional with --dry-run, which then lists ready tasks
    #[arg(required_unless_present = "dry_run")]
    pub task: Option<TaskArgument>,
    /// Show the choice and its reasons only
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArguments {
    /// Result of the work
    ///
    /// `failed`: the work is not as it should be. `blocked`: the operator must help.
    #[arg(value_parser = results())]
    pub result: ReportResult,
    /// Summary in one sentence; - reads standard input
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub summary: String,
    /// Details for the next agent: text or JSON; - reads standard input
    #[arg(long, value_name = "TEXT")]
    pub details: Option<String>,
    /// Context for the next agent, a JSON object, @FILE or -
    ///
    /// For example `{"filesModified": ["a.rs"]}`. @FILE reads the object from a file, - from standard input.
    #[arg(long, value_name = "JSON")]
    pub agent_context: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

fn results() -> impl TypedValueParser<Value = ReportResult> {
    PossibleValuesParser::new(ReportResult::ALL.map(ReportResult::as_str))
        .try_map(|word| ReportResult::parse(&word).ok_or("is not a result"))
}
