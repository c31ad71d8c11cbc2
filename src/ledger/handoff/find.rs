//! Finding hand-offs.

use crate::domain::{Handoff, HandoffId, Page, Refusal, TaskId};
use crate::ledger::task;
use crate::store::tables::handoffs;
use crate::store::{Result, View};

pub fn get(view: &View<'_>, id: &HandoffId) -> Result<Handoff> {
    handoffs::find(view, id)?.ok_or_else(|| Refusal::HandoffNotFound(id.clone()).into())
}

pub fn exists(view: &View<'_>, id: &HandoffId) -> Result<bool> {
    Ok(handoffs::find_number(view, id)?.is_some())
}

/// Lists the hand-offs of a task in chain order, until they are too large for one page.
pub fn of_task(
    view: &View<'_>,
    task_id: &TaskId,
    after: Option<&HandoffId>,
) -> Result<Page<Handoff>> {
    let number = task::number(view, task_id)?;
    handoffs::of_task(view, number, cursor(view, after)?)
}

/// Resolves the cursor of a page; 0 for the first page.
fn cursor(view: &View<'_>, after: Option<&HandoffId>) -> Result<i64> {
    match after {
        None => Ok(0),
        Some(id) => handoffs::find_number(view, id)?
            .ok_or_else(|| Refusal::HandoffNotFound(id.clone()).into()),
    }
}

/// Lists the hand-offs of a trace, oldest first. The trace id may be W3C's or a harness's own.
pub fn of_trace(
    view: &View<'_>,
    trace: &str,
    after: Option<&HandoffId>,
    limit: u32,
) -> Result<Page<Handoff>> {
    handoffs::of_trace(view, trace, cursor(view, after)?, limit)
}
