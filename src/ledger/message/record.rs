//! Recording messages.

use crate::domain::{EventKind, HandoffId, MessageType, NewMessage, Text};
use crate::ledger::history;
use crate::store::tables::handoffs;
use crate::store::tables::messages::{self, NewRow};
use crate::store::tables::tasks::{StoredTask, TaskRef};
use crate::store::{Result, Tx, View};

/// Events show at most this many bytes of a message.
const SHOWN_IN_EVENTS: usize = 2000;

/// Records a message and its event. Returns the number of the message.
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

/// Records the final message of a hand-off that was completed from outside, unless its run has printed the same.
pub fn record_unsaid(
    tx: &mut Tx<'_>,
    on: TaskRef<'_>,
    handoff: (&HandoffId, i64),
    output: &Text,
) -> Result<()> {
    let said = messages::newest_of_agent(tx, on.root_number, handoff.1)?;
    if output.is_blank() || was_said(&said, output) {
        return Ok(());
    }
    let message = NewMessage {
        message_type: MessageType::AssistantMessage,
        content: output.clone(),
        data: None,
    };
    record(tx, on, Some(handoff), &message)?;
    Ok(())
}

/// Whether one message, or the newest ones together, contain exactly a text. `said` begins with the newest.
fn was_said(said: &[Text], text: &Text) -> bool {
    let text = text.as_str().trim();
    if said.iter().any(|message| message.as_str().trim() == text) {
        return true;
    }
    let mut rest = text;
    for message in said {
        match rest.strip_suffix(message.as_str().trim()) {
            Some(before) => rest = before.trim_end(),
            None => return false,
        }
        if rest.is_empty() {
            return true;
        }
    }
    false
}

/// Records a message of a task's current agent, or of nobody if the task is idle.
pub fn record_on_task(tx: &mut Tx<'_>, on: &StoredTask, message: &NewMessage) -> Result<i64> {
    let open = find_open_handoff(tx, on)?;
    record(tx, on.on(), open, message)
}

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

/// Records the position of a hand-off's prompt in the conversation. The prompt itself and the event belong to the hand-off.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_was_said_in_one_message_or_in_the_newest_ones_together() {
        let said = |messages: &[&str], text: &str| {
            let messages: Vec<_> = messages
                .iter()
                .map(|message| Text::lossy((*message).to_owned()))
                .collect();
            was_said(&messages, &Text::lossy(text.to_owned()))
        };
        assert!(said(&["bye", "the answer"], "the answer\n"));
        assert!(said(&["two", "one", "before"], " one\ntwo"));
        assert!(!said(&["two", "none"], "one\ntwo"));
        assert!(!said(&["two"], "one\ntwo"));
        assert!(!said(&["", "\n"], "one"));
        assert!(!said(&[], "one"));
    }
}
