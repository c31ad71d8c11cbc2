//! The stages of an increment's current round, and the increment's state derived from them.

use crate::domain::{EventKind, IncrementState, Refusal, Status, Text};
use crate::ledger::history;
use crate::store::tables::increments::{self, StoredIncrement};
use crate::store::tables::task_stages::{self, StuckStage};
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx, View};
use crate::words::counted;

use super::find::load;

/// Updates the state of an increment from the stages of its current round. Stages of earlier rounds do not count.
pub fn refresh(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    let Some(part) = &on.task.part else {
        return Ok(());
    };
    let StoredIncrement {
        number,
        mut increment,
    } = load(tx, &part.increment_id)?;
    if part.round != increment.round {
        return Ok(());
    }
    let stuck = task_stages::find_stuck(tx, number, increment.round)?;
    let has_incomplete = task_stages::has_incomplete(tx, number, increment.round)?;
    let state = IncrementState::of_round(stuck.is_some(), has_incomplete);
    if increment.state == state {
        return Ok(());
    }
    let blocked_by = stuck.map(|stuck| blocked_by(stuck, increment.round));
    increment.state = state;
    increment.blocked_by.clone_from(&blocked_by);
    increment.updated_at = tx.now;
    increments::update(tx, number, &increment)?;
    let id = increment.id;
    let event = match (state, blocked_by) {
        (IncrementState::Done, _) => EventKind::IncrementDone { id },
        (_, Some(reason)) => EventKind::IncrementBlocked { id, reason },
        (_, None) => EventKind::IncrementResumed { id },
    };
    history::record(tx, on.on(), None, event)
}

/// Explains which stage blocks an increment.
fn blocked_by(stuck: StuckStage, rounds: u32) -> Text {
    if let Some(reason) = stuck.waiting_reason {
        return reason;
    }
    let message = stuck.failure_message.filter(|message| !message.is_blank());
    let message = message.map_or_else(String::new, |message| format!(": {message}"));
    Text::lossy(if stuck.stage.wants_report() {
        format!(
            "The increment failed in {}{message}",
            counted(rounds, "round")
        )
    } else {
        format!("The {} failed{message}", stuck.stage.as_str())
    })
}

/// Returns the current round of the increment, if the stage belongs to an earlier one.
fn later_round(view: &View<'_>, on: &StoredTask) -> Result<Option<u32>> {
    let Some(part) = &on.task.part else {
        return Ok(None);
    };
    let current = load(view, &part.increment_id)?.increment.round;
    Ok((part.round < current).then_some(current))
}

/// Whether the round of a stage is over.
pub fn is_round_over(view: &View<'_>, on: &StoredTask) -> Result<bool> {
    Ok(later_round(view, on)?.is_some())
}

/// The status of a stage that is still open when its round is over.
pub fn closed_stage_status() -> Status {
    let message = Text::lossy("The round of this stage is over".to_owned());
    Status::Failed { message }
}

/// Refuses to change a stage whose round is over, because the next round began from its result.
pub fn check_round(view: &View<'_>, on: &StoredTask) -> Result<()> {
    let (Some(part), Some(current)) = (&on.task.part, later_round(view, on)?) else {
        return Ok(());
    };
    Err(Refusal::RoundIsOver {
        task_id: on.task.id.clone(),
        round: part.round,
        current,
    }
    .into())
}

/// Refuses to take over a stage whose agent owes a report.
pub fn check_own_report(on: &StoredTask) -> Result<()> {
    match &on.task.part {
        None => Ok(()),
        Some(_) => Err(Refusal::PartOfIncrement(on.task.id.clone()).into()),
    }
}
