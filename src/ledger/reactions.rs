//! Reactions: the consequences of a changed status and of an ended hand-off, in order.
//!
//! Every status that a verb sets and every hand-off that ends goes through [`change_status`] and [`end_handoff`]. The functions that
//! they call write their own part and never call back: if another status must change, their result says so, and the change is made
//! here. A hand-off that begins sets its task to `active` itself, and has no consequences for other tasks.

use super::handoff::{Cause, Ending, close};
use super::increment::{self, NextRound};
use super::{history, mail, request, routing, task};
use crate::domain::{EventKind, Status};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, Tx};

/// Sets the status of a task.
pub fn change_status(tx: &mut Tx<'_>, on: &mut StoredTask, status: Status) -> Result<()> {
    let (from, to) = (on.task.status.name(), status.name());
    if !on.task.set_status(status, tx.now) {
        return Ok(());
    }
    tasks::update_status(tx, on.number, &on.task)?;
    history::record(tx, on.on(), None, EventKind::StatusChanged { from, to })?;
    // 1. Somebody has decided: the router forgets why it left the task alone.
    routing::release(tx, on)?;
    // 2. A task that is pending again is announced; one that has ended releases its dependants.
    task::follow_status(tx, on)?;
    // 3. A stage moves its increment on, and may open the next round.
    match increment::follow_stage(tx, on)? {
        Some(next) => begin_round(tx, on, next),
        None => Ok(()),
    }
}

/// Ends the stages that the round before has left over, and records that the next one has begun.
pub fn begin_round(tx: &mut Tx<'_>, failed: &StoredTask, mut next: NextRound) -> Result<()> {
    for mut stage in std::mem::take(&mut next.left_over) {
        change_status(tx, &mut stage, increment::closed_stage_status())?;
    }
    next.record(tx, failed)
}

/// Ends the open hand-off of a task. Every hand-off ends here, in whatever way.
pub fn end_handoff(tx: &mut Tx<'_>, on: StoredTask, ending: &Ending<'_>) -> Result<StoredTask> {
    let mut closed = close(tx, on, ending)?;
    // 1. Mail in the prompt of a completed hand-off has been read.
    mail::mark_read_after_handoff(tx, closed.handoff_number, ending.outcome)?;
    // 2. Work that another agent goes on with, or that was done elsewhere, is not decided by this end: requests, increments and
    //    the router wait for the hand-off that has control.
    if matches!(ending.cause, Cause::ControlMoved { .. } | Cause::Recorded) {
        return Ok(closed.on);
    }
    // 3. Requests that it worked on are answered, or go back into their line.
    let number = closed.handoff_number;
    if request::handoff_ended(tx, &closed.on, number, ending.outcome, ending.output)? {
        change_status(tx, &mut closed.on, Status::Completed)?;
    }
    // 4. The router and the increment decide about a task that was routed, or is a stage.
    let (mut on, status) = routing::follow_end(tx, closed, ending)?;
    if let Some(status) = status {
        change_status(tx, &mut on, status)?;
    }
    Ok(on)
}
