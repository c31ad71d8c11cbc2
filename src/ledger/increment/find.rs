//! Finding increments.

use crate::domain::{Increment, IncrementId, IncrementState, IncrementTasks, Page, Refusal, Text};
use crate::store::tables::increments::{self, StoredIncrement};
use crate::store::{Result, StoreError, View};

/// Finds an increment with its tasks in creation order, or refuses.
pub fn get(view: &View<'_>, id: &IncrementId) -> Result<IncrementTasks> {
    let StoredIncrement { number, increment } = find(view, id)?;
    Ok(IncrementTasks {
        increment,
        depends_on: increments::dependencies(view, number)?,
        tasks: increments::tasks(view, number)?,
    })
}

pub fn exists(view: &View<'_>, id: &IncrementId) -> Result<bool> {
    Ok(increments::find(view, id)?.is_some())
}

/// Finds the working directory of an increment's first task.
pub fn find_workspace(view: &View<'_>, id: &IncrementId) -> Result<Option<Text>> {
    let Some(StoredIncrement { number, .. }) = increments::find(view, id)? else {
        return Ok(None);
    };
    let tasks = increments::tasks(view, number)?;
    let first = tasks.into_iter().next();
    Ok(first.map(|first| first.agent_workspace))
}

pub fn list(
    view: &View<'_>,
    state: Option<IncrementState>,
    newest: bool,
    after: Option<&IncrementId>,
    limit: u32,
) -> Result<Page<Increment>> {
    let after = match after {
        None => None,
        Some(id) => Some(find(view, id)?.number),
    };
    increments::page(view, state, newest, after, limit)
}

/// Finds an increment named by a caller, or refuses.
pub fn find(view: &View<'_>, id: &IncrementId) -> Result<StoredIncrement> {
    increments::find(view, id)?.ok_or_else(|| Refusal::IncrementNotFound(id.clone()).into())
}

/// Loads the increment of a stage; the increment must exist.
pub fn load(view: &View<'_>, id: &IncrementId) -> Result<StoredIncrement> {
    increments::find(view, id)?
        .ok_or_else(|| StoreError::inconsistent(format!("increment {id} does not exist")))
}
