//! `chorus migrate`

use super::arguments::MigrateArguments;
use super::ui::{Failure, Table, Ui};
use crate::config::DataDir;
use crate::store::{MigrationState, MigrationStatus, migrate, migration_status};

pub(super) async fn run(ui: Ui, arguments: MigrateArguments) -> Result<(), Failure> {
    let path = &arguments.data.data_dir;
    if !arguments.check {
        let data_dir = DataDir::prepare(path)?;
        let _lock = data_dir.lock()?;
        migrate(&data_dir.database()).await?;
        return show(ui, &migration_status(&data_dir.database()).await?);
    }
    let migrations = migration_status(&path.join("chorus.db")).await?;
    show(ui, &migrations)?;
    let is = |state| migrations.iter().any(|migration| migration.state == state);
    if is(MigrationState::Unknown) {
        Err(Failure::new("a newer version of Chorus wrote the database")
            .with_hint("use that version or a later one"))
    } else if is(MigrationState::Changed) {
        Err(
            Failure::new("an applied migration differs from the one in this version of Chorus")
                .with_hint("use the version that wrote the database, or restore a backup"),
        )
    } else if is(MigrationState::Pending) {
        Err(Failure::new("migrations are pending").with_hint("apply them with `chorus migrate`"))
    } else {
        Ok(())
    }
}

fn show(ui: Ui, migrations: &[MigrationStatus]) -> Result<(), Failure> {
    let mut table = Table::new("No migrations", &["migration", "state", "about"]);
    for migration in migrations {
        let state = match migration.state {
            MigrationState::Applied => "applied",
            MigrationState::Pending => "pending",
            MigrationState::Changed => "changed",
            MigrationState::Unknown => "unknown",
        };
        table.row([
            &format!("{:04}", migration.version),
            state,
            migration
                .description
                .as_deref()
                .unwrap_or("of a newer version of Chorus"),
        ]);
    }
    ui.table(&table)
}
