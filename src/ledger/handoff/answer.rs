//! Answers: the agent that asked waits for them, gets them, or ends without them.

use serde::{Deserialize, Serialize};

use crate::domain::{AgentName, EventKind, HandoffId, Outcome, RunId, Task, TaskId, Text};
use crate::ledger::history;
use crate::store::tables::delegations;
use crate::store::{Result, Tx, View};
use crate::words;

use super::close::{Cause, Closed, Ending};

/// The answer to a delegation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredAnswer")]
pub struct Delegated {
    /// The task on which the work continues; its last hand-off is the one that was asked for.
    pub task: Task,
    /// Whether the same run had asked for it before.
    pub is_existing: bool,
}

/// The forms of stored answers: earlier versions stored the task alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredAnswer {
    Delegated { task: Box<Task>, is_existing: bool },
    Task(Box<Task>),
}

impl From<StoredAnswer> for Delegated {
    fn from(answer: StoredAnswer) -> Self {
        let (task, is_existing) = match answer {
            StoredAnswer::Delegated { task, is_existing } => (task, is_existing),
            StoredAnswer::Task(task) => (task, false),
        };
        Self {
            task: *task,
            is_existing,
        }
    }
}

/// The wait of an agent for the end of a hand-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Whether it is new to the ledger that the agent waits.
    pub is_new: bool,
    /// Whether the agent has not got the answer yet.
    pub is_undelivered: bool,
}

/// Finds the wait of a run's agent for a hand-off. `None` if the hand-off's end does not concern that agent.
pub fn find_wait(view: &View<'_>, id: &HandoffId, waiter: &HandoffId) -> Result<Option<Wait>> {
    let awaited = delegations::find_awaited(view, id, waiter)?;
    Ok(awaited.map(|awaited| Wait {
        is_new: awaited.is_open && !awaited.is_awaited,
        is_undelivered: awaited.is_undelivered,
    }))
}

/// Records that the agent of a run waits for the end of a hand-off.
pub fn record_wait(tx: &Tx<'_>, id: &HandoffId, waiter: &HandoffId) -> Result<()> {
    match delegations::find_awaited(tx, id, waiter)? {
        Some(awaited) if awaited.is_open => delegations::update_awaited(tx, &awaited),
        _ => Ok(()),
    }
}

/// Records that the agent of a run gets the answer of a hand-off. If it asks again in the same words, it wants a new one.
pub fn record_delivery(tx: &Tx<'_>, id: &HandoffId, waiter: &HandoffId) -> Result<()> {
    let awaited = delegations::find_awaited(tx, id, waiter)?;
    if let Some(awaited) = awaited.filter(|awaited| awaited.is_undelivered) {
        delegations::update_awaited(tx, &awaited)?;
        delegations::update_delivered(tx, awaited.asked_number)?;
    }
    Ok(())
}

/// Lists the tasks of the open hand-offs that a hand-off takes down with it, with the output of their ends. An agent that completes its
/// work, or passes on control, leaves them running.
pub fn taken_down(
    view: &View<'_>,
    closed: &Closed,
    ending: &Ending<'_>,
) -> Result<Vec<(TaskId, Text)>> {
    let is_over = match ending.cause {
        Cause::RunEnded | Cause::EndedFromOutside => ending.outcome != Outcome::Completed,
        Cause::ControlMoved { .. } | Cause::Recorded => false,
    };
    if !is_over {
        return Ok(Vec::new());
    }
    let awaited = delegations::tasks_awaited_by(view, closed.handoff_number)?;
    if awaited.is_empty() {
        return Ok(Vec::new());
    }
    let entry = closed.on.task.agent_chain().last();
    let agent_name = entry.map(|entry| &entry.agent_name);
    let output = Text::lossy(words::taken_down(
        agent_name.map_or("", AgentName::as_str),
        ending.outcome,
    ));
    let with_output = |task_id| (task_id, output.clone());
    Ok(awaited.into_iter().map(with_output).collect())
}

/// Records the answers that the agent of an ended hand-off has not got.
pub fn record_missed(tx: &mut Tx<'_>, closed: &Closed) -> Result<()> {
    let Some(id) = closed
        .on
        .task
        .agent_chain()
        .last()
        .map(|entry| entry.id.clone())
    else {
        return Ok(());
    };
    for missed in delegations::missed_by(tx, closed.handoff_number)? {
        let event = EventKind::AnswerMissed {
            agent_name: missed.agent_name,
            task_id: missed.task_id,
            handoff_id: missed.id,
        };
        history::record(
            tx,
            closed.on.on(),
            Some((&id, closed.handoff_number)),
            event,
        )?;
    }
    Ok(())
}

/// Lists the cancelled runs of a hand-off and of all that was taken down with it.
pub fn cancelled_runs_below(view: &View<'_>, id: &HandoffId) -> Result<Vec<RunId>> {
    delegations::cancelled_runs_below(view, id)
}
