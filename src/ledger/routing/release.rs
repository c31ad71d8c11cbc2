//! Releasing a held or blocked task.

use crate::store::tables::task_routing;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx};

use super::mail;

/// Clears the reason why a task waited, once somebody has decided about it.
pub fn release(tx: &mut Tx<'_>, on: &mut StoredTask) -> Result<()> {
    if on.task.needs.agent_role.is_some() {
        mail::settle_unsuited(tx, on)?;
    }
    if on.task.routing.waiting_reason.is_none() {
        return Ok(());
    }
    on.task.routing.blocked = false;
    on.task.routing.waiting_reason = None;
    task_routing::release(tx, on.number)
}
