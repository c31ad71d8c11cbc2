//! Adding a message that is not part of a run's output.

use super::record::{find_open_handoff, record};
use crate::domain::{Caller, Message, MessageType, NewMessage, TaskId, Text};
use crate::ledger::handoff::CallingRun;
use crate::ledger::task;
use crate::store::tables::{messages, tasks};
use crate::store::{Result, StoreError, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddMessage {
    pub task_id: TaskId,
    pub message_type: MessageType,
    pub content: Text,
    pub caller: Caller,
}

/// Adds a message. A run's message belongs to the run's hand-off; any other belongs to the open hand-off, unless it is a
/// user's.
pub fn add(tx: &mut Tx<'_>, add: &AddMessage) -> Result<Message> {
    let message = NewMessage {
        message_type: add.message_type,
        content: add.content.clone(),
        data: None,
    };
    let on = task::load(tx, &add.task_id)?;
    let by = match add.caller.run() {
        // A run may also add to a task below its own, on which another agent is active.
        Some(run) if run.task_id == add.task_id => {
            let run = CallingRun::load(tx, run)?;
            Some((&run.identity.handoff_id, run.number))
        }
        None if add.message_type != MessageType::UserMessage => find_open_handoff(tx, &on)?,
        _ => None,
    };
    let number = record(tx, on.on(), by, &message)?;
    tasks::touch(tx, on.number)?;
    messages::find(tx, number)?
        .ok_or_else(|| StoreError::inconsistent("a message that was just inserted does not exist"))
}
