//! The table `messages`, with one order across all tasks of a family.
//!
//! The row of a prompt has no content: it refers to the prompt of its hand-off.

use crate::domain::{
    AgentName, ArchivedMessage, Door, HandoffId, Message, MessageQuery, MessageType, Move, Page,
    TaskId, Text, Timestamp,
};
use crate::store::value::to_json;
use crate::store::{
    FromRow, Item, Json, Result, Row, Statement, Tx, View, columns, params, sql, text,
};

pub struct NewRow<'a> {
    pub task_number: i64,
    pub root_number: i64,
    pub handoff_number: Option<i64>,
    pub message_type: MessageType,
    pub is_prompt: bool,
    pub content: &'a str,
    pub data: Option<&'a Move>,
}

/// Inserts a message. Returns its number.
pub fn insert(tx: &Tx<'_>, row: &NewRow<'_>) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO messages (task_number, chain_number, handoff_number, occurred_at, type, is_prompt, data, content)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        ),
        params![
            row.task_number,
            row.root_number,
            row.handoff_number,
            tx.now,
            row.message_type,
            row.is_prompt,
            row.data.map(to_json),
            row.content,
        ],
    )
}

/// Inserts a message from an archive under a given number.
pub fn insert_archived(
    tx: &Tx<'_>,
    number: i64,
    task_number: i64,
    handoff_number: Option<i64>,
    message: &ArchivedMessage,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO messages (number, task_number, chain_number, handoff_number, occurred_at, type, is_prompt, data,
                                   content)
             SELECT $1, $2, coalesce(master_number, number), $3, $4, $5, $6, $7, $8 FROM tasks WHERE number = $2"
        ),
        params![
            number,
            task_number,
            handoff_number,
            message.timestamp,
            message.message_type,
            message.is_prompt,
            message.data.as_ref().map(to_json),
            message.content,
        ],
    )?;
    Ok(())
}

columns! {
    struct MessageRow {
        number: i64 = "m.number",
        timestamp: Timestamp = "m.occurred_at",
        task_id: TaskId = "t.id",
        handoff_id: Option<HandoffId> = "h.id",
        handoff_agent: Option<AgentName> = "h.agent_name",
        handoff_from: Option<AgentName> = "h.from_agent",
        mode: Option<Door> = "h.mode",
        message_type: MessageType = "m.type",
        is_prompt: bool = "m.is_prompt",
        content: Text = "m.content",
        prompt: Option<Text> = "CASE m.is_prompt WHEN 1 THEN h.prompt END",
        data: Option<Json<Move>> = "m.data",
    }
}

const SELECT: &str = text!(
    "SELECT ",
    MessageRow::COLUMNS,
    " FROM messages m
      JOIN tasks t ON t.number = m.task_number
      LEFT JOIN handoffs h ON h.number = m.handoff_number"
);

impl MessageRow {
    /// Returns the agent that said the message. The prompt of a delegation belongs to the delegating agent, any other prompt to
    /// the user.
    fn speaker(&self) -> Option<AgentName> {
        if self.is_prompt {
            let asker = self.handoff_from.clone();
            return asker.filter(|_| self.mode == Some(Door::Delegate));
        }
        match &self.data {
            Some(Json(data)) => data.from_agent.clone(),
            None => self.handoff_agent.clone(),
        }
    }
}

impl From<MessageRow> for Message {
    fn from(row: MessageRow) -> Self {
        Self {
            agent_name: row.speaker(),
            number: row.number,
            timestamp: row.timestamp,
            task_id: row.task_id,
            handoff_id: row.handoff_id,
            message_type: row.message_type,
            content: row.prompt.unwrap_or(row.content),
            data: row.data.map(|Json(data)| data),
        }
    }
}

impl From<MessageRow> for ArchivedMessage {
    fn from(row: MessageRow) -> Self {
        Self {
            agent_name: row.speaker(),
            number: row.number,
            timestamp: row.timestamp,
            task_id: row.task_id,
            handoff_id: row.handoff_id,
            message_type: row.message_type,
            is_prompt: row.is_prompt,
            content: row.content,
            data: row.data.map(|Json(data)| data),
        }
    }
}

/// How many messages of a family are searched for those of one hand-off.
const SEARCHED: u32 = 1000;

/// Lists the newest messages that the agent of a hand-off wrote, newest first.
pub fn newest_of_agent(
    view: &View<'_>,
    root_number: i64,
    handoff_number: i64,
) -> Result<Vec<Text>> {
    view.rows(
        sql!(
            "SELECT content FROM (SELECT number, handoff_number, type, content FROM messages
                                   WHERE chain_number = $1 ORDER BY number DESC LIMIT $2)
              WHERE handoff_number = $3 AND type = 'assistant_message' ORDER BY number DESC"
        ),
        params![root_number, SEARCHED, handoff_number],
        |row| row.get(0),
    )
}

