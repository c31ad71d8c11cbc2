//! The table `installation`, which has a single row.

use crate::clock::ClockMark;
use crate::domain::{Seeding, Text, Timestamp};
use crate::store::{FromRow, Result, Statement, StoreError, Tx, View, columns, params, sql};

pub fn update_ready(tx: &Tx<'_>) -> Result<()> {
    let statement = sql!("UPDATE installation SET ready_at = $1");
    match tx.execute(statement, params![tx.now])? {
        1 => Ok(()),
        rows => Err(StoreError::inconsistent(format!(
            "{rows} rows in the table installation"
        ))),
    }
}

/// Returns whether the default agents had not been seeded before.
pub fn mark_agents_seeded(tx: &Tx<'_>) -> Result<bool> {
    let statement = sql!("UPDATE installation SET seeded_at = $1 WHERE seeded_at IS NULL");
    Ok(tx.execute(statement, params![tx.now])? == 1)
}

/// Returns whether the specialists had not been seeded before.
pub fn mark_specialists_seeded(tx: &Tx<'_>) -> Result<bool> {
    let statement = sql!(
        "UPDATE installation SET specialists_planted_at = $1 WHERE specialists_planted_at IS NULL"
    );
    Ok(tx.execute(statement, params![tx.now])? == 1)
}

/// Returns whether the default kind rules had not been seeded before.
pub fn mark_routes_seeded(tx: &Tx<'_>) -> Result<bool> {
    let statement =
        sql!("UPDATE installation SET routes_planted_at = $1 WHERE routes_planted_at IS NULL");
    Ok(tx.execute(statement, params![tx.now])? == 1)
}

pub fn mark_routes_chosen(tx: &Tx<'_>) -> Result<()> {
    tx.execute(
        sql!("UPDATE installation SET routes_chosen_at = $1"),
        params![tx.now],
    )?;
    Ok(())
}

/// Whether somebody has changed the kind rules.
pub fn are_routes_chosen(view: &View<'_>) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM installation WHERE routes_chosen_at IS NOT NULL"),
        params![],
    )
}

columns! {
    struct SeedingRow {
        agents: Option<Timestamp> = "seeded_at",
        specialists: Option<Timestamp> = "specialists_planted_at",
        routes: Option<Timestamp> = "routes_planted_at",
        chosen_routes: Option<Timestamp> = "routes_chosen_at",
    }
}

/// Returns when the defaults were seeded.
pub fn seeding(view: &View<'_>) -> Result<Seeding> {
    const SEEDING: Statement<0> = sql!("SELECT ", SeedingRow::COLUMNS, " FROM installation");
    let row = view.one(SEEDING, params![], SeedingRow::from_row)?;
    Ok(Seeding {
        agents_at: row.agents,
        specialists_at: row.specialists,
        routes_at: row.routes,
        routes_chosen_at: row.chosen_routes,
    })
}

/// Saves the times of seeding that the installation does not have yet. A ledger with default agents gets the specialists at the next
/// start of the server.
pub fn add_seeding(tx: &Tx<'_>, seeding: &Seeding) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE installation SET seeded_at = coalesce(seeded_at, $1),
                                     specialists_planted_at = iif(seeded_at IS NULL, coalesce(specialists_planted_at, $2),
                                                                  specialists_planted_at),
                                     routes_planted_at = coalesce(routes_planted_at, $3),
                                     routes_chosen_at = coalesce(routes_chosen_at, $4)"
        ),
        params![
            seeding.agents_at,
            seeding.specialists_at,
            seeding.routes_at,
            seeding.routes_chosen_at
        ],
    )?;
    Ok(())
}

/// Returns the data directory of the last server.
pub fn data_dir(view: &View<'_>) -> Result<Option<Text>> {
    let statement = sql!("SELECT data_dir FROM installation");
    view.one(statement, params![], |row| row.get(0))
}

pub fn set_data_dir(tx: &Tx<'_>, data_dir: &Text) -> Result<()> {
    let statement = sql!("UPDATE installation SET data_dir = $1");
    tx.execute(statement, params![data_dir])?;
    Ok(())
}

/// Replaces the beginning of the workspaces of tasks and requests. Returns the number of tasks.
pub fn move_workspaces(tx: &Tx<'_>, from: &str, to: &str) -> Result<usize> {
    let tasks = tx.execute(
        sql!(
            "UPDATE tasks SET agent_workspace = $1 || substr(agent_workspace, length($2) + 1)
              WHERE substr(agent_workspace, 1, length($2)) = $2"
        ),
        params![to, from],
    )?;
    tx.execute(
        sql!(
            "UPDATE requests SET agent_workspace = $1 || substr(agent_workspace, length($2) + 1)
              WHERE substr(agent_workspace, 1, length($2)) = $2"
        ),
        params![to, from],
    )?;
    Ok(tasks)
}

pub fn clock_mark(view: &View<'_>) -> Result<Option<ClockMark>> {
    view.row(
        sql!(
            "SELECT clock_boot_id, clock_offset FROM installation
              WHERE clock_boot_id IS NOT NULL AND clock_offset IS NOT NULL"
        ),
        params![],
        |row| {
            Ok(ClockMark {
                boot_id: row.get(0)?,
                offset: row.get(1)?,
            })
        },
    )
}

pub fn set_clock_mark(tx: &Tx<'_>, mark: &ClockMark) -> Result<()> {
    tx.execute(
        sql!("UPDATE installation SET clock_boot_id = $1, clock_offset = $2"),
        params![mark.boot_id.as_str(), mark.offset],
    )?;
    Ok(())
}
