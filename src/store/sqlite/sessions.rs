//! The tables `sessions` and `session_handoffs`: conversations that move.

use futures_util::TryStreamExt;
use rusqlite::params;
use sqlx::SqlitePool;

use super::handoffs::{self, Begin, Begun, Caller, Closed, routed_to};
use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use super::tasks::{self, StoredTask};
use super::writer::Tx;
use super::{agents, lineage, messages};
use crate::domain::{
    AgentName, Context, ConversationHistory, HandoffId, Mode, Move, NewTask, Outcome, Refusal,
    Session, SessionHandoff, SessionId, Source, Text, Timestamp,
};
use crate::store::{MoveSession, Moved, Page, Result, StoreError};

/// How many bytes of histories one page of a session has, but for its first hand-off.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn move_to(tx: &mut Tx<'_>, to: &MoveSession) -> Result<Moved> {
    let asked = &to.asked;
    let caller = to
        .caller
        .as_ref()
        .map(|caller| Caller::load(tx, caller))
        .transpose()?;
    // They may have changed since the request was looked at.
    let target = agents::resolve(tx, asked.to_agent.as_str())?;
    let found = find(tx, &asked.session_id)?;
    let (from, task_number) = match (&found, &caller) {
        (Some(found), _) => (found.last_handoff, Some(found.on.number)),
        // A conversation that a run begins is a child of its task.
        (None, Some(caller)) => {
            let place = tasks::place(tx, &caller.identity.task_id)?;
            (Some(caller.number), Some(place.number))
        }
        (None, None) => (None, None),
    };
    if let (true, Some(task_number)) = (asked.invoke, task_number) {
        let step = lineage::Step {
            from_number: from,
            from_agent: Some(&asked.from_agent),
            to_agent: &target,
            task_number,
            makes_child: found.is_none(),
        };
        lineage::check(tx, &step, to.limits)?;
    }
    let (session_number, on) = match found {
        Some(found) => (found.number, found.on),
        None => create(tx, to, caller.as_ref())?,
    };
    let data = Move {
        from_agent: Some(asked.from_agent.clone()),
        to_agent: target.clone(),
        task_id: on.task.id.clone(),
        tool: None,
        variables: None,
        reason: Some(asked.reason.clone()),
    };
    messages::say(tx, &on, &messages::moved(routed_to(&target), data))?;
    let (on, left) = if on.task.open_handoff().is_some() {
        let (Closed { on, .. }, left) = handoffs::leave(tx, on, &target, caller.as_ref())?;
        (on, left)
    } else {
        (on, None)
    };
    let next = Begin {
        mode: Mode::Session,
        agent_name: target,
        from_agent: Some(asked.from_agent.clone()),
        from_number: from,
        waiter_number: caller.as_ref().and_then(|caller| match &left {
            Some(left) if left.by_itself => caller.waiter_number,
            _ => Some(caller.number),
        }),
        trace: handoffs::trace(to.trace.as_ref(), caller.as_ref().map(Caller::traced)),
        prompt: asked.user_intent.as_str(),
        reason: Some(&asked.reason),
        resumes: None,
        is_invoked: asked.invoke,
    };
    let Begun {
        mut on,
        handoff_number,
    } = handoffs::begin(tx, on, next)?;
    let row = NewRow {
        session_number,
        handoff_number,
        from_agent: &asked.from_agent,
        to_agent: &asked.to_agent,
        harness_trace_id: asked.harness_trace_id.as_ref(),
        history: &asked.conversation_history,
    };
    insert(tx, &row)?;
    if !asked.invoke {
        // Somebody else has invoked the agent; that it happened is all there is to record.
        on = handoffs::close(tx, on, Outcome::Completed, &Text::default())?.on;
    }
    Ok(Moved {
        task: on.task,
        left,
    })
}

/// A session that is there.
struct Found {
    number: i64,
    on: StoredTask,
    /// The number of the task's last hand-off.
    last_handoff: Option<i64>,
}

fn find(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Found>> {
    let found = tx.row(
        sql!(
            "SELECT s.number, t.id, (SELECT h.number FROM handoffs h WHERE h.task_number = t.number
                                      ORDER BY h.position DESC LIMIT 1)
               FROM sessions s JOIN tasks t ON t.number = s.task_number WHERE s.id = $1"
        ),
        params![id.as_str()],
        |row| Ok((row.integer(0)?, row.parsed(1)?, row.optional_integer(2)?)),
    )?;
    let Some((number, task_id, last_handoff)) = found else {
        return Ok(None);
    };
    Ok(Some(Found {
        number,
        on: tasks::load(tx, &task_id)?,
        last_handoff,
    }))
}

