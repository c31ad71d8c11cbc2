//! `chorus backup`

use std::path::Path;

use super::arguments::BackupArguments;
use super::ledger;
use super::ui::{Failure, Ui};
use crate::config::DataDir;

pub(super) async fn run(ui: Ui, arguments: BackupArguments) -> Result<(), Failure> {
    let file = arguments.file;
    if file.exists() {
        return Err(Failure::new(format!(
            "{} exists already; choose a new name",
            file.display()
        )));
    }
    // The parent of a bare name is empty: the working directory.
    if let Some(folder) = file.parent().filter(|folder| *folder != Path::new(""))
        && !folder.is_dir()
    {
        return Err(Failure::new(format!(
            "folder {} does not exist; create it first",
            folder.display()
        )));
    }
    let data_dir = DataDir::existing(&arguments.data.data_dir)?;
    let engine = ledger::open_to_read(&data_dir).await?;
    let result = engine.backup(&file).await;
    engine.close().await;
    result.map_err(|error| match error {
        crate::Error::Internal(cause) | crate::Error::Unavailable { cause, .. } => {
            Failure::caused(cause.as_ref())
        }
        other => other.into(),
    })?;
    ui.line(format_args!("Wrote {}", file.display()))
}
