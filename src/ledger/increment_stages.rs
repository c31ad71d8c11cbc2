//! What comes next in an increment when one of its stages has ended.

use super::increments::{Plan, after, find_in, load, save};
use super::{dependencies, route_mail};
use crate::domain::{
    Dependency, DependencyOutcome, EventKind, Increment, IncrementId, IncrementState, Refusal,
    Stage, Status, Step, TaskId, Text,
};
use crate::ledger::{history, reactions, task};
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx, params, sql};

/// Decides what comes next when somebody has decided about a stage. Stages of earlier rounds decide nothing any more.
pub(crate) fn stage_changed(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
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
        Status::Pending | Status::Active | Status::Waiting => return refresh(tx, on),
    };
    match part
        .stage
        .step(is_well, increment.round, tx.rules.max_rounds)
    {
        Step::GoOn | Step::Finish => refresh(tx, on),
        Step::Mend => mend(tx, on, part.stage, number, increment),
        Step::Block => {
            let was_blocked = increment.state == IncrementState::Blocked;
            refresh(tx, on)?;
            // What is blocked already was told of.
            if was_blocked {
                return Ok(());
            }
            let (_, increment) = load(tx, &part.increment_id)?;
            route_mail::tell_operator(tx, on, &increment.blocked_by.unwrap_or_default())
        }
    }
}

/// Brings an increment into agreement with the stages of its round: it is blocked while one of them has failed or waits for a
/// person, done when all are completed, and active otherwise.
pub(crate) fn refresh(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    let Some(part) = &on.task.part else {
        return Ok(());
    };
    let (number, mut increment) = load(tx, &part.increment_id)?;
    if part.round != increment.round {
        return Ok(());
    }
    let stuck = stuck(tx, number, increment.round)?;
    let blocked_by = stuck.map(|stuck| stuck.why(increment.round));
    let is_open = tx.row(
        sql!(
            "SELECT 1 FROM tasks WHERE increment_number = $1 AND round = $2 AND status <> 'completed' LIMIT 1"
        ),
        params![number, increment.round],
        |_| Ok(()),
    )?;
    let state = match (&blocked_by, is_open) {
        (Some(_), _) => IncrementState::Blocked,
        (None, Some(())) => IncrementState::Active,
        (None, None) => IncrementState::Done,
    };
    if increment.state == state && increment.blocked_by.is_some() == blocked_by.is_some() {
        return Ok(());
    }
    increment.state = state;
    increment.blocked_by.clone_from(&blocked_by);
    save(tx, number, &mut increment)?;
    let id = increment.id;
    let what = match (state, blocked_by) {
        (IncrementState::Done, _) => EventKind::IncrementDone { id },
        (_, Some(reason)) => EventKind::IncrementBlocked { id, reason },
        (_, None) => EventKind::IncrementResumed { id },
    };
    history::record(tx, on.on(), None, what)
}

/// A stage that has failed, or waits for a person.
struct Stuck {
    id: TaskId,
    stage: Stage,
    waiting_reason: Option<Text>,
    failure_message: Option<Text>,
}

/// Finds the stage of a round that keeps an increment from going on: what waits for a person before what failed, the newest first.
fn stuck(tx: &Tx<'_>, number: i64, round: u32) -> Result<Option<Stuck>> {
    tx.row(
        sql!(
            "SELECT id, stage, waiting_reason, failure_message FROM tasks
              WHERE increment_number = $1 AND round = $2 AND (is_blocked = 1 OR status = 'failed')
              ORDER BY is_blocked DESC, number DESC LIMIT 1"
        ),
        params![number, round],
        |row| {
            Ok(Stuck {
                id: row.parsed(0)?,
                stage: row.word(1, Stage::parse)?,
                waiting_reason: row.optional_text(2)?,
                failure_message: row.optional_text(3)?,
            })
        },
    )
}

impl Stuck {
    /// Says why the increment does not go on.
    fn why(self, rounds: u32) -> Text {
        if let Some(reason) = self.waiting_reason {
            return reason;
        }
        let message = self.failure_message.filter(|message| !message.is_blank());
        let message = message.map_or_else(String::new, |message| format!(": {message}"));
        Text::lossy(if self.stage.wants_report() {
            format!("It has failed in {rounds} rounds, the last one{message}")
        } else {
            format!("The {} has failed{message}", self.stage.as_str())
        })
    }
}

