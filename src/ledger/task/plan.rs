//! Planning a task.

use crate::domain::{EventKind, PlanningChange, Task, TaskId};
use crate::ledger::history;
use crate::store::tables::tasks;
use crate::store::{Result, Tx};

use super::find::load;

pub fn plan(tx: &mut Tx<'_>, id: &TaskId, change: &PlanningChange) -> Result<Task> {
    let mut on = load(tx, id)?;
    if on.task.plan(change.clone(), tx.now)
        && let Some(planning) = &on.task.planning
    {
        tasks::update_planning(tx, on.number, planning)?;
        history::record(tx, on.on(), None, EventKind::PlanningUpdated)?;
    }
    Ok(on.task)
}
