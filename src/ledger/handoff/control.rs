//! Moving control from one agent to another.

use serde::{Deserialize, Serialize};

use crate::domain::{AgentName, MessageType, Move, NewMessage, Outcome, RunId, Task, Text};
use crate::ledger::reactions;
use crate::store::tables::runs;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx};

use super::calling_run::CallingRun;
use super::close::{Cause, Ending};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The task on which the work continues; its last hand-off is the new one.
    pub task: Task,
    /// The run that lost control.
    pub left: Option<LeftRun>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRun {
    pub run_id: RunId,
    /// Whether the run passed control itself, and so may finish its final message.
    pub by_itself: bool,
}

/// Ends the open hand-off of a task because control moves to another agent.
pub fn give_up_control(
    tx: &mut Tx<'_>,
    on: StoredTask,
    to: &AgentName,
    caller: Option<&CallingRun<'_>>,
) -> Result<(StoredTask, Option<LeftRun>)> {
    let by_itself =
        caller.is_some_and(|caller| on.task.is_worked_on_by(&caller.identity.handoff_id));
    let run_id = match on.task.open_handoff() {
        Some(open) => runs::find_unended_of(tx, &open.id)?,
        None => None,
    };
    let output = routed_to(to);
    let cause = Cause::ControlMoved { by_itself };
    let ending = Ending::new(cause, Outcome::Completed, &output);
    let on = reactions::end_handoff(tx, on, &ending)?;
    Ok((on, run_id.map(|run_id| LeftRun { run_id, by_itself })))
}

pub fn moved_message(to: &AgentName, data: Move) -> NewMessage {
    NewMessage {
        message_type: MessageType::Handoff,
        content: routed_to(to),
        data: Some(data),
    }
}

/// The output under which people see a move of control. Programs parse it only in archives from before `takesControl`.
fn routed_to(agent_name: &AgentName) -> Text {
    Text::lossy(format!("Routed to {agent_name}"))
}
