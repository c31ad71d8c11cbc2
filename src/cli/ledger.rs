//! The ledger that a command works on without a server.

use super::ui::Failure;
use crate::clock::Clock;
use crate::config::{DataDir, Limits};
use crate::domain::Rules;
use crate::engine::{Engine, EngineOptions};
use crate::store::{Database, DatabaseOptions, DatabaseUrl, MigrationState, migration_status};

/// How many writes are committed together where nothing else is said.
const MAX_BATCH: usize = 256;

/// Opens a ledger to read it. A database that is not up to date is left alone.
pub(super) async fn open_to_read(data_dir: &DataDir) -> Result<Engine, Failure> {
    for migration in migration_status(&data_dir.database()).await? {
        if migration.state == MigrationState::Pending {
            return Err(
                Failure::new("the database is of an older version of Chorus")
                    .with_hint("bring it up to date with `chorus migrate`"),
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

/// Opens a ledger, after bringing it up to date.
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