/// Returns the round that an increment is in, if that of a stage is over.
fn later_round(tx: &Tx<'_>, on: &StoredTask) -> Result<Option<u32>> {
    let Some(part) = &on.task.part else {
        return Ok(None);
    };
    let (_, increment) = load(tx, &part.increment_id)?;
    Ok((part.round < increment.round).then_some(increment.round))
}

/// Tells whether the round of a stage is over.
pub(crate) fn is_over(tx: &Tx<'_>, on: &StoredTask) -> Result<bool> {
    Ok(later_round(tx, on)?.is_some())
}

/// Refuses to change a stage whose round is over: what came after it went by how it ended.
pub(crate) fn check_round(tx: &Tx<'_>, on: &StoredTask) -> Result<()> {
    let (Some(part), Some(current)) = (&on.task.part, later_round(tx, on)?) else {
        return Ok(());
    };
    Err(Refusal::RoundIsOver {
        task_id: on.task.id.clone(),
        round: part.round,
        current,
    }
    .into())
}

/// Lets a blocked increment go on: what is blocked is tried again, and what failed is mended and tested once more, however often
/// that was done.
pub(crate) fn retry(tx: &mut Tx<'_>, id: &IncrementId) -> Result<()> {
    let (number, increment) =
        find_in(tx, id)?.ok_or_else(|| Refusal::IncrementNotFound(id.clone()))?;
    let Some(stuck) = stuck(tx, number, increment.round)? else {
        return Err(Refusal::IncrementNotBlocked {
            id: id.clone(),
            state: increment.state,
        }
        .into());
    };
    let mut on = task::load(tx, &stuck.id)?;
    match (&on.task.status, stuck.stage) {
        (Status::Failed { .. }, stage @ (Stage::Test | Stage::Verify)) => {
            mend(tx, &on, stage, number, increment)
        }
        _ => reactions::change_status(tx, &mut on, Status::Pending),
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
    let old_test = open_test(tx, number, increment.round)?;
    let old_round = increment.round;
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
            dependencies::move_waiters(tx, failed.number, &test)?;
        }
        // What it said, or will say, is of what failed since.
        old => {
            let again = plan.make(tx, TaskId::new(), Stage::Verify, after(&test))?;
            if let Some(old_test) = old_test {
                dependencies::move_waiters(tx, old_test, &test)?;
            }
            if let Some((old, _)) = old {
                dependencies::move_waiters(tx, old, &again)?;
            }
        }
    }
    close_round(tx, number, old_round)?;
    let round = EventKind::IncrementRound {
        id: increment.id,
        round: increment.round,
        fix_task_id: fix.task.id,
    };
    history::record(tx, failed.on(), None, round)
}

/// Finds the test of a round, unless it is completed.
fn open_test(tx: &Tx<'_>, number: i64, round: u32) -> Result<Option<i64>> {
    tx.row(
        sql!(
            "SELECT number FROM tasks
              WHERE increment_number = $1 AND round = $2 AND stage = 'test' AND status <> 'completed'
              ORDER BY number DESC LIMIT 1"
        ),
        params![number, round],
        |row| row.integer(0),
    )
}

/// Ends what is left of a round that is over. What an agent works on ends with it.
fn close_round(tx: &mut Tx<'_>, number: i64, round: u32) -> Result<()> {
    let left = tx.rows(
        sql!(
            "SELECT t.id FROM tasks t
              WHERE t.increment_number = $1 AND t.round = $2 AND t.status <> 'completed' AND t.status <> 'failed'
                AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)"
        ),
        params![number, round],
        |row| row.parsed(0),
    )?;
    for id in left {
        let mut on = task::load(tx, &id)?;
        end_over(tx, &mut on)?;
    }
    Ok(())
}

/// Ends a stage whose round is over.
pub(crate) fn end_over(tx: &mut Tx<'_>, on: &mut StoredTask) -> Result<()> {
    let message = Text::lossy("Its round is over".to_owned());
    reactions::change_status(tx, on, Status::Failed { message })
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
