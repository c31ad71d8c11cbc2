//! Arguments of `chorus alert`.

use clap::Subcommand;

use super::{AlertArgument, ServerArguments, TaskArgument};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AlertCommand {
    /// Create an alert and print its id
    #[command(alias = "raise")]
    Create {
        /// Message to the operator; - reads standard input
        message: String,
        /// Task the alert is about [default: the run's task]
        #[arg(long, value_name = "TASK")]
        task: Option<TaskArgument>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List active alerts, oldest first
    List {
        /// Include resolved alerts
        #[arg(long)]
        all: bool,
        /// Maximum number of alerts
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only alerts created after this one
        #[arg(long, value_name = "ALERT")]
        after: Option<AlertArgument>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Resolve alerts; only the operator may
    Resolve {
        /// Alerts to resolve
        #[arg(required = true, value_name = "ALERT")]
        alerts: Vec<AlertArgument>,
        #[command(flatten)]
        server: ServerArguments,
    },
}