/// Makes a session and its task; one that a run makes is below the run's own.
fn create(
    tx: &mut Tx<'_>,
    to: &MoveSession,
    caller: Option<&Caller<'_>>,
) -> Result<(i64, StoredTask)> {
    let (id, agent_workspace) = to.new_task.clone();
    let session_id = Text::lossy(to.asked.session_id.to_string());
    let new = NewTask {
        id,
        description: to.asked.user_intent.clone(),
        parent_id: caller.map(|caller| caller.identity.task_id.clone()),
        session_id: Some(session_id.clone()),
        context: Context::default(),
        source: Source {
            source_type: "session".parse().expect("has no NUL"),
            conversation_id: Some(session_id),
            ..Source::default()
        },
        agent_workspace,
    };
    let on = tasks::create(tx, &new)?;
    let number = insert_session(tx, &to.asked.session_id, on.number, tx.now)?;
    Ok((number, on))
}

/// Finds the session of a task.
pub(super) fn number_of_task(tx: &Tx<'_>, task_number: i64) -> Result<Option<i64>> {
    tx.row(
        sql!("SELECT number FROM sessions WHERE task_number = $1"),
        params![task_number],
        |row| row.integer(0),
    )
}

/// Inserts a session's row and returns its number.
pub(super) fn insert_session(
    tx: &Tx<'_>,
    id: &SessionId,
    task_number: i64,
    at: Timestamp,
) -> Result<i64> {
    tx.insert(
        sql!("INSERT INTO sessions (id, task_number, created_at) VALUES ($1, $2, $3)"),
        params![id.as_str(), task_number, at.as_millis()],
    )
}

/// A row of `session_handoffs`.
pub(super) struct NewRow<'a> {
    pub session_number: i64,
    pub handoff_number: i64,
    pub from_agent: &'a AgentName,
    pub to_agent: &'a AgentName,
    pub harness_trace_id: Option<&'a Text>,
    pub history: &'a ConversationHistory,
}

/// Inserts what a session's hand-off has beside its own row.
pub(super) fn insert(tx: &Tx<'_>, row: &NewRow<'_>) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO session_handoffs (session_number, handoff_number, from_agent, to_agent, harness_trace_id, history)
             VALUES ($1, $2, $3, $4, $5, $6)"
        ),
        params![
            row.session_number,
            row.handoff_number,
            row.from_agent.as_str(),
            row.to_agent.as_str(),
            row.harness_trace_id.map(Text::as_str),
            row.history.as_json(),
        ],
    )?;
    Ok(())
}

