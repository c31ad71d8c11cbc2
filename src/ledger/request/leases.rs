//! Expiry and renewal of leases.

use crate::domain::Text;
use crate::store::tables::requests;
use crate::store::{Result, Tx};

use super::claim::add_millis;
use super::find::load;
use super::recover::recover;

/// The most leases that expire in one transaction.
const AT_ONCE: u32 = 100;

/// Recovers the requests whose leases have expired. Returns their number.
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

/// Renews the leases of all agents that this server runs. Returns their number.
pub fn renew_leases(tx: &Tx<'_>, lease_millis: i64) -> Result<usize> {
    requests::renew_leases(tx, add_millis(tx.now, lease_millis))
}
