//! The ends of leases.

use crate::domain::Text;
use crate::store::tables::requests;
use crate::store::{Result, Tx};

use super::claim::later;
use super::find::load;
use super::recover::recover;

/// The most leases that expire in one transaction.
const AT_ONCE: u32 = 100;

/// Takes requests back whose leases have ended without a heartbeat, and returns how many.
pub fn expire_leases(tx: &mut Tx<'_>) -> Result<u32> {
    let ids = requests::list_expired(tx, tx.now, AT_ONCE)?;
    for id in &ids {
        let stored = load(tx, id)?;
        let holder = stored.request.lease.as_ref();
        let holder = holder.map_or_else(String::new, |lease| format!(" of {}", lease.agent));
        let reason = format!("The lease{holder} ran out without a heartbeat");
        recover(tx, stored, &Text::lossy(reason), None)?;
    }
    Ok(u32::try_from(ids.len()).unwrap_or(u32::MAX))
}

/// Extends the leases of the agents that the server itself runs, and returns how many there are.
pub fn renew_leases(tx: &Tx<'_>, lease_millis: i64) -> Result<usize> {
    requests::renew_leases(tx, later(tx.now, lease_millis))
}
