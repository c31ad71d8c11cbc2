//! The next round of an increment, opened when a test or a verification fails.

use crate::domain::{
    Dependency, DependencyOutcome, EventKind, IncrementId, IncrementState, Stage, Status, Step,
    TaskId,
};
use crate::ledger::{history, routing, task};
use crate::store::tables::increments::{self, StoredIncrement};
use crate::store::tables::task_stages::{self, Verification};
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx};

use super::find::load;
use super::plan::{StagePlan, after};
use super::stages::refresh;

pub struct NextRound {
    id: IncrementId,
    round: u32,
    fix_task_id: TaskId,
    /// The idle, open stages of the previous round. They fail, because their round is over.
    pub left_over: Vec<StoredTask>,
}

/// Reacts to the status of a stage of the current round. Opens the next round if the stage failed and rounds are left.
pub fn follow_stage(tx: &mut Tx<'_>, on: &StoredTask) -> Result<Option<NextRound>> {
    let Some(part) = on.task.part.clone() else {
        return Ok(None);
    };
    let stored = load(tx, &part.increment_id)?;
    let round = stored.increment.round;
    if part.round != round {
        return Ok(None);
    }
    let is_completed = match &on.task.status {
        Status::Completed => true,
        Status::Failed { .. } => false,
        Status::Pending | Status::Active | Status::Waiting => {
            refresh(tx, on)?;
            return Ok(None);
        }
    };
    match part.stage.step(is_completed, round, tx.rules.max_rounds) {
        Step::Advance | Step::Finish => refresh(tx, on)?,
        Step::OpenRound => return open_round(tx, on, part.stage, stored).map(Some),
        Step::Block => {
            let was_blocked = stored.increment.state == IncrementState::Blocked;
            refresh(tx, on)?;
            // The operator was notified when the increment became blocked.
            if !was_blocked {
                let blocked = load(tx, &part.increment_id)?.increment;
                routing::mail_operator(tx, on, &blocked.blocked_by.unwrap_or_default())?;
            }
        }
    }
    Ok(None)
}

/// Creates the tasks that fix a failure, and test and verify it again. Dependants of the failed stages are repointed to their
/// successors.
pub fn open_round(
    tx: &mut Tx<'_>,
    failed: &StoredTask,
    stage: Stage,
    stored: StoredIncrement,
) -> Result<NextRound> {
    let StoredIncrement {
        number,
        mut increment,
    } = stored;
    let old_round = increment.round;
    let verification = task_stages::find_verification(tx, number, old_round)?;
    let old_test = task_stages::find_incomplete_test(tx, number, old_round)?;
    increment.round += 1;
    increment.state = IncrementState::Active;
    increment.blocked_by = None;
    increment.updated_at = tx.now;
    increments::update(tx, number, &increment)?;
    let failed_task = &failed.task;
    let tags = failed_task.needs.specialist_tags.iter();
    let tags: Vec<_> = tags
        .filter(|tag| !stage.tags(&[]).contains(tag))
        .cloned()
        .collect();
    let plan = StagePlan {
        increment: &increment,
        tags: &tags,
        priority: failed_task.needs.priority,
        parent_id: failed_task.parent_id.as_ref(),
        origin: Some(failed),
        source: &failed_task.source,
        agent_workspace: &failed_task.agent_workspace,
    };
    let failure = Dependency {
        task_id: failed_task.id.clone(),
        outcome: DependencyOutcome::Failed,
    };
    let fix = plan.create_stage(tx, TaskId::new(), Stage::Fix, vec![failure])?;
    let test = plan.create_stage(tx, TaskId::new(), Stage::Test, after(&fix))?;
    match verification {
        // The verification of the old round waits for the new test.
        Some(Verification {
            number,
            has_not_begun: true,
        }) => {
            task_stages::set_round(tx, number, increment.round)?;
            task::repoint_dependants(tx, failed.number, &test)?;
        }
        // The old verification is about work that has failed since.
        old => {
            let verify = plan.create_stage(tx, TaskId::new(), Stage::Verify, after(&test))?;
            if let Some(old_test) = old_test {
                task::repoint_dependants(tx, old_test, &test)?;
            }
            if let Some(old) = old {
                task::repoint_dependants(tx, old.number, &verify)?;
            }
        }
    }
    let left_over = task_stages::idle(tx, number, old_round)?;
    let left_over = left_over.iter().map(|id| task::load(tx, id));
    Ok(NextRound {
        left_over: left_over.collect::<Result<_>>()?,
        id: increment.id,
        round: increment.round,
        fix_task_id: fix.task.id,
    })
}

impl NextRound {
    pub fn record(self, tx: &mut Tx<'_>, failed: &StoredTask) -> Result<()> {
        let begun = EventKind::IncrementRound {
            id: self.id,
            round: self.round,
            fix_task_id: self.fix_task_id,
        };
        history::record(tx, failed.on(), None, begun)
    }
}