fn from_row(row: &Row<'_>) -> Result<Message> {
    MessageRow::from_row(row).map(Message::from)
}

const MESSAGES: Item<Message> = Item {
    from_row,
    name: |message| message.number.to_string(),
};

pub fn find(view: &View<'_>, number: i64) -> Result<Option<Message>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE m.number = $1");
    view.row(ONE, params![number], from_row)
}

/// Returns the number of the newest message, 0 if there is none.
pub fn last_number(view: &View<'_>) -> Result<i64> {
    view.one(
        sql!("SELECT coalesce(max(number), 0) FROM messages"),
        params![],
        |row| row.get(0),
    )
}

pub fn page_of_task(
    view: &View<'_>,
    root_number: i64,
    task_number: i64,
    query: MessageQuery,
) -> Result<Page<Message>> {
    const OF_TASK: Statement<4> = sql!(
        SELECT,
        " WHERE m.chain_number = $1 AND m.task_number = $2 AND m.number > $3 ORDER BY m.number LIMIT $4"
    );
    let MessageQuery { after, limit } = query;
    let more = limit + 1;
    let arguments = params![root_number, task_number, after, more];
    view.page(OF_TASK, arguments, limit, &MESSAGES)
}

pub fn page_of_family(
    view: &View<'_>,
    root_number: i64,
    query: MessageQuery,
) -> Result<Page<Message>> {
    const OF_FAMILY: Statement<3> = sql!(
        SELECT,
        " WHERE m.chain_number = $1 AND m.number > $2 ORDER BY m.number LIMIT $3"
    );
    let MessageQuery { after, limit } = query;
    let more = limit + 1;
    let arguments = params![root_number, after, more];
    view.page(OF_FAMILY, arguments, limit, &MESSAGES)
}

pub fn archived_of_task(view: &View<'_>, task_number: i64) -> Result<Vec<ArchivedMessage>> {
    const OF_TASK: Statement<1> = sql!(
        SELECT,
        " WHERE m.chain_number = (SELECT coalesce(master_number, number) FROM tasks WHERE number = $1)
            AND m.task_number = $1
          ORDER BY m.number"
    );
    view.rows(OF_TASK, params![task_number], |row| {
        MessageRow::from_row(row).map(ArchivedMessage::from)
    })
}

/// Lists the newest messages of users and agents on the ancestors of a task, newest first. Tool calls are skipped, because the
/// next agent would imitate calls of tools that it does not have.
pub fn of_ancestors(view: &View<'_>, task_number: i64, limit: u32) -> Result<Vec<Message>> {
    const OF_ANCESTORS: Statement<2> = sql!(
        "WITH RECURSIVE above (number) AS (
             SELECT parent_number FROM tasks WHERE number = $1 AND parent_number IS NOT NULL
             UNION ALL
             SELECT t.parent_number FROM above JOIN tasks t ON t.number = above.number WHERE t.parent_number IS NOT NULL
         ) ",
        SELECT,
        " WHERE m.chain_number = (SELECT master_number FROM tasks WHERE number = $1)
            AND m.task_number IN (SELECT number FROM above)
            AND (m.type = 'user_message' OR m.type = 'assistant_message' OR m.type = 'handoff')
          ORDER BY m.number DESC LIMIT $2"
    );
    view.rows(OF_ANCESTORS, params![task_number, limit], from_row)
}

/// Lists the newest messages of users and agents on a task and its ancestors, newest first, without those of the hand-off that is about to
/// start.
pub fn before_chat(
    view: &View<'_>,
    handoff_id: &HandoffId,
    task_number: i64,
    limit: u32,
) -> Result<Vec<Message>> {
    const BEFORE: Statement<3> = sql!(
        "WITH RECURSIVE line (number) AS (
             SELECT $1
             UNION ALL
             SELECT t.parent_number FROM line JOIN tasks t ON t.number = line.number WHERE t.parent_number IS NOT NULL
         ) ",
        SELECT,
        " WHERE m.chain_number = (SELECT coalesce(master_number, number) FROM tasks WHERE number = $1)
            AND m.task_number IN (SELECT number FROM line)
            AND m.handoff_number IS NOT (SELECT number FROM handoffs WHERE id = $2)
            AND (m.type = 'user_message' OR m.type = 'assistant_message' OR m.type = 'handoff')
          ORDER BY m.number DESC LIMIT $3"
    );
    view.rows(BEFORE, params![task_number, handoff_id, limit], from_row)
}
