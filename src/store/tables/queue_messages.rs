//! The table `queue_messages`.

use crate::domain::{MessageId, Queue, QueueMessage, Text, Timestamp};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, params, sql};

columns! {
    struct MessageRow {
        id: MessageId = "id",
        content: Text = "content",
        received_at: Timestamp = "received_at",
    }
}

impl From<MessageRow> for QueueMessage {
    fn from(row: MessageRow) -> Self {
        Self {
            id: row.id,
            content: row.content,
            received_at: row.received_at,
        }
    }
}

pub fn insert(tx: &Tx<'_>, task_number: i64, message: &QueueMessage) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO queue_messages (id, task_number, received_at, content)
             VALUES ($1, $2, $3, $4)"
        ),
        params![
            message.id,
            task_number,
            message.received_at,
            message.content
        ],
    )?;
    Ok(())
}

pub fn of_task(view: &View<'_>, task_number: i64) -> Result<Queue> {
    const OF_TASK: Statement<1> = sql!(
        "SELECT ",
        MessageRow::COLUMNS,
        " FROM queue_messages WHERE task_number = $1 ORDER BY number"
    );
    let messages = view.rows(OF_TASK, params![task_number], |row| {
        Ok(MessageRow::from_row(row)?.into())
    })?;
    Ok(Queue { messages })
}
