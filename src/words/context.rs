//! Words about the context that tasks pass on.

use crate::domain::TaskId;
use crate::domain::agent_context::Cut;

/// Notes that a context was cut, and how to see all of it.
pub fn context_cut(cut: Cut, task_id: &TaskId) -> String {
    let Cut { budget, whole } = cut;
    let show = show_task(task_id);
    format!("cut to fit {budget} of {whole} bytes; `{show}` shows all")
}

/// The command that shows all of a task.
pub(super) fn show_task(id: &TaskId) -> String {
    format!("chorus task show {id} --full")
}
