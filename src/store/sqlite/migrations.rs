//! The migrations in `migrations/sqlite/`, embedded in the program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use include_dir::{Dir, include_dir};
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqlStr};

use super::connection::BUSY;
use crate::store::OpenError;

static FOLDER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/migrations/sqlite");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationStatus {
    pub version: i64,
    /// `None` for a migration that this version of Chorus does not know.
    pub description: Option<String>,
    pub state: MigrationState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationState {
    Applied,
    Pending,
    /// A different text was applied under its number.
    Changed,
    /// Applied by a newer version of Chorus.
    Unknown,
}

/// Reads the migrations from the embedded files.
fn embedded() -> Migrator {
    let migrations = FOLDER
        .files()
        .map(|file| {
            let name = file
                .path()
                .file_stem()
                .and_then(|name| name.to_str())
                .expect("names are ASCII");
            let (version, description) = name
                .split_once('_')
                .expect("a migration is called 0001_subject.sql");
            Migration::new(
                version
                    .parse()
                    .expect("a migration's name begins with its number"),
                Cow::Borrowed(description),
                MigrationType::Simple,
                SqlStr::from_static(file.contents_utf8().expect("migrations are UTF-8")),
                false,
            )
        })
        .collect();
    Migrator::with_migrations(migrations)
}

/// Migrates a database, and creates it if it does not exist.
pub async fn migrate(path: &Path) -> Result<(), OpenError> {
    let result = async {
        create_for_owner(path).map_err(sqlx::Error::Io)?;
        let mut connection = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY)
            // A migration may take its time; its text is no message for users.
            .disable_statement_logging()
            .connect()
            .await?;
        embedded().run_direct(None, &mut connection, false).await?;
        connection.close().await?;
        Ok(())
    };
    result.await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => OpenError::Newer {
            path: path.to_owned(),
            version,
        },
        MigrateError::VersionMismatch(version) => OpenError::Changed {
            path: path.to_owned(),
            version,
        },
        other => OpenError::Failed {
            path: path.to_owned(),
            cause: other.into(),
        },
    })
}

/// Creates a missing file that only its owner can open; SQLite would let everybody read it. Its other files get the same mode.
fn create_for_owner(path: &Path) -> std::io::Result<()> {
    let created = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match created {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Compares a database with the embedded migrations, without changes. In a database that does not exist, all are pending.
pub async fn migration_status(path: &Path) -> Result<Vec<MigrationStatus>, OpenError> {
    let failed = |cause: MigrateError| OpenError::Failed {
        path: path.to_owned(),
        cause: cause.into(),
    };
    let mut applied: BTreeMap<i64, Vec<u8>> = if path.exists() {
        applied(path).await.map_err(failed)?
    } else {
        BTreeMap::new()
    };
    let mut all: Vec<_> = embedded()
        .iter()
        .map(|migration| MigrationStatus {
            version: migration.version,
            description: Some(migration.description.to_string()),
            state: match applied.remove(&migration.version) {
                None => MigrationState::Pending,
                Some(checksum) if checksum == *migration.checksum => MigrationState::Applied,
                Some(_) => MigrationState::Changed,
            },
        })
        .collect();
    all.extend(applied.into_keys().map(|version| MigrationStatus {
        version,
        description: None,
        state: MigrationState::Unknown,
    }));
    Ok(all)
}

/// Reads the applied migrations with their checksums.
async fn applied(path: &Path) -> Result<BTreeMap<i64, Vec<u8>>, MigrateError> {
    let mut connection: SqliteConnection = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .connect()
        .await?;
    let is_managed = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'")
        .fetch_optional(&mut connection)
        .await?
        .is_some();
    let applied = if is_managed {
        connection
            .list_applied_migrations("_sqlx_migrations")
            .await?
    } else {
        Vec::new()
    };
    connection.close().await?;
    Ok(applied
        .into_iter()
        .map(|migration| (migration.version, migration.checksum.into_owned()))
        .collect())
}
