//! Readiness: which tasks may start, and the context that ended tasks pass on to them.

use serde_json::{Map, Value};

use crate::domain::{Dependency, EventKind, IncrementPart, Status, TaskId, agent_context};
use crate::ledger::history;
use crate::store::tables::tasks::{StoredTask, TaskRef};
use crate::store::tables::{task_dependencies, task_routing};
use crate::store::{Result, Tx, View};
use crate::words;

use super::find::load;

/// Records that a task is ready. Tasks without a role and without dependencies are skipped, because nobody waits for them.
pub fn announce(tx: &mut Tx<'_>, on: TaskRef<'_>) -> Result<()> {
    match task_routing::find_ready(tx, on.number)? {
        None => Ok(()),
        Some(agent_role) => history::record(tx, on, None, EventKind::TaskReady { agent_role }),
    }
}

/// Announces a task that is pending again, and releases the dependants of an ended task.
pub fn follow_status(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    match on.task.status {
        Status::Pending => announce(tx, on.on()),
        Status::Completed | Status::Failed { .. } => release_dependants(tx, on),
        Status::Active | Status::Waiting => Ok(()),
    }
}

/// Gives the dependants of an ended task its context, and announces those that are ready.
fn release_dependants(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    let status = on.task.status.name();
    for id in task_dependencies::released_by(tx, on.number, status)? {
        pass_context(tx, on, &id)?;
    }
    Ok(())
}

fn pass_context(tx: &mut Tx<'_>, from: &StoredTask, to: &TaskId) -> Result<()> {
    let mut to = load(tx, to)?;
    let excerpt = context_excerpt(tx, from, to.task.part.as_ref());
    if !excerpt.is_empty() {
        to.task.needs.agent_context.extend(excerpt);
        task_routing::update_agent_context(tx, to.number, &to.task.needs.agent_context)?;
    }
    announce(tx, to.on())
}

/// Merges the context of dependencies that are already met into a task. The caller writes the row.
pub fn merge_context_of_dependencies(
    view: &View<'_>,
    to: &mut StoredTask,
    known: &[Dependency],
) -> Result<()> {
    let new = to.task.needs.depends_on.iter();
    let new: Vec<_> = new
        .filter(|dependency| !known.contains(dependency))
        .cloned()
        .collect();
    for dependency in new {
        let from = load(view, &dependency.task_id)?;
        if dependency.outcome.is_met_by(from.task.status.name()) {
            let excerpt = context_excerpt(view, &from, to.task.part.as_ref());
            to.task.needs.agent_context.extend(excerpt);
        }
    }
    Ok(())
}

/// Returns the bounded context of a task, as another task gets it.
fn context_excerpt(
    view: &View<'_>,
    from: &StoredTask,
    to: Option<&IncrementPart>,
) -> Map<String, Value> {
    let mut context = from.task.needs.agent_context.clone();
    if context.is_empty() {
        return context;
    }
    if let Some(part) = to {
        let attempts = part.round.saturating_sub(1);
        context.insert("attempts".to_owned(), attempts.into());
    }
    agent_context::excerpt(&context, view.rules.carried_bytes, |cut| {
        words::context_cut(cut, &from.task.id)
    })
}
