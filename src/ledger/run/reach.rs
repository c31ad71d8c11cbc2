//! Checking which tasks a run may change.

use crate::domain::{Refusal, RunIdentity, TaskId};
use crate::ledger::task;
use crate::store::tables::tasks;
use crate::store::{Result, View};

/// Refuses a run that changes another task than its own or one below it.
pub fn check_reach(view: &View<'_>, caller: &RunIdentity, task_id: &TaskId) -> Result<()> {
    if tasks::is_below(view, task_id, &caller.task_id)? {
        return Ok(());
    }
    task::number(view, task_id)?;
    Err(Refusal::OutOfReach {
        agent: caller.agent_name.clone(),
        own: caller.task_id.clone(),
    }
    .into())
}
