//! Finding tasks.

use crate::domain::{Event, Page, Refusal, Task, TaskId, Text};
use crate::store::tables::events;
use crate::store::tables::tasks::{self, StoredTask, TaskKeys};
use crate::store::{Result, View};

pub fn get(view: &View<'_>, id: &TaskId) -> Result<Task> {
    Ok(load(view, id)?.task)
}

pub fn find_workspace(view: &View<'_>, id: &TaskId) -> Result<Option<Text>> {
    let found = tasks::find(view, id)?;
    Ok(found.map(|stored| stored.task.agent_workspace))
}

pub fn exists(view: &View<'_>, id: &TaskId) -> Result<bool> {
    Ok(tasks::find_number(view, id)?.is_some())
}

pub fn load(view: &View<'_>, id: &TaskId) -> Result<StoredTask> {
    tasks::find(view, id)?.ok_or_else(|| Refusal::TaskNotFound(id.clone()).into())
}

/// Finds the keys of a task without reading its content.
pub fn keys(view: &View<'_>, id: &TaskId) -> Result<TaskKeys> {
    tasks::find_keys(view, id)?.ok_or_else(|| Refusal::TaskNotFound(id.clone()).into())
}

pub fn number(view: &View<'_>, id: &TaskId) -> Result<i64> {
    tasks::find_number(view, id)?.ok_or_else(|| Refusal::TaskNotFound(id.clone()).into())
}

/// Lists the events of a task after a number, oldest first, until they are too large for one page.
pub fn history(view: &View<'_>, id: &TaskId, after: i64) -> Result<Page<Event>> {
    events::page_of_task(view, number(view, id)?, after)
}
