//! Planning a task.

use crate::domain::{EventKind, PlanningChange, Task, TaskId};
use crate::ledger::history;
use crate::store::tables::tasks;
use crate::store::{Result, Tx};

use super::find::load;

/// Changes the plan of a task. A shared plan is changed in the task that holds it, and so for every task that shares it.
pub fn plan(tx: &mut Tx<'_>, id: &TaskId, change: &PlanningChange) -> Result<Task> {
    let mut on = load(tx, id)?;
    let mut holder = match &on.task.plan.shared {
        Some(shared) => load(tx, &shared.task_id)?,
        None => on.clone(),
    };
    if holder.task.plan(change.clone(), tx.now)
        && let Some(planning) = &holder.task.plan.planning
    {
        tasks::update_planning(tx, holder.number, planning)?;
        history::record(tx, holder.on(), None, EventKind::PlanningUpdated)?;
        if holder.number != on.number {
            tasks::touch(tx, on.number)?;
        }
        on.task.plan.planning = holder.task.plan.planning;
        on.task.updated_at = tx.now;
    }
    Ok(on.task)
}
