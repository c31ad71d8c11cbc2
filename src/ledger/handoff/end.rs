//! Ending a hand-off on request.

use crate::domain::{Outcome, Refusal, RunId, Task, TaskId, Text};
use crate::ledger::{reactions, task};
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::{handoffs, runs};
use crate::store::{Result, Tx, View};

use super::close::{Cause, Ending};

/// The output of a hand-off that was cancelled without a reason.
const CANCELLED: &str = "Cancelled";

/// Completes the open hand-off of a task. Its run is cancelled, because it may still be active.
pub fn complete(tx: &mut Tx<'_>, task_id: &TaskId, output: &Text) -> Result<Task> {
    let on = load_unless_transferred(tx, task_id)?;
    end(tx, on, Outcome::Completed, output, true)
}

pub fn cancel(tx: &mut Tx<'_>, task_id: &TaskId, reason: Option<&Text>) -> Result<Task> {
    let on = load_unless_transferred(tx, task_id)?;
    let cancelled = Text::lossy(CANCELLED.to_owned());
    let output = reason.unwrap_or(&cancelled);
    end(tx, on, Outcome::Cancelled, output, reason.is_some())
}

fn end(
    tx: &mut Tx<'_>,
    on: StoredTask,
    outcome: Outcome,
    output: &Text,
    has_reason: bool,
) -> Result<Task> {
    let ending = Ending {
        has_reason,
        ..Ending::new(Cause::EndedFromOutside, outcome, output)
    };
    Ok(reactions::end_handoff(tx, on, &ending)?.task)
}

/// Ends a hand-off if it is open. Returns its run, which must be stopped.
pub fn end_by_number(
    tx: &mut Tx<'_>,
    handoff_number: i64,
    outcome: Outcome,
    output: &Text,
) -> Result<Option<RunId>> {
    let Some(task_id) = handoffs::find_task_of_open(tx, handoff_number)? else {
        return Ok(None);
    };
    let run_id = runs::find_unended(tx, handoff_number)?;
    let on = task::load(tx, &task_id)?;
    let ending = Ending::new(Cause::EndedFromOutside, outcome, output);
    reactions::end_handoff(tx, on, &ending)?;
    Ok(run_id)
}

/// Loads a task, unless it is idle because a tool passed on control.
fn load_unless_transferred(view: &View<'_>, task_id: &TaskId) -> Result<StoredTask> {
    let on = task::load(view, task_id)?;
    if on.task.open_handoff().is_none()
        && let Some(last) = on.task.agent_chain().last()
        && let Some(number) = handoffs::find_number(view, &last.id)?
        && let Some(agent_name) = handoffs::find_transfer_target(view, number)?
    {
        return Err(Refusal::AlreadyMoved {
            task_id: task_id.clone(),
            agent_name,
        }
        .into());
    }
    Ok(on)
}
