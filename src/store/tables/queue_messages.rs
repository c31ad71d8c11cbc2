//! The table `queue_messages`.

use crate::domain::{MessageId, Page, Queue, QueueMessage, Text, Timestamp};
use crate::store::{FromRow, Item, Result, Statement, Tx, View, columns, params, sql};

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

/// Lists the messages of a task after a number, oldest first, with their numbers, until they are too large for one page.
pub fn page_of_task(
    view: &View<'_>,
    task_number: i64,
    after: i64,
) -> Result<Page<(i64, QueueMessage)>> {
    const OF_TASK: Statement<2> = sql!(
        "SELECT ",
        MessageRow::COLUMNS,
        ", number FROM queue_messages WHERE task_number = $1 AND number > $2 ORDER BY number"
    );
    const MESSAGES: Item<(i64, QueueMessage)> = Item {
        from_row: |row| Ok((row.get(3)?, MessageRow::from_row(row)?.into())),
        name: |(number, _)| number.to_string(),
    };
    view.page(OF_TASK, params![task_number, after], u32::MAX, &MESSAGES)
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
