//! Creating a task.

use crate::domain::{EventKind, NewTask, Task};
use crate::ledger::handoff::lineage;
use crate::ledger::history;
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::tables::{task_dependencies, task_routing};
use crate::store::{Result, Tx};

use super::find::keys;
use super::{dependencies, readiness};

/// Creates a task. The agent of its parent, if it has one, creates it.
pub fn create(tx: &mut Tx<'_>, new: &NewTask) -> Result<StoredTask> {
    let counted_from = match &new.parent_id {
        Some(parent_id) => lineage::start_of_count(tx, keys(tx, parent_id)?.number)?,
        None => None,
    };
    create_counted(tx, new, counted_from)
}

/// Creates a task, for an agent with the start of the count of its limits. A task with dependencies inherits the context of those that
/// have ended, and is announced if it is ready.
pub fn create_counted(
    tx: &mut Tx<'_>,
    new: &NewTask,
    counted_from: Option<i64>,
) -> Result<StoredTask> {
    dependencies::check_known(tx, &new.needs.depends_on)?;
    let mut task = Task::new(new.clone(), tx.now);
    let mut root_number = None;
    if let Some(parent_id) = &task.parent_id {
        let parent = keys(tx, parent_id)?;
        if let Some(counted_from) = counted_from {
            lineage::check_depth(tx, counted_from, parent.number)?;
        }
        root_number = Some(parent.root_number);
        task.root_id = Some(parent.root_id.unwrap_or_else(|| parent_id.clone()));
    }
    let number = tasks::insert(tx, &task)?;
    if let Some(counted_from) = counted_from {
        tasks::update_counted_from(tx, number, counted_from)?;
    }
    let mut created = StoredTask {
        number,
        root_number: root_number.unwrap_or(number),
        task,
        folders: Vec::new(),
    };
    let description = created.task.description.clone();
    let event = EventKind::TaskCreated { description };
    history::record(tx, created.on(), None, event)?;
    let needs = &created.task.needs;
    if needs.agent_role.is_some() || !needs.depends_on.is_empty() {
        task_dependencies::insert_all(tx, number, &needs.depends_on)?;
        let told = needs.agent_context.clone();
        readiness::merge_context_of_dependencies(tx, &mut created, &[])?;
        // The task's own context overrides the inherited one.
        created.task.needs.agent_context.extend(told.clone());
        if created.task.needs.agent_context != told {
            task_routing::update_agent_context(tx, number, &created.task.needs.agent_context)?;
        }
        readiness::announce(tx, created.on())?;
    }
    Ok(created)
}
