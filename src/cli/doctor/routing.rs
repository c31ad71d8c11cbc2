//! Tasks and increments that the router has stopped on: no agent qualifies, or the operator must decide.

use super::Finding;
use crate::cli::ui::one_line;
use crate::domain::{Increment, IncrementState, TaskSummary, Text};
use crate::engine::Engine;
use crate::ledger::increment;
use crate::ledger::task;

/// The limit for a reason, in bytes.
const REASON: usize = 500;

/// The limit for the listed tasks, and for the listed increments.
const SHOWN: u32 = 20;

/// Finds held tasks and blocked increments, oldest first.
pub(super) async fn check(engine: &Engine) -> Result<Vec<Finding>, crate::Error> {
    let tasks = engine.read(|view| task::held(view, None, SHOWN)).await?;
    let mut findings: Vec<_> = tasks.items.iter().map(note_task).collect();
    if tasks.next.is_some() {
        findings.push(Finding::Note(
            "more tasks wait for an agent or for you; see chorus task list".to_owned(),
        ));
    }
    let blocked = Some(IncrementState::Blocked);
    let increments = engine
        .read(move |view| increment::list(view, blocked, false, None, SHOWN))
        .await?;
    findings.extend(increments.items.iter().map(note_increment));
    if increments.next.is_some() {
        findings.push(Finding::Note(
            "more increments are blocked: chorus increment list --state blocked".to_owned(),
        ));
    }
    Ok(findings)
}

fn note_task(task: &TaskSummary) -> Finding {
    let id = &task.id;
    let (what, advice) = if task.blocked {
        (
            "is blocked",
            format!(
                "read chorus task show {id} --full; then continue with chorus task status {id} pending, or end it with completed or failed"
            ),
        )
    } else {
        (
            "waits for an agent",
            format!(
                "read the reasons with chorus task route {id} --dry-run; give an agent the role, or change the task with chorus task edit {id} --agent-role ROLE"
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
        "increment {id} is blocked ({}): {}\n      to do: read chorus increment show {id}; then continue with chorus increment retry {id}",
        one_line(increment.title.as_str()),
        shortened(increment.blocked_by.as_ref())
    ))
}

fn shortened(reason: Option<&Text>) -> String {
    reason.map_or_else(String::new, |reason| {
        one_line(reason.beginning(REASON).as_str())
    })
}
