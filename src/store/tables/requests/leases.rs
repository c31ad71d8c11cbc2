//! The leases of claims.

use crate::domain::{RequestId, Timestamp};
use crate::store::{Result, Tx, View, params, sql};

/// Lists the requests whose leases have expired and are not renewed by the server, earliest first.
pub fn list_expired(view: &View<'_>, now: Timestamp, limit: u32) -> Result<Vec<RequestId>> {
    view.rows(
        sql!(
            "SELECT id FROM requests
              WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= $1 AND handoff_number IS NULL
                AND claimant_number IS NULL
              ORDER BY lease_expires_at LIMIT $2"
        ),
        params![now, limit],
        |row| row.get(0),
    )
}

/// Renews the leases of all open hand-offs. Returns their number.
pub fn renew_leases(tx: &Tx<'_>, until: Timestamp) -> Result<usize> {
    tx.execute(
        sql!(
            "UPDATE requests SET lease_expires_at = $1
              WHERE lease_expires_at IS NOT NULL AND (handoff_number IS NOT NULL OR claimant_number IS NOT NULL)"
        ),
        params![until],
    )
}

/// Moves the end of each lease by as many milliseconds as the clock was set forward.
pub fn postpone_leases(tx: &Tx<'_>, millis: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE requests SET lease_expires_at = lease_expires_at + $1
              WHERE lease_expires_at IS NOT NULL AND lease_expires_at < 9223372036854775807 - $1"
        ),
        params![millis],
    )?;
    Ok(())
}
