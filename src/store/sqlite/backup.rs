//! Consistent copies of the database while it is in use.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sqlx::{Connection, SqliteConnection};

use super::sql::{query, sql};
use crate::store::{Result, StoreError};

/// Writes a compact copy to a file that must not exist. It is complete or it is not there.
pub(super) async fn backup(mut connection: SqliteConnection, to: &Path) -> Result<()> {
    let to = to.to_owned();
    let folder = match to.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => ".".into(),
    };
    let unfinished = tempfile::Builder::new()
        .prefix(".chorus-backup-")
        .tempdir_in(&folder)
        .map_err(io)?;
    let copy = unfinished.path().join("chorus.db");
    let name = copy
        .to_str()
        .ok_or_else(|| StoreError::inconsistent("the file's name is not UTF-8"))?;
    query!(sql!("VACUUM INTO $1"), name)
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    let finish = move || -> std::io::Result<()> {
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600))?;
        std::fs::File::open(&copy)?.sync_all()?;
        // A link fails if the name is taken; a rename would replace what is there.
        std::fs::hard_link(&copy, &to)?;
        unfinished.close()?;
        std::fs::File::open(folder)?.sync_all()
    };
    tokio::task::spawn_blocking(finish)
        .await
        .map_err(|error| StoreError::Driver(error.into()))?
        .map_err(io)
}

fn io(error: std::io::Error) -> StoreError {
    StoreError::Driver(error.into())
}
