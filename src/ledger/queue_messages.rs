//! The table `queue_messages`.

use super::{events, tasks};
use crate::domain::{EventKind, MessageId, Queue, QueueMessage, TaskId, Text};
use crate::store::{Result, Row, Tx, View, params, sql};

pub(crate) fn add(tx: &mut Tx<'_>, task_id: &TaskId, content: &Text) -> Result<QueueMessage> {
    let place = tasks::place(tx, task_id)?;
    let message = QueueMessage {
        id: MessageId::new(),
        content: content.clone(),
        received_at: tx.now,
    };
    insert(tx, place.number, &message)?;
    tasks::touch(tx, place.number)?;
    let queued = EventKind::MessageQueued {
        message_id: message.id.clone(),
    };
    events::record(tx, place.on(task_id), None, queued)?;
    Ok(message)
}

/// Inserts a message's row.
pub(crate) fn insert(tx: &Tx<'_>, task_number: i64, message: &QueueMessage) -> Result<()> {
    tx.insert(
        sql!("INSERT INTO queue_messages (id, task_number, received_at, content) VALUES ($1, $2, $3, $4)"),
        params![message.id.as_str(), task_number, message.received_at.as_millis(), message.content.as_str()],
    )?;
    Ok(())
}

fn from_row(row: &Row<'_>) -> Result<QueueMessage> {
    Ok(QueueMessage {
        id: row.parsed(0)?,
        content: row.text(1)?,
        received_at: row.timestamp(2)?,
    })
}

pub(crate) fn list(view: &View<'_>, task_number: i64) -> Result<Queue> {
    let messages = view.rows(sql!("SELECT id, content, received_at FROM queue_messages WHERE task_number = $1 ORDER BY number"), params![task_number], from_row)?;
    Ok(Queue { messages })
}