macro_rules! select_sessions {
    () => {
        "SELECT s.id, t.id, s.created_at, t.updated_at,
                (SELECT count(*) FROM session_handoffs m WHERE m.session_number = s.number),
                (SELECT m.to_agent FROM session_handoffs m WHERE m.session_number = s.number
                  ORDER BY m.handoff_number DESC LIMIT 1),
                (SELECT h.agent_name FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
           FROM sessions s
           JOIN tasks t ON t.number = s.task_number"
    };
}

fn session_from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Session> {
    Ok(Session {
        id: row.parsed(0)?,
        task_id: row.parsed(1)?,
        created_at: row.timestamp(2)?,
        updated_at: row.timestamp(3)?,
        handoffs: u64::try_from(row.integer(4)?).map_err(StoreError::inconsistent)?,
        agent_name: row.parsed(5)?,
        current_agent: row.optional_parsed(6)?,
    })
}

pub(super) async fn find_one(readers: &SqlitePool, id: &SessionId) -> Result<Option<Session>> {
    const ONE: Statement = sql!(select_sessions!(), " WHERE s.id = $1");
    query!(ONE, id.as_str())
        .fetch_optional(readers)
        .await?
        .as_ref()
        .map(session_from_row)
        .transpose()
}

async fn find_number(readers: &SqlitePool, id: &SessionId) -> Result<Option<i64>> {
    query!(
        sql!("SELECT number FROM sessions WHERE id = $1"),
        id.as_str()
    )
    .fetch_optional(readers)
    .await?
    .map(|row| row.integer(0))
    .transpose()
}

pub(super) async fn list(
    readers: &SqlitePool,
    after: Option<&SessionId>,
    limit: u32,
) -> Result<Page<Session>> {
    const PAGE: Statement = sql!(
        select_sessions!(),
        " WHERE s.number > $1 ORDER BY s.number LIMIT $2"
    );
    let after = match after {
        None => 0,
        Some(id) => find_number(readers, id)
            .await?
            .ok_or_else(|| Refusal::SessionNotFound(id.clone()))?,
    };
    let rows = query!(PAGE, after, limit + 1).fetch_all(readers).await?;
    let sessions = row::all(&rows, session_from_row)?;
    Ok(Page::cut(sessions, limit, |session| session.id.to_string()))
}

macro_rules! select_moves {
    () => {
        "SELECT h.id, s.id, t.id, m.from_agent, m.to_agent, h.reason, h.prompt, m.history, m.harness_trace_id, h.trace_id,
                h.is_invoked, h.started_at, h.completed_at, h.outcome, h.output
           FROM session_handoffs m
           JOIN handoffs h ON h.number = m.handoff_number
           JOIN sessions s ON s.number = m.session_number
           JOIN tasks t ON t.number = s.task_number"
    };
}

fn move_from_row(row: &sqlx::sqlite::SqliteRow) -> Result<SessionHandoff> {
    let id: HandoffId = row.parsed(0)?;
    let trace_id = row.optional_parsed(9)?;
    Ok(SessionHandoff {
        trace_id: trace_id.unwrap_or_else(|| (&id).into()),
        id,
        session_id: row.parsed(1)?,
        task_id: row.parsed(2)?,
        from_agent: row.parsed(3)?,
        to_agent: row.parsed(4)?,
        reason: row.optional_text(5)?.unwrap_or_default(),
        user_intent: row.text(6)?,
        conversation_history: ConversationHistory::from_json(row.string(7)?)
            .map_err(StoreError::inconsistent)?,
        harness_trace_id: row.optional_text(8)?,
        invoked: row.integer(10)? != 0,
        created_at: row.timestamp(11)?,
        completed_at: row.optional_timestamp(12)?,
        outcome: row.optional_word(13, Outcome::parse)?,
        output: row.text(14)?,
    })
}

/// Lists the moves of a session. A page ends early when its histories are large.
pub(super) async fn moves(
    readers: &SqlitePool,
    id: &SessionId,
    after: Option<&HandoffId>,
    limit: u32,
) -> Result<Page<SessionHandoff>> {
    const PAGE: Statement = sql!(
        select_moves!(),
        " WHERE m.session_number = $1
            AND m.handoff_number > coalesce((SELECT number FROM handoffs WHERE id = $2), 0)
          ORDER BY m.handoff_number LIMIT $3"
    );
    let Some(number) = find_number(readers, id).await? else {
        return Ok(Page {
            items: Vec::new(),
            next: None,
        });
    };
    let query = query!(PAGE, number, after.map(HandoffId::as_str), limit + 1);
    let mut rows = query.fetch(readers);
    let (mut items, mut bytes) = (Vec::<SessionHandoff>::new(), 0);
    while let Some(row) = rows.try_next().await? {
        if items.len() == limit as usize || bytes > PAGE_BYTES {
            let next = items.last().map(|last| last.id.to_string());
            return Ok(Page { items, next });
        }
        let moved = move_from_row(&row)?;
        bytes += moved.conversation_history.as_json().len();
        items.push(moved);
    }
    Ok(Page { items, next: None })
}

/// Finds the last move of a session.
pub(super) async fn last_move(
    readers: &SqlitePool,
    id: &SessionId,
) -> Result<Option<SessionHandoff>> {
    const LAST: Statement = sql!(
        select_moves!(),
        " WHERE m.session_number = (SELECT number FROM sessions WHERE id = $1)
          ORDER BY m.handoff_number DESC LIMIT 1"
    );
    query!(LAST, id.as_str())
        .fetch_optional(readers)
        .await?
        .as_ref()
        .map(move_from_row)
        .transpose()
}

/// Counts the moves of a session, from an agent and to one.
pub(super) async fn count(
    readers: &SqlitePool,
    id: &SessionId,
    from: Option<&AgentName>,
    to: Option<&AgentName>,
) -> Result<u64> {
    const COUNT: Statement = sql!(
        "SELECT count(*) FROM session_handoffs
          WHERE session_number = (SELECT number FROM sessions WHERE id = $1)
            AND ($2 IS NULL OR from_agent = $2 COLLATE NOCASE)
            AND ($3 IS NULL OR to_agent = $3 COLLATE NOCASE)"
    );
    let row = query!(
        COUNT,
        id.as_str(),
        from.map(AgentName::as_str),
        to.map(AgentName::as_str)
    )
    .fetch_one(readers)
    .await?;
    u64::try_from(row.integer(0)?).map_err(StoreError::inconsistent)
}

/// Finds the conversation that a hand-off brought.
pub(super) async fn history(
    readers: &SqlitePool,
    id: &HandoffId,
) -> Result<Option<ConversationHistory>> {
    query!(
        sql!(
            "SELECT m.history FROM session_handoffs m JOIN handoffs h ON h.number = m.handoff_number WHERE h.id = $1"
        ),
        id.as_str()
    )
    .fetch_optional(readers)
    .await?
    .map(|row| ConversationHistory::from_json(row.string(0)?).map_err(StoreError::inconsistent))
    .transpose()
}
