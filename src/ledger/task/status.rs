//! Setting a task's status.

use crate::domain::{Status, Task, TaskId};
use crate::ledger::{increment, reactions};
use crate::store::{Result, Tx};

use super::find::load;

/// Sets a task's status, unless it is a stage of a round that is over.
pub fn set_status(tx: &mut Tx<'_>, id: &TaskId, status: &Status) -> Result<Task> {
    let mut on = load(tx, id)?;
    increment::check_round(tx, &on)?;
    reactions::change_status(tx, &mut on, status.clone())?;
    Ok(on.task)
}
