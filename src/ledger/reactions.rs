//! What follows when a status changes or a hand-off ends, in order.

use super::handoffs::Closed;
use super::{dispatches, history, readiness, route_ends};
use crate::domain::{EventKind, Outcome, Status, Text};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, Tx};

/// Sets the status of a task that is loaded, and lets everything follow.
pub fn change_status(tx: &mut Tx<'_>, on: &mut StoredTask, status: Status) -> Result<()> {
    let (from, to) = (on.task.status.name(), status.name());
    if on.task.set_status(status, tx.now) {
        tasks::update_status(tx, on.number, &on.task)?;
        history::record(tx, on.on(), None, EventKind::StatusChanged { from, to })?;
        readiness::status_changed(tx, on)?;
    }
    Ok(())
}

/// Lets every door decide about what was its own, in the transaction that ended the hand-off.
pub fn handoff_ended(
    tx: &mut Tx<'_>,
    closed: Closed,
    outcome: Outcome,
    output: &Text,
) -> Result<StoredTask> {
    let handoff_number = closed.handoff_number;
    let on = dispatches::handoff_ended(tx, closed, outcome, output)?;
    route_ends::handoff_ended(tx, on, handoff_number, outcome, output)
}
