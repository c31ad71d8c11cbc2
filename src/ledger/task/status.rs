//! Setting a task's status.

use crate::domain::{Caller, Refusal, Status, Task, TaskId, Text};
use crate::ledger::{increment, reactions, rights};
use crate::store::{Result, Tx};

use super::find::load;

/// A new status of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetStatus {
    pub task_id: TaskId,
    pub status: Status,
    /// The reason for the history. A reason without a change is refused, because it would be lost.
    pub reason: Option<Text>,
    pub caller: Caller,
}

/// Sets a task's status, unless the task is a stage of a finished round.
pub fn set_status(tx: &mut Tx<'_>, asked: &SetStatus) -> Result<Task> {
    let mut on = load(tx, &asked.task_id)?;
    rights::may_set_status(&asked.caller, &on.task)?;
    increment::check_round(tx, &on)?;
    if asked.reason.is_some() && on.task.status == asked.status {
        return Err(Refusal::StatusUnchanged {
            task_id: asked.task_id.clone(),
            status: on.task.status.name(),
        }
        .into());
    }
    let (status, reason) = (asked.status.clone(), asked.reason.clone());
    reactions::change_status_for(tx, &mut on, status, reason)?;
    Ok(on.task)
}
