//! Finding increments.

use crate::domain::{Increment, IncrementId, IncrementState, IncrementTasks, Page, Refusal, Text};
use crate::store::tables::increments::{self, StoredIncrement};
use crate::store::{Result, StoreError, View};

/// Finds an increment with its tasks, in the order in which they were made.
pub fn get(view: &View<'_>, id: &IncrementId) -> Result<IncrementTasks> {
    let StoredIncrement { number, increment } = find(view, id)?;
    Ok(IncrementTasks {
        increment,
        depends_on: increments::dependencies(view, number)?,
        tasks: increments::tasks(view, number)?,
    })
}

/// Tells whether there is an increment with this id.
pub fn exists(view: &View<'_>, id: &IncrementId) -> Result<bool> {
    Ok(increments::find(view, id)?.is_some())
}

/// Finds the working directory of an increment's first task; none if there is no such increment.
pub fn find_workspace(view: &View<'_>, id: &IncrementId) -> Result<Option<Text>> {
    let Some(StoredIncrement { number, .. }) = increments::find(view, id)? else {
        return Ok(None);
    };
    let tasks = increments::tasks(view, number)?;
    let first = tasks.into_iter().next();
    Ok(first.map(|first| first.agent_workspace))
}

/// Lists increments, all or those in a state, oldest first.
pub fn list(
    view: &View<'_>,
    state: Option<IncrementState>,
    after: Option<&IncrementId>,
    limit: u32,
) -> Result<Page<Increment>> {
    let after = match after {
        None => 0,
        Some(id) => find(view, id)?.number,
    };
    increments::page(view, state, after, limit)
}

/// Finds an increment that a caller named.
pub fn find(view: &View<'_>, id: &IncrementId) -> Result<StoredIncrement> {
    increments::find(view, id)?.ok_or_else(|| Refusal::IncrementNotFound(id.clone()).into())
}

/// Loads the increment that a task is a part of.
pub fn load(view: &View<'_>, id: &IncrementId) -> Result<StoredIncrement> {
    increments::find(view, id)?
        .ok_or_else(|| StoreError::inconsistent(format!("increment {id} is not there")))
}
