//! `chorus task tree`, drawn with lines.

use crate::cli::ui::{duration, excerpt, outcome, time};
use crate::domain::{AskedHandoff, Door, RunState, Status, TaskTree, Timestamp, TreeHandoff};
use crate::words::counted;

/// A branch below a task: a hand-off or a child.
enum Branch<'a> {
    Handoff(&'a TreeHandoff),
    Child(&'a TaskTree),
    Omitted(String),
}

impl Branch<'_> {
    const fn began_at(&self) -> Timestamp {
        match self {
            Self::Handoff(handoff) => handoff.started_at,
            Self::Child(task) => task.created_at,
            // The note of omitted tasks comes last.
            Self::Omitted(_) => Timestamp::from_millis(i64::MAX),
        }
    }
}

/// Draws a line per task and per hand-off, in the order in which they began. A star marks the named task.
pub(super) fn draw(tree: &TaskTree, asked: &str, now: Timestamp) -> Vec<String> {
    let mut lines = vec![head(tree, asked)];
    // A stack of the branches to draw, each with the lines that run down on its left.
    let mut left: Vec<(String, bool, Branch)> = Vec::new();
    let push = |left: &mut Vec<_>, task, margin: &str| {
        let branches = branches(task).into_iter().rev().enumerate();
        left.extend(branches.map(|(place, branch)| (margin.to_owned(), place == 0, branch)));
    };
    push(&mut left, tree, "");
    while let Some((margin, is_last, branch)) = left.pop() {
        let (corner, below) = if is_last {
            ("└─", "   ")
        } else {
            ("├─", "│  ")
        };
        match branch {
            Branch::Handoff(handoff) => {
                lines.push(format!("{margin}{corner} {}", entry(handoff, now)));
            }
            Branch::Omitted(tasks) => lines.push(format!("{margin}{corner} {tasks}")),
            Branch::Child(task) => {
                lines.push(format!("{margin}{corner} {}", head(task, asked)));
                push(&mut left, task, &format!("{margin}{below}"));
            }
        }
    }
    lines
}

/// Lists the branches below a task, in the order in which they began.
fn branches(task: &TaskTree) -> Vec<Branch<'_>> {
    let handoffs = task.handoffs.iter().map(Branch::Handoff);
    let mut branches: Vec<_> = handoffs
        .chain(task.children.iter().map(Branch::Child))
        .chain(not_shown(task).map(Branch::Omitted))
        .collect();
    branches.sort_by_key(Branch::began_at);
    branches
}

/// Formats the number of omitted tasks.
pub(super) fn not_shown(task: &TaskTree) -> Option<String> {
    (task.omitted > 0).then(|| format!("{} not shown", counted(task.omitted, "task")))
}

fn head(task: &TaskTree, asked: &str) -> String {
    let mark = if task.id.as_str() == asked { "* " } else { "" };
    format!(
        "{mark}{} {} {}",
        task.id,
        status(&task.status),
        excerpt(task.description.as_str())
    )
}

/// Formats the status, with the message of a failure.
pub(super) fn status(status: &Status) -> String {
    match status.failure_message() {
        Some(message) if !message.is_blank() => format!("failed: {}", excerpt(message.as_str())),
        _ => status.name().as_str().to_owned(),
    }
}

/// Formats a hand-off: agent, time, duration, outcome and cost.
fn entry(handoff: &TreeHandoff, now: Timestamp) -> String {
    let mut parts = vec![
        handoff.agent_name.to_string(),
        time(handoff.started_at),
        ending(handoff, now),
    ];
    parts.extend(handoff.cost_usd.map(|cost| format!("${cost:.4}")));
    parts.extend(came_from(handoff).map(|came| format!("({came})")));
    parts.join("  ")
}

/// Formats the outcome and the duration of a hand-off, or who works or waits now, and for how long.
pub(super) fn ending(handoff: &TreeHandoff, now: Timestamp) -> String {
    match (handoff.completed_at, handoff.outcome) {
        (Some(at), Some(how)) => {
            let took = duration(at.as_millis() - handoff.started_at.as_millis());
            let end = format!("{} after {took}", outcome(how));
            match names(&handoff.unanswered_handoffs) {
                Some(names) => format!("{end}, without the answer of {names}"),
                None => end,
            }
        }
        _ => at_work(handoff, now),
    }
}

fn at_work(handoff: &TreeHandoff, now: Timestamp) -> String {
    let since = |time: Timestamp| duration(now.as_millis() - time.as_millis());
    let live = handoff.live.as_ref();
    let waits_for = live.map_or(&[][..], |live| &live.waits_for);
    match (names(waits_for), waits_for.first()) {
        (Some(names), Some(first)) => {
            format!("waits for {names} for {}", since(first.started_at))
        }
        _ if live.is_some_and(|live| live.run_state == Some(RunState::Queued)) => {
            format!("queued for {}", since(handoff.started_at))
        }
        _ => format!("working for {}", since(handoff.started_at)),
    }
}

/// Joins the agents that were asked.
fn names(asked: &[AskedHandoff]) -> Option<String> {
    let names: Vec<_> = asked
        .iter()
        .map(|asked| asked.agent_name.as_str())
        .collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Formats the kind of a hand-off and its sender; nothing for a plain hand-off by a person.
fn came_from(handoff: &TreeHandoff) -> Option<String> {
    let mode = handoff.mode.as_str();
    match (&handoff.from_agent, handoff.mode) {
        (Some(from), _) => Some(format!("{mode} from {from}")),
        (None, Door::Delegate) => None,
        (None, _) => Some(mode.to_owned()),
    }
}
