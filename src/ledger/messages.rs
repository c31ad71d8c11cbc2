//! The table `messages`: what was said, in one order over all tasks of a chain.

use crate::domain::{EventKind, HandoffId, Message, MessageType, Mode, Move, NewMessage, TaskId};
use crate::ledger::handoff::Caller;
use crate::ledger::{history, task};
use crate::store::tables::handoffs;
use crate::store::tables::tasks::{self, StoredTask, TaskRef};
use crate::store::{
    AddMessage, Item, MessageQuery, Page, Result, Row, Statement, StoreError, Tx, View, params, sql,
};

/// How many bytes of a message its event shows.
pub(crate) const SHOWN_IN_EVENTS: usize = 2000;

/// Records something that was said, and its event.
pub(crate) fn record(
    tx: &mut Tx<'_>,
    on: TaskRef<'_>,
    handoff: Option<(&HandoffId, i64)>,
    message: &NewMessage,
) -> Result<i64> {
    let number = tx.insert(
        sql!(
            "INSERT INTO messages (task_number, chain_number, handoff_number, occurred_at, type, data, content)
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        ),
        params![
            on.number,
            on.root_number,
            handoff.map(|(_, number)| number),
            tx.now.as_millis(),
            message.message_type.as_str(),
            message.data.as_ref().map(data_json),
            message.content.as_str()
        ],
    )?;
    let added = EventKind::MessageAdded {
        message_type: message.message_type,
        content: message.content.beginning(SHOWN_IN_EVENTS),
    };
    history::record(tx, on, handoff, added)?;
    Ok(number)
}

fn data_json(data: &Move) -> String {
    serde_json::to_string(data).expect("a move is JSON")
}

/// Records something that was said on a task, by its current agent if there is one.
pub(crate) fn say(tx: &mut Tx<'_>, on: &StoredTask, message: &NewMessage) -> Result<i64> {
    let open = match on.task.open_handoff() {
        None => None,
        Some(open) => handoffs::find_number(tx, &open.id)?.map(|number| (&open.id, number)),
    };
    record(tx, on.on(), open, message)
}

/// Records that a hand-off's prompt was said. The prompt itself and the event are the hand-off's.
pub(crate) fn insert_prompt(tx: &Tx<'_>, on: TaskRef<'_>, handoff_number: i64) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO messages (task_number, chain_number, handoff_number, occurred_at, type, is_prompt, content)
             VALUES ($1, $2, $3, $4, 'user_message', 1, '')"
        ),
        params![
            on.number,
            on.root_number,
            handoff_number,
            tx.now.as_millis()
        ],
    )?;
    Ok(())
}

/// Inserts a message that was exported, behind all that were there before the import.
pub(crate) fn insert(
    tx: &Tx<'_>,
    before: i64,
    task_number: i64,
    handoff_number: Option<i64>,
    message: &Message,
) -> Result<()> {
    let is_prompt = handoff_number.is_some()
        && message.message_type == MessageType::UserMessage
        && message.content.as_str().is_empty();
    tx.insert(
        sql!(
            "INSERT INTO messages (number, task_number, chain_number, handoff_number, occurred_at, type, is_prompt, data,
                                   content)
             SELECT $1, $2, coalesce(master_number, number), $3, $4, $5, $6, $7, $8 FROM tasks WHERE number = $2"
        ),
        params![
            before.saturating_add(message.number),
            task_number,
            handoff_number,
            message.timestamp.as_millis(),
            message.message_type.as_str(),
            is_prompt,
            message.data.as_ref().map(data_json),
            message.content.as_str()
        ],
    )?;
    Ok(())
}

/// Finds the number of the newest message, 0 if there is none.
pub(crate) fn last_number(tx: &Tx<'_>) -> Result<i64> {
    let last = tx.row(sql!("SELECT max(number) FROM messages"), params![], |row| {
        row.optional_integer(0)
    })?;
    Ok(last.flatten().unwrap_or_default())
}

/// Adds a line from outside. What a run says belongs to its hand-off; what others say, but for the user, to the open one.
pub(crate) fn add(tx: &mut Tx<'_>, add: &AddMessage) -> Result<Message> {
    let message = NewMessage {
        message_type: add.message_type,
        content: add.content.clone(),
        data: None,
    };
    let on = task::load(tx, &add.task_id)?;
    let by = match &add.caller {
        // It may also speak on a task below its own, which is another agent's.
        Some(caller) if caller.task_id == add.task_id => {
            let caller = Caller::load(tx, caller)?;
            Some((&caller.identity.handoff_id, caller.number))
        }
        None if add.message_type != MessageType::UserMessage => {
            let open = on.task.open_handoff();
            open.and_then(|open| {
                Some((
                    &open.id,
                    handoffs::find_number(tx, &open.id).transpose()?.ok()?,
                ))
            })
        }
        _ => None,
    };
    let number = record(tx, on.on(), by, &message)?;
    tasks::touch(tx, on.number)?;
    tx.row(ONE, params![number], |row| from_row(row))?
        .ok_or_else(|| StoreError::inconsistent("a message is gone"))
}

