//! Arguments of `chorus operator`.

use clap::{Args, Subcommand};

use super::{COMMON, DataArguments};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum OperatorCommand {
    /// Print the link to the web app, with the token of the operator
    ///
    /// The link gives its holder every right of the operator: to approve requests and to set up Chorus.
    Link(OperatorLinkArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct OperatorLinkArguments {
    /// URL of the server
    ///
    /// The default is the address where the server of the data directory listens.
    #[arg(long, help_heading = COMMON)]
    pub url: Option<String>,
    #[command(flatten)]
    pub data: DataArguments,
}
