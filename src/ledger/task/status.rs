//! Setting a task's status.

use crate::domain::{Caller, Status, Task, TaskId};
use crate::ledger::{increment, reactions, rights};
use crate::store::{Result, Tx};

use super::find::load;

/// Sets a task's status, unless the task is a stage of a finished round.
pub fn set_status(tx: &mut Tx<'_>, id: &TaskId, status: &Status, caller: &Caller) -> Result<Task> {
    let mut on = load(tx, id)?;
    rights::may_set_status(caller, &on.task)?;
    increment::check_round(tx, &on)?;
    reactions::change_status(tx, &mut on, status.clone())?;
    Ok(on.task)
}
