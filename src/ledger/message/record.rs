//! Recording messages.

use crate::domain::{EventKind, HandoffId, MessageType, NewMessage};
use crate::ledger::history;
use crate::store::tables::handoffs;
use crate::store::tables::messages::{self, NewRow};
use crate::store::tables::tasks::{StoredTask, TaskRef};
use crate::store::{Result, Tx, View};

/// How many bytes of a message its event shows.
const SHOWN_IN_EVENTS: usize = 2000;

/// Records a message and its event, and returns the number of the message.
pub fn record(
    tx: &mut Tx<'_>,
    on: TaskRef<'_>,
    handoff: Option<(&HandoffId, i64)>,
    message: &NewMessage,
) -> Result<i64> {
    let row = NewRow {
        task_number: on.number,
        root_number: on.root_number,
        handoff_number: handoff.map(|(_, number)| number),
        message_type: message.message_type,
        is_prompt: false,
        content: message.content.as_str(),
        data: message.data.as_ref(),
    };
    let number = messages::insert(tx, &row)?;
    let added = EventKind::MessageAdded {
        message_type: message.message_type,
        content: message.content.beginning(SHOWN_IN_EVENTS),
    };
    history::record(tx, on, handoff, added)?;
    Ok(number)
}

/// Records a message on a task, said by its current agent if there is one.
pub fn say(tx: &mut Tx<'_>, on: &StoredTask, message: &NewMessage) -> Result<i64> {
    let open = find_open_handoff(tx, on)?;
    record(tx, on.on(), open, message)
}

/// Finds the open hand-off of a task, with its number.
pub(super) fn find_open_handoff<'a>(
    view: &View<'_>,
    on: &'a StoredTask,
) -> Result<Option<(&'a HandoffId, i64)>> {
    let Some(open) = on.task.open_handoff() else {
        return Ok(None);
    };
    let number = handoffs::find_number(view, &open.id)?;
    Ok(number.map(|number| (&open.id, number)))
}

/// Records the place of a hand-off's prompt in the conversation. The prompt itself and the event are the hand-off's.
pub fn record_prompt(tx: &Tx<'_>, on: TaskRef<'_>, handoff_number: i64) -> Result<()> {
    let row = NewRow {
        task_number: on.number,
        root_number: on.root_number,
        handoff_number: Some(handoff_number),
        message_type: MessageType::UserMessage,
        is_prompt: true,
        content: "",
        data: None,
    };
    messages::insert(tx, &row)?;
    Ok(())
}
