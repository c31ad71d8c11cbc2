//! What comes next in an increment when one of its stages has ended.

use rusqlite::params;

use super::increments::{Plan, after, find_in, load, save};
use super::row::Columns;
use super::sql::sql;
use super::tasks::{self, StoredTask};
use super::writer::Tx;
use super::{dependencies, events, route_mail, routing};
use crate::domain::{
    Dependency, DependencyOutcome, EventKind, Increment, IncrementId, IncrementState, Refusal,
    Stage, Status, Step, TaskId, Text,
};
use crate::store::{Result, StoreError};

/// Decides what comes next when the status of a stage has changed. Stages of earlier rounds decide nothing any more.
pub(super) fn stage_changed(tx: &mut Tx<'_>, on: &mut StoredTask) -> Result<()> {
    let Some(part) = on.task.part.clone() else {
        return Ok(());
    };
    let (number, increment) = load(tx, &part.increment_id)?;
    if part.round != increment.round {
        return Ok(());
    }
    let is_well = match &on.task.status {
        Status::Completed => true,
        Status::Failed { .. } => false,
        Status::Pending => return go_on(tx, on, number, increment),
        Status::Active | Status::Waiting => return Ok(()),
    };
    match part
        .stage
        .step(is_well, increment.round, tx.rules.max_rounds)
    {
        Step::GoOn | Step::Finish => go_on(tx, on, number, increment),
        Step::Mend => mend(tx, on, part.stage, number, increment),
        // What is blocked already was told of.
        Step::Block if increment.state == IncrementState::Blocked => Ok(()),
        Step::Block => {
            let message = on.task.status.failure_message();
            let message = message.filter(|message| !message.is_blank());
            let message = message.map_or_else(String::new, |message| format!(": {message}"));
            let why = if part.stage.wants_report() {
                let rounds = increment.round;
                format!("It has failed in {rounds} rounds, the last one{message}")
            } else {
                format!("The {} has failed{message}", part.stage.as_str())
            };
            let reason = Text::lossy(why);
            block(tx, on, &reason)?;
            route_mail::tell_operator(tx, on, &reason)
        }
    }
}

/// Refuses to change a stage whose round is over: what came after it went by how it ended.
pub(super) fn check_round(tx: &Tx<'_>, on: &StoredTask) -> Result<()> {
    let Some(part) = &on.task.part else {
        return Ok(());
    };
    let (_, increment) = load(tx, &part.increment_id)?;
    if part.round < increment.round {
        return Err(Refusal::RoundIsOver {
            task_id: on.task.id.clone(),
            round: part.round,
            current: increment.round,
        }
        .into());
    }
    Ok(())
}

/// Goes on with an increment: it is done if all stages of its round are completed, and active otherwise.
fn go_on(tx: &mut Tx<'_>, on: &StoredTask, number: i64, mut increment: Increment) -> Result<()> {
    let is_open = tx.row(
        sql!(
            "SELECT 1 FROM tasks WHERE increment_number = $1 AND round = $2 AND status <> 'completed' LIMIT 1"
        ),
        params![number, increment.round],
        |_| Ok(()),
    )?;
    let state = match is_open {
        Some(()) => IncrementState::Active,
        None => IncrementState::Done,
    };
    if increment.state == state {
        return Ok(());
    }
    increment.state = state;
    increment.blocked_by = None;
    save(tx, number, &mut increment)?;
    let id = increment.id;
    let what = match state {
        IncrementState::Done => EventKind::IncrementDone { id },
        IncrementState::Active | IncrementState::Blocked => EventKind::IncrementResumed { id },
    };
    events::record(tx, on.on(), None, what)
}

