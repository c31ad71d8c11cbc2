//! Closing a hand-off.
//!
//! A hand-off ends in one of four ways, and all of them close it here. The consequences of an end are in
//! [`reactions`](crate::ledger::reactions).

use crate::domain::{ChainEntry, EventKind, HandoffSpan, Outcome, Task, Text};
use crate::ledger::{history, message};
use crate::store::tables::handoffs::{self, OpenHandoff};
use crate::store::tables::runs;
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, StoreError, Tx};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The run of the hand-off has ended.
    RunEnded,
    /// A caller ends it; its run may still be active.
    EndedFromOutside,
    /// Control moves to another agent, which continues the same work. An agent that passes control itself has completed its
    /// run; an agent that loses control is stopped.
    ControlMoved {
        /// Whether the agent passed control itself.
        by_itself: bool,
    },
    /// The work was done outside Chorus, and is only recorded.
    Recorded,
}

#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    pub cause: Cause,
    pub outcome: Outcome,
    /// The final message or the error.
    pub output: &'a Text,
    /// Whether the output contains a reason; otherwise it only says that the hand-off was cancelled.
    pub has_reason: bool,
}

impl<'a> Ending<'a> {
    /// An ending whose output contains the reason.
    pub const fn new(cause: Cause, outcome: Outcome, output: &'a Text) -> Self {
        Self {
            cause,
            outcome,
            output,
            has_reason: true,
        }
    }
}

pub struct Closed {
    pub on: StoredTask,
    pub handoff_number: i64,
}

/// Closes the open hand-off of a task, and ends its run if that is still open.
pub fn close(tx: &mut Tx<'_>, mut on: StoredTask, ending: &Ending<'_>) -> Result<Closed> {
    let Ending {
        outcome, output, ..
    } = *ending;
    let entry = on
        .task
        .end_handoff(outcome, output.clone(), tx.now)?
        .clone();
    let open = handoffs::find_open(tx, on.number)?.ok_or_else(|| {
        StoreError::inconsistent(format!("no open hand-off on task {}", on.task.id))
    })?;
    let handoff_number = open.number;
    tx.spans.extend(span(open, &on.task, &entry));
    handoffs::complete(tx, handoff_number, outcome, output)?;
    tasks::update_status(tx, on.number, &on.task)?;
    // No process says what somebody else did for the agent, and the next agent must see it.
    if ending.cause == Cause::EndedFromOutside && outcome == Outcome::Completed {
        message::record_unsaid(tx, on.on(), (&entry.id, handoff_number), output)?;
    }
    let ended = EventKind::HandoffEnded {
        agent_name: entry.agent_name,
        outcome,
        output: output.clone(),
    };
    history::record(tx, on.on(), Some((&entry.id, handoff_number)), ended)?;
    let run_outcome = match ending.cause {
        Cause::RunEnded | Cause::Recorded => None,
        Cause::ControlMoved { by_itself: true } => Some(Outcome::Completed),
        Cause::EndedFromOutside | Cause::ControlMoved { by_itself: false } => {
            Some(Outcome::Cancelled)
        }
    };
    if let Some(outcome) = run_outcome {
        runs::update_ended_of_handoff(tx, handoff_number, outcome)?;
    }
    Ok(Closed { on, handoff_number })
}

/// Describes a hand-off that has just ended, for telemetry.
fn span(open: OpenHandoff, task: &Task, entry: &ChainEntry) -> Option<HandoffSpan> {
    let end = entry.end.as_ref()?;
    Some(HandoffSpan {
        trace_id: open.trace_id.unwrap_or_else(|| (&entry.id).into()),
        span_id: (&entry.id).into(),
        parent_span_id: open.parent_span_id,
        handoff_id: entry.id.clone(),
        task_id: task.id.clone(),
        session_id: task.session_id.clone(),
        from_agent: entry.from_agent.clone(),
        to_agent: entry.agent_name.clone(),
        mode: entry.mode,
        reason: open.reason,
        started_at: entry.started_at,
        completed_at: end.at,
        outcome: end.outcome,
        harness_trace_id: open.harness_trace_id,
    })
}
