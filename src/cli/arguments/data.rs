//! Arguments of the commands that work on a data directory.

use std::path::PathBuf;

use clap::Args;

use super::{COMMON, DataArguments};

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArguments {
    /// Directory to create
    pub dir: PathBuf,
    /// Variables of agents to export with values, separated by commas
    ///
    /// Without it, an export has the names of environment variables only, because values may be secrets.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub with_environment: Vec<String>,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArguments {
    /// Directory that `chorus export` wrote
    pub dir: PathBuf,
    /// Skip and report invalid files instead of importing nothing
    #[arg(long)]
    pub skip_bad: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BackupArguments {
    /// File to create
    pub file: PathBuf,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArguments {
    /// Change nothing; exit 1 if a migration is pending or was edited
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DoctorArguments {
    /// URL of the server, or unix:PATH
    ///
    /// Without it: the server of the data directory, or, without `./data`, `http://127.0.0.1:8080`.
    #[arg(long, env = "CHORUS_URL", help_heading = COMMON)]
    pub url: Option<String>,
    #[command(flatten)]
    pub data: DataArguments,
}
