//! The table `queue_messages`.

use rusqlite::params;
use sqlx::SqliteExecutor;

use super::row::{self, Columns};
use super::sql::{query, sql};
use super::writer::Tx;
use super::{events, tasks};
use crate::domain::{EventKind, MessageId, Queue, QueueMessage, TaskId, Text};
use crate::store::Result;

pub(super) fn add(tx: &mut Tx<'_>, task_id: &TaskId, content: &Text) -> Result<QueueMessage> {
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
pub(super) fn insert(tx: &Tx<'_>, task_number: i64, message: &QueueMessage) -> Result<()> {
    tx.insert(
        sql!("INSERT INTO queue_messages (id, task_number, received_at, content) VALUES ($1, $2, $3, $4)"),
        params![message.id.as_str(), task_number, message.received_at.as_millis(), message.content.as_str()],
    )?;
    Ok(())
}

fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<QueueMessage> {
    Ok(QueueMessage {
        id: row.parsed(0)?,
        content: row.text(1)?,
        received_at: row.timestamp(2)?,
    })
}

pub(super) async fn list(readers: impl SqliteExecutor<'_>, task_number: i64) -> Result<Queue> {
    let rows = query!(
        sql!("SELECT id, content, received_at FROM queue_messages WHERE task_number = $1 ORDER BY number"),
        task_number
    )
    .fetch_all(readers)
    .await?;
    Ok(Queue {
        messages: row::all(&rows, from_row)?,
    })
}
