//! Changing the needs and the workspace of a task.

use crate::domain::{Caller, EventKind, NeedsChange, Refusal, Task, TaskId, Text};
use crate::ledger::{history, increment, rights};
use crate::store::tables::{task_dependencies, task_routing, tasks};
use crate::store::{Result, Tx};

use super::find::load;
use super::{dependencies, readiness};

#[derive(Debug, Clone, PartialEq)]
pub struct ChangeNeeds {
    pub task_id: TaskId,
    pub change: NeedsChange,
    /// The resolved path of the new workspace.
    pub workspace: Option<Text>,
    /// Whether objects are merged into the existing ones.
    pub merge: bool,
    pub caller: Caller,
}

/// Changes the needs of a task. The router then reconsiders the task.
pub fn change_needs(tx: &mut Tx<'_>, asked: &ChangeNeeds) -> Result<Task> {
    let mut on = load(tx, &asked.task_id)?;
    increment::check_round(tx, &on)?;
    let needs = asked.change.clone().apply(&on.task.needs, asked.merge);
    let mut changed = needs.changed_since(&on.task.needs);
    let before = &on.task.agent_workspace;
    let workspace = asked.workspace.as_ref().filter(|asked| *asked != before);
    if workspace.is_some() {
        rights::may_move_workspace(&asked.caller)?;
        if let Some(agent) = on.task.current_agent() {
            return Err(Refusal::AgentActive(agent.clone()).into());
        }
        changed.push("agentWorkspace");
    }
    // The change itself was checked, but the merged object may be too large.
    needs
        .check_sizes(tx.rules.largest_object)
        .map_err(Refusal::Invalid)?;
    rights::may_change_needs(&asked.caller, &on.task, &changed)?;
    if changed.contains(&"dependsOn") {
        dependencies::check_known(tx, &needs.depends_on)?;
        dependencies::check_no_cycle(tx, on.number, &on.task.id, &needs.depends_on)?;
    }
    let context = asked.change.agent_context.as_ref();
    let describes_work = context.is_some_and(|context| context.contains_key("workCompleted"));
    let run = asked.caller.run();
    let is_own_task = run.is_some_and(|run| on.task.is_worked_on_by(&run.handoff_id));
    if describes_work && is_own_task {
        task_routing::mark_context_own(tx, on.number)?;
    }
    if changed.is_empty() {
        return Ok(on.task);
    }
    if changed.contains(&"dependsOn") {
        task_dependencies::replace_all(tx, on.number, &needs.depends_on)?;
    }
    let before = std::mem::replace(&mut on.task.needs, needs);
    readiness::merge_context_of_dependencies(tx, &mut on, &before.depends_on)?;
    on.task.updated_at = tx.now;
    if let Some(workspace) = workspace {
        tasks::update_workspace(tx, on.number, workspace)?;
        on.task.agent_workspace = workspace.clone();
    }
    if !on.task.routing.blocked {
        on.task.routing.waiting_reason = None;
    }
    task_routing::update_needs(tx, on.number, &on.task.needs)?;
    history::record(tx, on.on(), None, EventKind::TaskUpdated { changed })?;
    readiness::follow_context(tx, &on, &before.agent_context)?;
    readiness::announce(tx, on.on())?;
    Ok(on.task)
}
