//! The ledger of a data directory, for commands that need no server.

use super::ui::Failure;
use crate::clock::Clock;
use crate::config::{DataDir, Limits};
use crate::domain::Rules;
use crate::engine::{Engine, EngineOptions};
use crate::store::{Database, DatabaseOptions, DatabaseUrl, MigrationState, migration_status};

/// The default number of writes in one commit.
const MAX_BATCH: usize = 256;

/// Opens a ledger to read it. Does not migrate the database.
pub(super) async fn open_to_read(data_dir: &DataDir) -> Result<Engine, Failure> {
    for migration in migration_status(&data_dir.database()).await? {
        if migration.state == MigrationState::Pending {
            return Err(
                Failure::new("an older version of Chorus wrote the database")
                    .with_hint("migrate the database with `chorus migrate`"),
            );
        }
    }
    open(
        data_dir,
        None,
        MAX_BATCH,
        Limits::default(),
        Rules::default(),
    )
    .await
}

/// Migrates the database and opens the ledger.
pub(super) async fn open(
    data_dir: &DataDir,
    workspace_root: Option<std::path::PathBuf>,
    max_batch: usize,
    limits: Limits,
    rules: Rules,
) -> Result<Engine, Failure> {
    let clock = Clock::system();
    let options = DatabaseOptions {
        url: DatabaseUrl::file(data_dir.database()),
        clock: clock.clone(),
        max_batch,
        rules,
    };
    let db = Database::open(options).await?;
    let options = EngineOptions {
        data_dir: data_dir.clone(),
        clock,
        limits,
        workspace_root,
    };
    Ok(Engine::new(db, options))
}
