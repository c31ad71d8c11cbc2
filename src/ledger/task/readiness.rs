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
    let context = &from.task.needs.agent_context;
    let excerpt = context_excerpt(tx, &from.task.id, context, to.task.part.as_ref());
    if !excerpt.is_empty() {
        to.task.needs.agent_context.extend(excerpt);
        task_routing::update_agent_context(tx, to.number, &to.task.needs.agent_context)?;
    }
    announce(tx, to.on())
}

/// Passes a context that changed after its task ended on to the dependants. Those that have started keep what they began with, and
/// the event names them.
pub fn follow_context(tx: &mut Tx<'_>, on: &StoredTask, before: &Map<String, Value>) -> Result<()> {
    if !on.task.status.is_ended() || on.task.needs.agent_context == *before {
        return Ok(());
    }
    let (mut to, mut started) = (Vec::new(), Vec::new());
    let status = on.task.status.name();
    for id in task_dependencies::met_by(tx, on.number, status)? {
        let mut dependant = load(tx, &id)?;
        if dependant.task.status != Status::Pending || !dependant.task.agent_chain().is_empty() {
            started.push(id);
            continue;
        }
        let part = dependant.task.part.as_ref();
        let passed = context_excerpt(tx, &on.task.id, before, part);
        let now = context_excerpt(tx, &on.task.id, &on.task.needs.agent_context, part);
        let own = &dependant.task.needs.agent_context;
        let followed = agent_context::follow(own, &passed, &now);
        if followed != *own {
            task_routing::update_agent_context(tx, dependant.number, &followed)?;
            dependant.task.needs.agent_context = followed;
            let changed = vec!["agentContext"];
            let updated = EventKind::TaskUpdated { changed };
            history::record(tx, dependant.on(), None, updated)?;
        }
        to.push(id);
    }
    if to.is_empty() && started.is_empty() {
        return Ok(());
    }
    history::record(tx, on.on(), None, EventKind::ContextPassed { to, started })
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
            let context = &from.task.needs.agent_context;
            let excerpt = context_excerpt(view, &from.task.id, context, to.task.part.as_ref());
            to.task.needs.agent_context.extend(excerpt);
        }
    }
    Ok(())
}

/// Returns the bounded context of a task, as another task gets it.
fn context_excerpt(
    view: &View<'_>,
    from: &TaskId,
    context: &Map<String, Value>,
    to: Option<&IncrementPart>,
) -> Map<String, Value> {
    let mut context = context.clone();
    if context.is_empty() {
        return context;
    }
    if let Some(part) = to {
        let attempts = part.round.saturating_sub(1);
        context.insert("attempts".to_owned(), attempts.into());
    }
    agent_context::excerpt(&context, view.rules.carried_bytes, |cut| {
        words::context_cut(cut, from)
    })
}
