//! Messages for the next agent of a task.

use crate::domain::{EventKind, MessageId, Page, QueueMessage, TaskId, Text};
use crate::ledger::history;
use crate::store::tables::{queue_messages, tasks};
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
    };
    queue_messages::insert(tx, keys.number, &message)?;
    tasks::touch(tx, keys.number)?;
    let message_id = message.id.clone();
    let queued = EventKind::MessageQueued { message_id };
    history::record(tx, keys.on(task_id), None, queued)?;
    Ok(message)
}
