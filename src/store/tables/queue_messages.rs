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
        starts_handoff: bool = "q.starts_handoff",
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
            starts_handoff: row.starts_handoff,
        }
    }
}

/// Inserts a message. The hand-off of an imported one may not exist yet. Returns its number.
pub fn insert(tx: &Tx<'_>, task_number: i64, message: &QueueMessage) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO queue_messages (id, task_number, received_at, delivered_at, content, starts_handoff)
             VALUES ($1, $2, $3, $4, $5, $6)"
        ),
        params![
            message.id,
            task_number,
            message.received_at,
            message.delivered_at,
            message.content,
            message.starts_handoff
        ],
    )
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
        from_row: |row| Ok((row.get(6)?, MessageRow::from_row(row)?.into())),
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
/// quoted in its prompt already.
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
      WHERE (q.delivered_at IS NULL AND q.task_number IN (SELECT number FROM line))
         OR (q.delivered_handoff_number = $1 AND q.is_prompt = 0)
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
            number: row.get(6)?,
            task_id: row.get(7)?,
            message: MessageRow::from_row(row)?.into(),
        })
    })
}

/// Lists the messages of a chat that wait on a task, oldest first, until they have too many bytes, but at least one.
pub fn waiting_chat(
    view: &View<'_>,
    task_number: i64,
    most_bytes: usize,
) -> Result<Vec<(i64, QueueMessage)>> {
    const WAITING: Statement<1> = sql!(
        "SELECT ",
        MessageRow::COLUMNS,
        ", q.number FROM queue_messages q
          WHERE q.task_number = $1 AND q.delivered_at IS NULL AND q.starts_handoff = 1 ORDER BY q.number"
    );
    view.rows_within(most_bytes, WAITING, params![task_number], |row| {
        Ok((row.get(6)?, MessageRow::from_row(row)?.into()))
    })
}

/// Counts the messages of a chat that wait on a task.
pub fn count_waiting_chat(view: &View<'_>, task_number: i64) -> Result<u64> {
    view.one(
        sql!(
            "SELECT count(*) FROM queue_messages q
              WHERE q.task_number = $1 AND q.delivered_at IS NULL AND q.starts_handoff = 1"
        ),
        params![task_number],
        |row| row.get(0),
    )
}

/// A message with the number of its task.
pub struct Found {
    pub number: i64,
    pub task_number: i64,
    pub message: QueueMessage,
}

pub fn find(view: &View<'_>, id: &MessageId) -> Result<Option<Found>> {
    const ONE: Statement<1> = sql!(
        "SELECT ",
        MessageRow::COLUMNS,
        ", q.number, q.task_number FROM queue_messages q WHERE q.id = $1"
    );
    view.row(ONE, params![id], |row| {
        Ok(Found {
            number: row.get(6)?,
            task_number: row.get(7)?,
            message: MessageRow::from_row(row)?.into(),
        })
    })
}

pub fn delete(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM queue_messages WHERE number = $1"),
        params![number],
    )?;
    Ok(())
}

pub fn update_task(tx: &Tx<'_>, number: i64, task_number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE queue_messages SET task_number = $1 WHERE number = $2"),
        params![task_number, number],
    )?;
    Ok(())
}

/// Marks a message as the prompt of a hand-off, or as a part of it.
pub fn update_sent(tx: &Tx<'_>, number: i64, handoff_number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE queue_messages SET delivered_at = $1, delivered_handoff_number = $2, is_prompt = 1 WHERE number = $3"
        ),
        params![tx.now, handoff_number, number],
    )?;
    Ok(())
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
        sql!("UPDATE queue_messages SET delivered_at = NULL, delivered_handoff_number = NULL, is_prompt = 0 WHERE number = $1"),
        params![number],
    )?;
    Ok(())
}
