//! The table `queue_messages`.

use crate::domain::{HandoffId, MessageId, Page, Queue, QueueMessage, TaskId, Text, Timestamp};
use crate::store::{FromRow, Item, Result, Statement, Tx, View, columns, params, sql, text};

columns! {
    struct MessageRow {
        id: MessageId = "q.id",
        content: Text = "q.content",
        received_at: Timestamp = "q.received_at",
        delivered_at: Option<Timestamp> = "q.delivered_at",
        handoff_id: Option<HandoffId> = "(SELECT h.id FROM handoffs h WHERE h.number = q.delivered_handoff_number)",
    }
}

impl From<MessageRow> for QueueMessage {
    fn from(row: MessageRow) -> Self {
        Self {
            id: row.id,
            content: row.content,
            received_at: row.received_at,
            delivered_at: row.delivered_at,
            handoff_id: row.handoff_id,
        }
    }
}

/// Inserts a message. The hand-off of an imported one may not exist yet.
pub fn insert(tx: &Tx<'_>, task_number: i64, message: &QueueMessage) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO queue_messages (id, task_number, received_at, delivered_at, content)
             VALUES ($1, $2, $3, $4, $5)"
        ),
        params![
            message.id,
            task_number,
            message.received_at,
            message.delivered_at,
            message.content
        ],
    )?;
    Ok(())
}

/// Sets the hand-off of an imported message that was delivered.
pub fn update_handoff(tx: &Tx<'_>, id: &MessageId, handoff_id: &HandoffId) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE queue_messages SET delivered_handoff_number = (SELECT number FROM handoffs WHERE id = $1)
              WHERE id = $2 AND delivered_at IS NOT NULL"
        ),
        params![handoff_id, id],
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
        ", q.number FROM queue_messages q WHERE q.task_number = $1 AND q.number > $2 ORDER BY q.number"
    );
    const MESSAGES: Item<(i64, QueueMessage)> = Item {
        from_row: |row| Ok((row.get(5)?, MessageRow::from_row(row)?.into())),
        name: |(number, _)| number.to_string(),
    };
    view.page(OF_TASK, params![task_number, after], u32::MAX, &MESSAGES)
}

pub fn of_task(view: &View<'_>, task_number: i64) -> Result<Queue> {
    const OF_TASK: Statement<1> = sql!(
        "SELECT ",
        MessageRow::COLUMNS,
        " FROM queue_messages q WHERE q.task_number = $1 ORDER BY q.number"
    );
    let messages = view.rows(OF_TASK, params![task_number], |row| {
        Ok(MessageRow::from_row(row)?.into())
    })?;
    Ok(Queue { messages })
}

/// A message in the prompt of a hand-off, or one that belongs there.
pub struct Pending {
    pub number: i64,
    pub task_id: TaskId,
    pub message: QueueMessage,
}

/// The messages for a hand-off `$1`: those that wait on its task, or on a task whose control was transferred to it, and those that are
/// in its prompt already.
const FOR_HANDOFF: &str = text!(
    "WITH RECURSIVE line (number) AS (
         SELECT task_number FROM handoffs WHERE number = $1
         UNION ALL
         SELECT t.parent_number FROM line JOIN tasks t ON t.number = line.number
          WHERE EXISTS (SELECT 1 FROM handoffs f WHERE f.task_number = t.number AND f.position = 1 AND f.mode = 'transfer')
     )
     SELECT ",
    MessageRow::COLUMNS,
    ", q.number, t.id FROM queue_messages q JOIN tasks t ON t.number = q.task_number
      WHERE (q.delivered_at IS NULL AND q.task_number IN (SELECT number FROM line)) OR q.delivered_handoff_number = $1
      ORDER BY q.number"
);

/// Lists the messages for a hand-off, oldest first, until they have too many bytes, but at least one.
pub fn for_handoff(
    view: &View<'_>,
    handoff_number: i64,
    most_bytes: usize,
) -> Result<Vec<Pending>> {
    const MESSAGES: Statement<1> = sql!(FOR_HANDOFF);
    view.rows_within(most_bytes, MESSAGES, params![handoff_number], |row| {
        Ok(Pending {
            number: row.get(5)?,
            task_id: row.get(6)?,
            message: MessageRow::from_row(row)?.into(),
        })
    })
}

/// Whether messages wait for a hand-off, in addition to those in its prompt.
pub fn has_more(view: &View<'_>, handoff_number: i64) -> Result<bool> {
    const MORE: Statement<1> = sql!(
        "SELECT 1 FROM (",
        FOR_HANDOFF,
        ") WHERE delivered_at IS NULL"
    );
    view.has(MORE, params![handoff_number])
}

pub fn update_delivered(tx: &Tx<'_>, number: i64, handoff_number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE queue_messages SET delivered_at = $1, delivered_handoff_number = $2 WHERE number = $3"),
        params![tx.now, handoff_number, number],
    )?;
    Ok(())
}

/// Lists the messages in the prompt of a hand-off with the ids of their tasks.
pub fn of_handoff(view: &View<'_>, handoff_number: i64) -> Result<Vec<(i64, MessageId, TaskId)>> {
    view.rows(
        sql!(
            "SELECT q.number, q.id, t.id FROM queue_messages q JOIN tasks t ON t.number = q.task_number
              WHERE q.delivered_handoff_number = $1 ORDER BY q.number"
        ),
        params![handoff_number],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )
}

pub fn update_waiting(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE queue_messages SET delivered_at = NULL, delivered_handoff_number = NULL WHERE number = $1"),
        params![number],
    )?;
    Ok(())
}
