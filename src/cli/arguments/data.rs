//! What can be typed after the commands that look after a data directory.

use std::path::PathBuf;

use clap::Args;

use super::DataArguments;
use crate::client::DEFAULT_URL;

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArguments {
    /// The directory to make
    pub dir: PathBuf,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArguments {
    /// The directory that `chorus export` made
    pub dir: PathBuf,
    /// Leave out bad files, and say which, instead of importing nothing
    #[arg(long)]
    pub skip_bad: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BackupArguments {
    /// The file to make
    pub file: PathBuf,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArguments {
    /// Change nothing; exit 1 if a migration is pending or not the one that was applied
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DoctorArguments {
    /// The server
    #[arg(long, env = "CHORUS_URL", default_value = DEFAULT_URL)]
    pub url: String,
    #[command(flatten)]
    pub data: DataArguments,
}
