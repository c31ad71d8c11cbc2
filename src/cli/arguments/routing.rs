//! What can be typed after `chorus ready`, `chorus route` and `chorus report`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::ServerArguments;
use crate::domain::{AgentName, ReportResult};

#[derive(Debug, Args)]
pub(in crate::cli) struct ReadyArguments {
    /// Only tasks that this agent suits, by its roles and skills
    #[arg(long, value_name = "AGENT")]
    pub for_agent: Option<AgentName>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
    /// Only tasks that come after this one
    #[arg(long, value_name = "TASK")]
    pub after: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RouteArguments {
    /// The task; with --dry-run, if none is named, the first ones that are ready and have a role
    #[arg(required_unless_present = "dry_run")]
    pub task: Option<String>,
    /// Only say who would get it, and why each agent is taken or not
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArguments {
    /// What came out: passed, failed (it is not as it should be), or blocked (a person must help)
    #[arg(value_parser = results())]
    pub result: ReportResult,
    /// It in a sentence; - reads it from standard input
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub summary: String,
    /// What whoever goes on must know: text, or a JSON object or array; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub details: Option<String>,
    /// What the next agent is told beside, such as `{"filesModified": ["a.rs"]}`: a JSON object; @FILE reads it from a file, -
    /// from standard input
    #[arg(long, value_name = "JSON")]
    pub agent_context: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Reads the word that stands for a result.
fn results() -> impl TypedValueParser<Value = ReportResult> {
    PossibleValuesParser::new(ReportResult::ALL.map(ReportResult::as_str))
        .try_map(|word| ReportResult::parse(&word).ok_or("is not a result"))
}
