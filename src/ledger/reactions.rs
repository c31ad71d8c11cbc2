//! Reactions: the consequences of a changed status and of an ended hand-off, in order.
//!
//! Every status set by an operation and every end of a hand-off goes through [`change_status`] and [`end_handoff`]. The
//! functions called here write their own part and never call back: they return a status that must change too, and the change is
//! made here. A beginning hand-off sets its task to `active` itself, without consequences for other tasks.

use super::handoff::{self, Cause, Ending, close};
use super::increment::{self, NextRound};
use super::{history, mail, request, routing, task};
use crate::domain::{EventKind, Outcome, Status};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, Tx};

/// Sets the status of a task, and carries out the consequences.
pub fn change_status(tx: &mut Tx<'_>, on: &mut StoredTask, status: Status) -> Result<()> {
    let (from, to) = (on.task.status.name(), status.name());
    if !on.task.set_status(status, tx.now) {
        return Ok(());
    }
    tasks::update_status(tx, on.number, &on.task)?;
    history::record(tx, on.on(), None, EventKind::StatusChanged { from, to })?;
    // 1. A decision was made: clear the reason why the router held the task.
    routing::release(tx, on)?;
    // 2. Announce a task that is pending again; release the dependants of an ended task.
    task::follow_status(tx, on)?;
    // 3. A stage updates its increment, and may open the next round.
    match increment::follow_stage(tx, on)? {
        Some(next) => begin_round(tx, on, next),
        None => Ok(()),
    }
}

/// Fails the open stages of the previous round, and records that the next one has begun.
pub fn begin_round(tx: &mut Tx<'_>, failed: &StoredTask, mut next: NextRound) -> Result<()> {
    for mut stage in std::mem::take(&mut next.left_over) {
        change_status(tx, &mut stage, increment::closed_stage_status())?;
    }
    next.record(tx, failed)
}

/// Ends the open hand-off of a task, and carries out the consequences. Every hand-off ends here.
pub fn end_handoff(tx: &mut Tx<'_>, on: StoredTask, ending: &Ending<'_>) -> Result<StoredTask> {
    let mut closed = close(tx, on, ending)?;
    // 1. Mail in the prompt of a completed hand-off counts as read.
    mail::mark_read_after_handoff(tx, closed.handoff_number, ending.outcome)?;
    // 2. Nobody waits any more for those that the agent waited for: they are cancelled, unless it completed its work.
    for (task_id, output) in handoff::taken_down(tx, &closed, ending)? {
        let on = task::load(tx, &task_id)?;
        let ending = Ending::new(Cause::EndedFromOutside, Outcome::Cancelled, &output);
        end_handoff(tx, on, &ending)?;
    }
    handoff::record_missed(tx, &closed)?;
    // 3. If another agent continues the work, or the work was done outside Chorus, this end decides nothing: requests,
    //    increments and the router wait for the hand-off that has control.
    if matches!(ending.cause, Cause::ControlMoved { .. } | Cause::Recorded) {
        return Ok(closed.on);
    }
    // 4. The requests of the hand-off are answered, or re-queued.
    let number = closed.handoff_number;
    if request::handoff_ended(tx, &closed.on, number, ending.outcome, ending.output)? {
        change_status(tx, &mut closed.on, Status::Completed)?;
    }
    let is_pending = closed.on.task.status == Status::Pending;
    // 5. The router and the increment decide about a routed task or a stage.
    let (mut on, status) = routing::follow_end(tx, closed, ending)?;
    if let Some(status) = status {
        change_status(tx, &mut on, status)?;
    }
    // 6. A task that was made for this hand-off ends with it.
    if let Some(status) = on
        .task
        .status_after_delegation(ending.outcome, ending.output)
    {
        change_status(tx, &mut on, status)?;
    }
    // 7. A task that was set to `pending` during the hand-off is free now.
    if is_pending && on.task.status == Status::Pending {
        task::follow_status(tx, &on)?;
    }
    // 8. The agent gets the messages that a person wrote meanwhile.
    handoff::send_waiting(tx, on, ending)
}
