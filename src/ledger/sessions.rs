//! The tables `sessions` and `session_handoffs`: conversations that move.

use crate::domain::{
    AgentName, ConversationHistory, HandoffId, Outcome, Refusal, Session, SessionHandoff,
    SessionId, Text, Timestamp,
};
use crate::store::{Item, Page, Result, Row, Statement, StoreError, Tx, View, params, sql};

/// Finds the session of a task.
pub(crate) fn number_of_task(tx: &Tx<'_>, task_number: i64) -> Result<Option<i64>> {
    tx.row(
        sql!("SELECT number FROM sessions WHERE task_number = $1"),
        params![task_number],
        |row| row.integer(0),
    )
}

/// Inserts a session's row and returns its number.
pub(crate) fn insert_session(
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
pub(crate) struct NewRow<'a> {
    pub session_number: i64,
    pub handoff_number: i64,
    pub from_agent: &'a AgentName,
    pub to_agent: &'a AgentName,
    pub harness_trace_id: Option<&'a Text>,
    pub history: &'a ConversationHistory,
}

/// Inserts what a session's hand-off has beside its own row.
pub(crate) fn insert(tx: &Tx<'_>, row: &NewRow<'_>) -> Result<()> {
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

/// Finds the hand-off of the agent that has the conversation of the session `s`, or had it last: the last one of the
/// session's task, or wherever tools have passed it since.
macro_rules! holder {
    () => {
        "(WITH RECURSIVE holders (number) AS (
              SELECT number FROM handoffs
               WHERE task_number = s.task_number
                 AND position = (SELECT max(position) FROM handoffs WHERE task_number = s.task_number)
              UNION ALL
              SELECT n.number FROM holders JOIN handoffs n ON n.from_number = holders.number AND n.mode = 'transfer'
          )
          SELECT max(number) FROM holders)"
    };
}

macro_rules! select_sessions {
    () => {
        "SELECT s.id, t.id, s.created_at, t.updated_at,
                (SELECT count(*) FROM session_handoffs m WHERE m.session_number = s.number),
                h.agent_name, CASE WHEN h.completed_at IS NULL THEN h.agent_name END
           FROM sessions s
           JOIN tasks t ON t.number = s.task_number
           JOIN handoffs h ON h.number = "
    };
}

fn session_from_row(row: &Row<'_>) -> Result<Session> {
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

pub(crate) fn find_one(view: &View<'_>, id: &SessionId) -> Result<Option<Session>> {
    const ONE: Statement<1> = sql!(select_sessions!(), holder!(), " WHERE s.id = $1");
    view.row(ONE, params![id.as_str()], session_from_row)
}

fn find_number(view: &View<'_>, id: &SessionId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM sessions WHERE id = $1"),
        params![id.as_str()],
        |row| row.integer(0),
    )
}

pub(crate) fn list(
    view: &View<'_>,
    after: Option<&SessionId>,
    limit: u32,
) -> Result<Page<Session>> {
    const PAGE: Statement<2> = sql!(
        select_sessions!(),
        holder!(),
        " WHERE s.number > $1 ORDER BY s.number LIMIT $2"
    );
    let after = match after {
        None => 0,
        Some(id) => find_number(view, id)?.ok_or_else(|| Refusal::SessionNotFound(id.clone()))?,
    };
    let sessions = view.rows(PAGE, params![after, limit + 1], session_from_row)?;
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

fn move_from_row(row: &Row<'_>) -> Result<SessionHandoff> {
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

/// How moves are put into pages.
const MOVES: Item<SessionHandoff> = Item {
    from_row: move_from_row,
    size: |moved| {
        let texts = [&moved.reason, &moved.user_intent, &moved.output];
        let texts: usize = texts.iter().map(|text| text.as_str().len()).sum();
        moved.conversation_history.as_json().len() + texts
    },
    name: |moved| moved.id.to_string(),
};

/// Lists the moves of a session.
pub(crate) fn moves(
    view: &View<'_>,
    id: &SessionId,
    after: Option<&HandoffId>,
    limit: u32,
) -> Result<Page<SessionHandoff>> {
    const PAGE: Statement<3> = sql!(
        select_moves!(),
        " WHERE m.session_number = $1 AND m.handoff_number > $2
          ORDER BY m.handoff_number LIMIT $3"
    );
    let Some(number) = find_number(view, id)? else {
        return Ok(Page {
            items: Vec::new(),
            next: None,
        });
    };
    let after = match after {
        None => 0,
        Some(handoff) => find_move(view, number, handoff)?
            .ok_or_else(|| Refusal::HandoffNotFound(handoff.clone()))?,
    };
    view.page(PAGE, params![number, after, limit + 1], limit, &MOVES)
}

/// Finds the number of a hand-off of a session.
fn find_move(view: &View<'_>, session_number: i64, id: &HandoffId) -> Result<Option<i64>> {
    view.row(sql!(
            "SELECT m.handoff_number FROM session_handoffs m JOIN handoffs h ON h.number = m.handoff_number
              WHERE m.session_number = $1 AND h.id = $2"
        ), params![session_number,
        id.as_str()], |row| row.integer(0))
}

/// Finds the last move of a session.
pub(crate) fn last_move(view: &View<'_>, id: &SessionId) -> Result<Option<SessionHandoff>> {
    const LAST: Statement<1> = sql!(
        select_moves!(),
        " WHERE m.session_number = (SELECT number FROM sessions WHERE id = $1)
          ORDER BY m.handoff_number DESC LIMIT 1"
    );
    view.row(LAST, params![id.as_str()], move_from_row)
}

/// Counts the moves of a session, from an agent and to one.
pub(crate) fn count(
    view: &View<'_>,
    id: &SessionId,
    from: Option<&AgentName>,
    to: Option<&AgentName>,
) -> Result<u64> {
    const COUNT: Statement<3> = sql!(
        "SELECT count(*) FROM session_handoffs
          WHERE session_number = (SELECT number FROM sessions WHERE id = $1)
            AND ($2 IS NULL OR from_agent = $2 COLLATE NOCASE)
            AND ($3 IS NULL OR to_agent = $3 COLLATE NOCASE)"
    );
    view.one(
        COUNT,
        params![
            id.as_str(),
            from.map(AgentName::as_str),
            to.map(AgentName::as_str)
        ],
        |row| row.get(0),
    )
}

/// Finds the conversation that a hand-off brought, or that a tool passed on to it.
pub(crate) fn history(view: &View<'_>, id: &HandoffId) -> Result<Option<ConversationHistory>> {
    view.row(sql!(
            "WITH RECURSIVE before (number, mode, from_number) AS (
                 SELECT number, mode, from_number FROM handoffs WHERE id = $1
                 UNION ALL
                 SELECT f.number, f.mode, f.from_number FROM before JOIN handoffs f ON f.number = before.from_number
                  WHERE before.mode = 'transfer'
             )
             SELECT m.history FROM before JOIN session_handoffs m ON m.handoff_number = before.number"
        ), params![id.as_str()], |row| ConversationHistory::from_json(row.string(0)?).map_err(StoreError::inconsistent))
}