/// Lets a blocked increment go on: what is blocked is tried again, and what failed is mended and tested once more, however often
/// that was done.
pub(super) fn retry(tx: &mut Tx<'_>, id: &IncrementId) -> Result<()> {
    let (number, increment) =
        find_in(tx, id)?.ok_or_else(|| Refusal::IncrementNotFound(id.clone()))?;
    if increment.state != IncrementState::Blocked {
        return Err(Refusal::IncrementNotBlocked {
            id: id.clone(),
            state: increment.state,
        }
        .into());
    }
    let stuck = tx.row(
        sql!(
            "SELECT id FROM tasks
              WHERE increment_number = $1 AND round = $2 AND (is_blocked = 1 OR status = 'failed')
              ORDER BY is_blocked DESC, number DESC LIMIT 1"
        ),
        params![number, increment.round],
        |row| row.parsed(0),
    )?;
    let stuck: TaskId = stuck
        .ok_or_else(|| StoreError::inconsistent(format!("nothing of increment {id} is blocked")))?;
    let mut on = tasks::load(tx, &stuck)?;
    let stage = on.task.part.as_ref().map(|part| part.stage);
    match (&on.task.status, stage) {
        (Status::Failed { .. }, Some(stage @ (Stage::Test | Stage::Verify))) => {
            mend(tx, &on, stage, number, increment)
        }
        _ => tasks::change_status(tx, &mut on, Status::Pending),
    }
}

/// Makes what mends a failure, and tests and verifies it again. What waited for the good end of what failed waits for that of its
/// successor.
fn mend(
    tx: &mut Tx<'_>,
    failed: &StoredTask,
    stage: Stage,
    number: i64,
    mut increment: Increment,
) -> Result<()> {
    let verification = verification(tx, number, increment.round)?;
    increment.round += 1;
    increment.state = IncrementState::Active;
    increment.blocked_by = None;
    save(tx, number, &mut increment)?;
    let task = &failed.task;
    let asked: Vec<_> = task
        .needs
        .specialist_tags
        .iter()
        .filter(|tag| !stage.tags(&[]).contains(tag))
        .cloned()
        .collect();
    let plan = Plan {
        increment: &increment,
        tags: &asked,
        priority: task.needs.priority,
        parent_id: task.parent_id.as_ref(),
        source: &task.source,
        agent_workspace: &task.agent_workspace,
    };
    let failure = Dependency {
        task_id: task.id.clone(),
        outcome: DependencyOutcome::Failed,
    };
    let fix = plan.make(tx, TaskId::new(), Stage::Fix, vec![failure])?;
    let test = plan.make(tx, TaskId::new(), Stage::Test, after(&fix))?;
    match verification {
        // It has not begun, and waits for the new test.
        Some((verification, true)) => {
            tx.execute(
                sql!("UPDATE tasks SET round = $1 WHERE number = $2"),
                params![increment.round, verification],
            )?;
            dependencies::move_waiters(tx, failed.number, test.number)?;
        }
        // What it said, or will say, is of what failed since.
        old => {
            let again = plan.make(tx, TaskId::new(), Stage::Verify, after(&test))?;
            if stage == Stage::Test {
                dependencies::move_waiters(tx, failed.number, test.number)?;
            }
            if let Some((old, _)) = old {
                routing::let_go(tx, old)?;
                dependencies::move_waiters(tx, old, again.number)?;
            }
        }
    }
    let round = EventKind::IncrementRound {
        id: increment.id,
        round: increment.round,
        fix_task_id: fix.task.id,
    };
    events::record(tx, failed.on(), None, round)
}

/// Finds the verification of a round, and whether it has not begun.
fn verification(tx: &Tx<'_>, number: i64, round: u32) -> Result<Option<(i64, bool)>> {
    tx.row(
        sql!(
            "SELECT t.number, t.status = 'pending'
                              AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
               FROM tasks t WHERE t.increment_number = $1 AND t.round = $2 AND t.stage = 'verify'
              ORDER BY t.number DESC LIMIT 1"
        ),
        params![number, round],
        |row| Ok((row.integer(0)?, row.integer(1)? != 0)),
    )
}

/// Leaves an increment to a person, because one of its stages cannot go on.
pub(super) fn block(tx: &mut Tx<'_>, on: &StoredTask, reason: &Text) -> Result<()> {
    let Some(part) = &on.task.part else {
        return Ok(());
    };
    let (number, mut increment) = load(tx, &part.increment_id)?;
    if part.round != increment.round {
        return Ok(());
    }
    increment.state = IncrementState::Blocked;
    increment.blocked_by = Some(reason.clone());
    save(tx, number, &mut increment)?;
    let blocked = EventKind::IncrementBlocked {
        id: increment.id,
        reason: reason.clone(),
    };
    events::record(tx, on.on(), None, blocked)
}
