//! Sentences about the context that tasks pass on.

use crate::domain::TaskId;
use crate::domain::agent_context::Cut;

/// Notes that a context was cut, and how to read all of it.
pub fn context_cut(cut: Cut, task_id: &TaskId) -> String {
    let Cut { budget, whole } = cut;
    let show = show_task(task_id);
    format!("cut from {whole} to {budget} bytes; `{show}` shows everything")
}

pub(super) fn show_task(id: &TaskId) -> String {
    format!("chorus task show {id} --full")
}
