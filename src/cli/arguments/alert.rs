//! What can be typed after `chorus alert`.

use clap::Subcommand;

use super::ServerArguments;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AlertCommand {
    /// Raise an alert, and print its id
    Raise {
        /// What a person must see; - reads it from standard input
        message: String,
        /// The task that it is about; inside a run, if none is named, the run's own
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Resolve alerts: they have been seen, and what is to be done is done. A run cannot
    Resolve {
        /// The alerts
        #[arg(required = true, value_name = "ALERT")]
        alerts: Vec<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List the alerts that are active, oldest first
    List {
        /// Those that are resolved too
        #[arg(long)]
        all: bool,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only alerts raised after this one
        #[arg(long, value_name = "ALERT")]
        after: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
}
