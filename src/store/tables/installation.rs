//! The table `installation`, which has one row.

use crate::store::{Result, StoreError, Tx, View, params, sql};

/// Writes the time of a readiness check.
pub fn update_ready(tx: &Tx<'_>) -> Result<()> {
    let statement = sql!("UPDATE installation SET ready_at = $1");
    match tx.execute(statement, params![tx.now])? {
        1 => Ok(()),
        rows => Err(StoreError::inconsistent(format!(
            "{rows} rows in the table installation"
        ))),
    }
}

/// Records that the default agents were seeded. Returns whether they were not before.
pub fn mark_agents_seeded(tx: &Tx<'_>) -> Result<bool> {
    let statement = sql!("UPDATE installation SET seeded_at = $1 WHERE seeded_at IS NULL");
    Ok(tx.execute(statement, params![tx.now])? == 1)
}

/// Records that the specialists were seeded. Returns whether they were not before.
pub fn mark_specialists_seeded(tx: &Tx<'_>) -> Result<bool> {
    let statement = sql!(
        "UPDATE installation SET specialists_planted_at = $1 WHERE specialists_planted_at IS NULL"
    );
    Ok(tx.execute(statement, params![tx.now])? == 1)
}

/// Records that the default routes were seeded. Returns whether they were not before.
pub fn mark_routes_seeded(tx: &Tx<'_>) -> Result<bool> {
    let statement =
        sql!("UPDATE installation SET routes_planted_at = $1 WHERE routes_planted_at IS NULL");
    Ok(tx.execute(statement, params![tx.now])? == 1)
}

/// Writes that somebody has set the kind rules.
pub fn mark_routes_chosen(tx: &Tx<'_>) -> Result<()> {
    tx.execute(
        sql!("UPDATE installation SET routes_chosen_at = $1"),
        params![tx.now],
    )?;
    Ok(())
}

/// Tells whether somebody has set the kind rules.
pub fn are_routes_chosen(view: &View<'_>) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM installation WHERE routes_chosen_at IS NOT NULL"),
        params![],
    )
}
