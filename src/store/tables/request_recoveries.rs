//! The table `request_recoveries`.

use crate::domain::Recovery;
use crate::store::{Result, Tx, params, sql};

pub fn insert(tx: &Tx<'_>, request_number: i64, recovery: &Recovery) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO request_recoveries (request_number, recovered_at, reason, earlier_run_id, action)
             VALUES ($1, $2, $3, $4, $5)"
        ),
        params![
            request_number,
            recovery.date,
            recovery.reason,
            recovery.earlier_run,
            recovery.action,
        ],
    )?;
    Ok(())
}