macro_rules! select_messages {
    ($prompt:literal) => {
        concat!(
            "SELECT m.number, m.occurred_at, t.id, h.id, h.agent_name, h.from_agent, h.mode, m.type, m.is_prompt,
                    CASE m.is_prompt WHEN 0 THEN m.content ELSE ", $prompt, " END, m.data
               FROM messages m
               JOIN tasks t ON t.number = m.task_number
               LEFT JOIN handoffs h ON h.number = m.handoff_number"
        )
    };
}

const ONE: Statement<1> = sql!(select_messages!("h.prompt"), " WHERE m.number = $1");

fn from_row(row: &Row<'_>) -> Result<Message> {
    let data: Option<Move> = row.optional_json(10)?;
    let agent_name = match (row.integer(8)?, &data) {
        (0, Some(data)) => data.from_agent.clone(),
        (0, None) => row.optional_parsed(4)?,
        // A prompt is said by the agent that asks; a session's is what the user wants.
        _ if row.word(6, Mode::parse)? == Mode::Delegate => row.optional_parsed(5)?,
        _ => None,
    };
    Ok(Message {
        number: row.integer(0)?,
        timestamp: row.timestamp(1)?,
        task_id: row.parsed(2)?,
        handoff_id: row.optional_parsed(3)?,
        agent_name,
        message_type: row.word(7, MessageType::parse)?,
        content: row.text(9)?,
        data,
    })
}

/// How messages are put into pages.
const MESSAGES: Item<Message> = Item {
    from_row: |row| from_row(row),
    size: |message| message.content.as_str().len(),
    name: |message| message.number.to_string(),
};

/// Lists what was said on one task.
pub(crate) fn of_task(
    view: &View<'_>,
    id: &TaskId,
    asked: MessageQuery,
) -> Result<Option<Page<Message>>> {
    const OF_TASK: Statement<4> = sql!(
        select_messages!("h.prompt"),
        " WHERE m.chain_number = $1 AND m.task_number = $2 AND m.number > $3 ORDER BY m.number LIMIT $4"
    );
    let Some(place) = tasks::find_keys(view, id)? else {
        return Ok(None);
    };
    let MessageQuery { after, limit } = asked;
    let more = limit + 1;
    let behind = params![place.root_number, place.number, after, more];
    view.page(OF_TASK, behind, limit, &MESSAGES).map(Some)
}

/// Lists what was said on all tasks of a chain.
pub(crate) fn of_chain(
    view: &View<'_>,
    id: &TaskId,
    asked: MessageQuery,
) -> Result<Option<Page<Message>>> {
    const OF_CHAIN: Statement<3> = sql!(
        select_messages!("h.prompt"),
        " WHERE m.chain_number = $1 AND m.number > $2 ORDER BY m.number LIMIT $3"
    );
    let Some(place) = tasks::find_keys(view, id)? else {
        return Ok(None);
    };
    let MessageQuery { after, limit } = asked;
    let more = limit + 1;
    let behind = params![place.root_number, after, more];
    view.page(OF_CHAIN, behind, limit, &MESSAGES).map(Some)
}

/// Lists what was said on one task, as it is exported: a prompt is not written twice.
pub(crate) fn to_export(view: &View<'_>, task_number: i64) -> Result<Vec<Message>> {
    const OF_TASK: Statement<1> = sql!(
        select_messages!("''"),
        " WHERE m.chain_number = (SELECT coalesce(master_number, number) FROM tasks WHERE number = $1)
            AND m.task_number = $1
          ORDER BY m.number"
    );
    view.rows(OF_TASK, params![task_number], from_row)
}

/// Lists the last of what users and agents said before on the tasks that led to one, the newest first. Tools are not
/// part of it: the next agent would call those of the other.
pub(crate) fn before(view: &View<'_>, task_number: i64, limit: u32) -> Result<Vec<Message>> {
    const BEFORE: Statement<2> = sql!(
        "WITH RECURSIVE above (number) AS (
             SELECT parent_number FROM tasks WHERE number = $1 AND parent_number IS NOT NULL
             UNION ALL
             SELECT t.parent_number FROM above JOIN tasks t ON t.number = above.number WHERE t.parent_number IS NOT NULL
         ) ",
        select_messages!("h.prompt"),
        " WHERE m.chain_number = (SELECT master_number FROM tasks WHERE number = $1)
            AND m.task_number IN (SELECT number FROM above)
            AND (m.type = 'user_message' OR m.type = 'assistant_message' OR m.type = 'handoff')
          ORDER BY m.number DESC LIMIT $2"
    );
    view.rows(BEFORE, params![task_number, limit], from_row)
}
