//! Messages for the next agent of a task. Those of a chat also start a hand-off: see [`chat`](mod@crate::ledger::handoff::chat).
//!
//! # How it works
//! A message is delivered once: before an agent starts, the messages of its task are recorded as delivered to its hand-off, in the
//! transaction that chooses them. If the run is queued again before its agent began, the next attempt gets the same messages. If the
//! hand-off ends before its agent began, the messages wait for the next hand-off.

use crate::domain::{
    EventKind, HandoffId, MessageId, MessageType, NewMessage, Page, QueueMessage, Refusal,
    RunIdentity, TaskId, Text,
};
use crate::ledger::{history, message};
use crate::store::tables::tasks::{StoredTask, TaskRef};
use crate::store::tables::{handoffs, queue_messages, tasks};
use crate::store::{Result, Tx, View};

use super::find::{keys, number};

/// Lists the queued messages of a task after a number, oldest first, until they are too large for one page.
pub fn queue(view: &View<'_>, task_id: &TaskId, after: i64) -> Result<Page<QueueMessage>> {
    let page = queue_messages::page_of_task(view, number(view, task_id)?, after)?;
    Ok(Page {
        items: page.items.into_iter().map(|(_, message)| message).collect(),
        next: page.next,
    })
}

pub fn queue_message(tx: &mut Tx<'_>, task_id: &TaskId, content: &Text) -> Result<QueueMessage> {
    let keys = keys(tx, task_id)?;
    let (_, message) = insert(tx, keys.on(task_id), content, false)?;
    Ok(message)
}

/// Queues a message on a task. Returns it with its number.
fn insert(
    tx: &mut Tx<'_>,
    on: TaskRef<'_>,
    content: &Text,
    starts_handoff: bool,
) -> Result<(i64, QueueMessage)> {
    let message = QueueMessage {
        id: MessageId::new(),
        content: content.clone(),
        received_at: tx.now,
        delivered_at: None,
        handoff_id: None,
        starts_handoff,
    };
    let number = queue_messages::insert(tx, on.number, &message)?;
    tasks::touch(tx, on.number)?;
    let message_id = message.id.clone();
    let queued = EventKind::MessageQueued { message_id };
    history::record(tx, on, None, queued)?;
    Ok((number, message))
}

/// Queues a message of a chat. Returns it with its number.
pub fn queue_chat(tx: &mut Tx<'_>, on: TaskRef<'_>, content: &Text) -> Result<(i64, QueueMessage)> {
    insert(tx, on, content, true)
}

/// Records that messages of a chat are the prompt of a hand-off that has just begun.
pub fn record_sent(
    tx: &mut Tx<'_>,
    on: TaskRef<'_>,
    (handoff_id, handoff_number): (&HandoffId, i64),
    messages: &[(i64, QueueMessage)],
) -> Result<()> {
    for (number, message) in messages {
        queue_messages::update_sent(tx, *number, handoff_number)?;
        let delivered = EventKind::MessageDelivered {
            message_id: message.id.clone(),
            handoff_id: handoff_id.clone(),
        };
        history::record(tx, on, None, delivered)?;
    }
    Ok(())
}

/// Takes back a message that no agent has got. A message of the same family is found, too: control may just have moved, and with it the
/// message.
pub fn take_back_message(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    message_id: &MessageId,
) -> Result<QueueMessage> {
    let asked = keys(tx, task_id)?;
    let refusal = || Refusal::MessageNotFound(message_id.to_string());
    let found = queue_messages::find(tx, message_id)?.ok_or_else(refusal)?;
    let on = tasks::find_by_number(tx, found.task_number)?.ok_or_else(refusal)?;
    if on.root_number != asked.root_number {
        return Err(refusal().into());
    }
    if found.message.delivered_at.is_some() {
        return Err(Refusal::MessageDelivered(message_id.clone()).into());
    }
    queue_messages::delete(tx, found.number)?;
    tasks::touch(tx, on.number)?;
    let taken_back = EventKind::MessageTakenBack {
        message_id: message_id.clone(),
    };
    history::record(tx, on.on(), None, taken_back)?;
    Ok(found.message)
}

/// Moves the waiting messages of a chat to the task on which the conversation continues.
pub fn move_chat(tx: &mut Tx<'_>, from_number: i64, to: &StoredTask) -> Result<()> {
    let waiting = queue_messages::waiting_chat(tx, from_number, usize::MAX)?;
    if waiting.is_empty() || from_number == to.number {
        return Ok(());
    }
    let Some(from) = tasks::find_by_number(tx, from_number)? else {
        return Ok(());
    };
    for (number, message) in waiting {
        queue_messages::update_task(tx, number, to.number)?;
        let message_id = message.id.clone();
        let moved = EventKind::MessageMoved {
            message_id,
            task_id: to.task.id.clone(),
        };
        history::record(tx, from.on(), None, moved)?;
        let message_id = message.id;
        let queued = EventKind::MessageQueued { message_id };
        history::record(tx, to.on(), None, queued)?;
    }
    Ok(())
}

/// The queued messages in the prompt of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveredQueue {
    /// Oldest first.
    pub messages: Vec<QueueMessage>,
    /// Whether more messages wait for the next hand-off.
    pub has_more: bool,
}

/// Delivers the messages of a task to the agent of a run, oldest first, until they have too many bytes.
pub fn deliver_queue(
    tx: &mut Tx<'_>,
    run: &RunIdentity,
    most_bytes: usize,
) -> Result<DeliveredQueue> {
    // A hand-off that was ended meanwhile no longer reads its prompt.
    let Some(handoff_number) = handoffs::find_open_number(tx, &run.handoff_id)? else {
        return Ok(DeliveredQueue::default());
    };
    let mut messages = Vec::new();
    for mut pending in queue_messages::for_handoff(tx, handoff_number, most_bytes)? {
        if pending.message.delivered_at.is_none() {
            queue_messages::update_delivered(tx, pending.number, handoff_number)?;
            pending.message.delivered_at = Some(tx.now);
            pending.message.handoff_id = Some(run.handoff_id.clone());
            let delivered = EventKind::MessageDelivered {
                message_id: pending.message.id.clone(),
                handoff_id: run.handoff_id.clone(),
            };
            let keys = keys(tx, &pending.task_id)?;
            history::record(tx, keys.on(&pending.task_id), None, delivered)?;
            // A queued note only shows in the prompt; a chat is a conversation.
            if pending.message.starts_handoff {
                let said = NewMessage {
                    message_type: MessageType::UserMessage,
                    content: pending.message.content.clone(),
                    data: None,
                };
                message::record(tx, keys.on(&pending.task_id), None, &said)?;
            }
        }
        messages.push(pending.message);
    }
    let has_more = queue_messages::has_more(tx, handoff_number)?;
    Ok(DeliveredQueue { messages, has_more })
}

/// Returns the messages of a hand-off to the queue, because its agent never began.
pub fn return_queue(tx: &mut Tx<'_>, handoff_number: i64) -> Result<()> {
    for (number, message_id, task_id) in queue_messages::of_handoff(tx, handoff_number)? {
        queue_messages::update_waiting(tx, number)?;
        let keys = keys(tx, &task_id)?;
        let returned = EventKind::MessageReturned { message_id };
        history::record(tx, keys.on(&task_id), None, returned)?;
    }
    Ok(())
}
