//! Adding a message from outside of a run's output.

use super::record::{find_open_handoff, record};
use crate::domain::{Caller, Message, MessageType, NewMessage, TaskId, Text};
use crate::ledger::handoff::CallingRun;
use crate::ledger::task;
use crate::store::tables::{messages, tasks};
use crate::store::{Result, StoreError, Tx};

/// A message to add to the conversation of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddMessage {
    pub task_id: TaskId,
    pub message_type: MessageType,
    pub content: Text,
    pub caller: Caller,
}

/// Adds a message. That of a run belongs to its hand-off; every other one, but for a user's, to the open hand-off.
pub fn add(tx: &mut Tx<'_>, add: &AddMessage) -> Result<Message> {
    let message = NewMessage {
        message_type: add.message_type,
        content: add.content.clone(),
        data: None,
    };
    let on = task::load(tx, &add.task_id)?;
    let by = match add.caller.run() {
        // A run may also add to a task below its own, which another agent works on.
        Some(run) if run.task_id == add.task_id => {
            let run = CallingRun::load(tx, run)?;
            Some((&run.identity.handoff_id, run.number))
        }
        None if add.message_type != MessageType::UserMessage => find_open_handoff(tx, &on)?,
        _ => None,
    };
    let number = record(tx, on.on(), by, &message)?;
    tasks::touch(tx, on.number)?;
    messages::find(tx, number)?.ok_or_else(|| StoreError::inconsistent("a message is gone"))
}
