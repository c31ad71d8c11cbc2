//! What happens when the status of a task changes: who may begin now, and what they are told.

use serde_json::{Map, Value};

use super::{increment_stages, routing};
use crate::domain::{Dependency, EventKind, IncrementPart, Status, TaskId, agent_context};
use crate::ledger::{history, task};
use crate::store::tables::tasks::{StoredTask, TaskRef, to_json};
use crate::store::{Result, Tx, params, sql};

/// Records that a task is ready, if it is and somebody waits for that: it has a role, or has waited for others.
pub(crate) fn announce(tx: &mut Tx<'_>, on: TaskRef<'_>) -> Result<()> {
    let ready = tx.row(
        sql!(
            "SELECT t.agent_role FROM tasks t
              WHERE t.number = $1 AND t.status = 'pending' AND t.unmet = 0
                AND (t.agent_role IS NOT NULL
                     OR EXISTS (SELECT 1 FROM task_dependencies d WHERE d.task_number = t.number))"
        ),
        params![on.number],
        |row| row.optional_parsed(0),
    )?;
    match ready {
        None => Ok(()),
        Some(agent_role) => history::record(tx, on, None, EventKind::TaskReady { agent_role }),
    }
}

/// Lets others go on, or wait again, when the status of a task has changed.
pub(crate) fn status_changed(tx: &mut Tx<'_>, on: &mut StoredTask) -> Result<()> {
    routing::decided(tx, on)?;
    match on.task.status {
        Status::Pending => announce(tx, on.on())?,
        Status::Completed | Status::Failed { .. } => release(tx, on)?,
        Status::Active | Status::Waiting => {}
    }
    increment_stages::stage_changed(tx, on)
}

/// Tells those that have waited for a task what it leaves behind, and records which of them are ready.
fn release(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    let waiters = tx.rows(
        sql!(
            "SELECT t.id FROM task_dependencies d
               JOIN tasks t ON t.number = d.task_number
              WHERE d.depends_on_number = $1 AND t.status = 'pending' AND (d.outcome = 'any' OR d.outcome = $2)
              ORDER BY t.number"
        ),
        params![on.number, on.task.status.name().as_str()],
        |row| row.parsed(0),
    )?;
    for id in waiters {
        carry(tx, on, &id)?;
    }
    Ok(())
}

/// Gives what a task leaves behind to one that has waited for it.
fn carry(tx: &mut Tx<'_>, from: &StoredTask, to: &TaskId) -> Result<()> {
    let mut to = task::load(tx, to)?;
    let carried = carried(tx, from, to.task.part.as_ref());
    if !carried.is_empty() {
        to.task.needs.agent_context.extend(carried);
        write_context(tx, &to)?;
    }
    announce(tx, to.on())
}

/// Gives a task what those left behind that it begins to wait for and that have ended already. Its row is the caller's to write.
pub(crate) fn take_over(tx: &Tx<'_>, to: &mut StoredTask, known: &[Dependency]) -> Result<()> {
    let new = to.task.needs.depends_on.iter();
    let new: Vec<_> = new
        .filter(|dependency| !known.contains(dependency))
        .cloned()
        .collect();
    for dependency in new {
        let from = task::load(tx, &dependency.task_id)?;
        if dependency.outcome.is_met_by(&from.task.status) {
            let carried = carried(tx, &from, to.task.part.as_ref());
            to.task.needs.agent_context.extend(carried);
        }
    }
    Ok(())
}

/// Returns what a task leaves behind for another one, as a bounded block.
fn carried(tx: &Tx<'_>, from: &StoredTask, to: Option<&IncrementPart>) -> Map<String, Value> {
    let mut left = from.task.needs.agent_context.clone();
    if left.is_empty() {
        return left;
    }
    if let Some(part) = to {
        let attempts = part.round.saturating_sub(1);
        left.insert("attempts".to_owned(), attempts.into());
    }
    let show = format!("chorus task show {} --full", from.task.id);
    agent_context::bounded(&left, tx.rules.carried_bytes, &show)
}

/// Writes the context of a task that has changed.
pub(crate) fn write_context(tx: &Tx<'_>, on: &StoredTask) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET agent_context = $1, updated_at = $2 WHERE number = $3"),
        params![
            to_json(&on.task.needs.agent_context),
            tx.now.as_millis(),
            on.number
        ],
    )?;
    Ok(())
}
