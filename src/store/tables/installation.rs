//! The table `installation`: its only row.

use crate::store::{Result, Tx, View, params, sql};

/// Writes that the default kind rules are seeded, and returns whether they were not before.
pub fn mark_routes_seeded(tx: &Tx<'_>) -> Result<bool> {
    let changed = tx.execute(
        sql!("UPDATE installation SET routes_planted_at = $1 WHERE routes_planted_at IS NULL"),
        params![tx.now],
    )?;
    Ok(changed == 1)
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
