//! The family of a task.

use crate::domain::{Refusal, TaskId, TaskTree};
use crate::store::tables::task_trees;
use crate::store::{Result, View};

use super::find::keys;

const MOST_TASKS: u32 = 1000;

/// Builds the tree of a task's family; of a large family, only the oldest tasks.
pub fn tree(view: &View<'_>, id: &TaskId) -> Result<TaskTree> {
    let root_number = keys(view, id)?.root_number;
    let tasks = task_trees::of_family(view, root_number, MOST_TASKS)?;
    let shown = tasks.len() as u64;
    let mut tree = TaskTree::build(tasks).ok_or_else(|| Refusal::TaskNotFound(id.clone()))?;
    if shown == u64::from(MOST_TASKS) {
        tree.omitted += task_trees::count_family(view, root_number)? - shown;
    }
    Ok(tree)
}

/// Whether neither a task nor any task below it has an active agent.
pub fn is_settled(view: &View<'_>, id: &TaskId) -> Result<bool> {
    Ok(!task_trees::has_open_handoff(view, id)?)
}
