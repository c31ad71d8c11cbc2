//! Lists of tasks.

use crate::domain::{Page, ReadyQuery, Refusal, Role, Skill, Task, TaskId, TaskQuery, TaskSummary};
use crate::ledger::agent;
use crate::store::tables::task_lists::{self, ReadyCursor};
use crate::store::{Result, View};

use super::find::number;

pub fn list(view: &View<'_>, query: &TaskQuery) -> Result<Page<Task>> {
    task_lists::load(view, &numbers(view, query)?, query.limit)
}

pub fn list_summaries(view: &View<'_>, query: &TaskQuery) -> Result<Page<TaskSummary>> {
    task_lists::load_summaries(view, &numbers(view, query)?, query.limit)
}

/// Lists the tasks that the router holds or that are blocked, oldest first.
pub fn held(view: &View<'_>, after: Option<&TaskId>, limit: u32) -> Result<Page<TaskSummary>> {
    let numbers = task_lists::held(view, cursor(view, after)?, limit + 1)?;
    task_lists::load_summaries(view, &numbers, limit)
}

/// Lists the tasks that are ready to start, optionally those that suit an agent, most urgent first, then oldest first.
pub fn ready(view: &View<'_>, query: &ReadyQuery) -> Result<Page<Task>> {
    let after = match &query.after {
        None => ReadyCursor::START,
        Some(id) => {
            task_lists::find_cursor(view, id)?.ok_or_else(|| Refusal::TaskNotFound(id.clone()))?
        }
    };
    let limit = query.limit + 1;
    let numbers = match &query.for_agent {
        None => task_lists::ready(view, after, limit)?,
        Some(name) => {
            let agent = agent::get(view, name)?;
            // The roles of an agent count as skills.
            let mut tags: Vec<_> = agent.skills.iter().map(Skill::as_str).collect();
            tags.extend(agent.roles.iter().map(Role::as_str));
            task_lists::ready_for(view, &agent.roles, &tags, after, limit)?
        }
    };
    task_lists::load(view, &numbers, query.limit)
}

/// Lists the task numbers of a page, plus one.
fn numbers(view: &View<'_>, query: &TaskQuery) -> Result<Vec<i64>> {
    let limit = query.limit + 1;
    if query.newest {
        let before = query.after.as_ref();
        let before = before.map_or(Ok(i64::MAX), |id| number(view, id))?;
        return task_lists::numbers_before(view, query, before, limit);
    }
    task_lists::numbers(view, query, cursor(view, query.after.as_ref())?, limit)
}

/// Resolves the cursor of a page; 0 for the first page.
fn cursor(view: &View<'_>, after: Option<&TaskId>) -> Result<i64> {
    after.map_or(Ok(0), |id| number(view, id))
}
