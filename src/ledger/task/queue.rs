//! Messages for the next agent of a task.
//!
//! # How it works
//! A message is delivered once: before an agent starts, the messages of its task are recorded as delivered to its hand-off, in the
//! transaction that chooses them. If the run is queued again before its agent began, the next attempt gets the same messages. If the
//! hand-off ends before its agent began, the messages wait for the next hand-off.

use crate::domain::{EventKind, MessageId, Page, QueueMessage, RunIdentity, TaskId, Text};
use crate::ledger::history;
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
    let message = QueueMessage {
        id: MessageId::new(),
        content: content.clone(),
        received_at: tx.now,
        delivered_at: None,
        handoff_id: None,
    };
    queue_messages::insert(tx, keys.number, &message)?;
    tasks::touch(tx, keys.number)?;
    let message_id = message.id.clone();
    let queued = EventKind::MessageQueued { message_id };
    history::record(tx, keys.on(task_id), None, queued)?;
    Ok(message)
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
