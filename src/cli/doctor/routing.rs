//! What the router does not go on with: tasks for which nobody suits, and what waits for a person.

use super::Finding;
use crate::cli::ui::one_line;
use crate::domain::{Increment, IncrementState, TaskSummary, Text};
use crate::engine::Engine;

/// How many bytes of a reason are shown.
const REASON: usize = 500;

/// Looks for tasks and increments that are held, oldest first.
pub(super) async fn check(engine: &Engine) -> Result<Vec<Finding>, crate::Error> {
    let limit = engine.limits().largest_page;
    let mut findings = Vec::new();
    let mut after = None;
    loop {
        let page = engine.held_tasks(after.as_ref(), limit).await?;
        findings.extend(page.items.iter().map(note_task));
        match page.items.last() {
            Some(last) if page.next.is_some() => after = Some(last.id.clone()),
            _ => break,
        }
    }
    let mut after = None;
    loop {
        let blocked = Some(IncrementState::Blocked);
        let page = engine.increments(blocked, after.as_ref(), limit).await?;
        findings.extend(page.items.iter().map(note_increment));
        match page.items.last() {
            Some(last) if page.next.is_some() => after = Some(last.id.clone()),
            _ => return Ok(findings),
        }
    }
}

fn note_task(task: &TaskSummary) -> Finding {
    let id = &task.id;
    let (what, advice) = if task.blocked {
        (
            "is blocked",
            format!(
                "chorus task show {id} --full; then chorus task status {id} pending lets it go on, completed or failed ends it"
            ),
        )
    } else {
        (
            "waits for an agent",
            format!(
                "chorus route {id} --dry-run says why nobody suits; give an agent the role, or change the task: chorus task update {id} --agent-role ROLE"
            ),
        )
    };
    Finding::Note(format!(
        "task {id} {what}: {}\n      to do: {advice}",
        shortened(task.waiting_reason.as_ref())
    ))
}

fn note_increment(increment: &Increment) -> Finding {
    let id = &increment.id;
    Finding::Note(format!(
        "increment {id} is blocked ({}): {}\n      to do: chorus increment show {id}; what stopped it goes on with chorus task status TASK pending",
        one_line(increment.title.as_str()),
        shortened(increment.blocked_by.as_ref())
    ))
}

fn shortened(reason: Option<&Text>) -> String {
    reason.map_or_else(String::new, |reason| {
        one_line(reason.beginning(REASON).as_str())
    })
}
