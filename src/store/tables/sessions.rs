//! The tables `sessions` and `session_handoffs`: conversations that move between agents.

use crate::domain::{
    AgentName, ConversationHistory, HandoffId, Outcome, Page, Session, SessionHandoff, SessionId,
    TaskId, Text, Timestamp, TraceId,
};
use crate::store::{
    FromRow, Item, Result, Row, Statement, StoreError, Tx, View, columns, params, sql, text,
};

/// The number of the hand-off whose agent has the conversation of the session `s`, or had it last: the last hand-off of the
/// session's task, or the last one to which tools passed control from there.
const HOLDER: &str = "(WITH RECURSIVE holders (number) AS (
          SELECT number FROM handoffs
           WHERE task_number = s.task_number
             AND position = (SELECT max(position) FROM handoffs WHERE task_number = s.task_number)
          UNION ALL
          SELECT n.number FROM holders JOIN handoffs n ON n.from_number = holders.number AND n.mode = 'transfer'
      )
      SELECT max(number) FROM holders)";

columns! {
    struct SessionRow {
        id: SessionId = "s.id",
        task_id: TaskId = "t.id",
        created_at: Timestamp = "s.created_at",
        updated_at: Timestamp = "t.updated_at",
        handoffs: u64 = "(SELECT count(*) FROM session_handoffs m WHERE m.session_number = s.number)",
        agent_name: AgentName = "h.agent_name",
        current_agent: Option<AgentName> = "CASE WHEN h.completed_at IS NULL THEN h.agent_name END",
    }
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            id: row.id,
            task_id: row.task_id,
            created_at: row.created_at,
            updated_at: row.updated_at,
            handoffs: row.handoffs,
            agent_name: row.agent_name,
            current_agent: row.current_agent,
        }
    }
}

const SELECT: &str = text!(
    "SELECT ",
    SessionRow::COLUMNS,
    " FROM sessions s
      JOIN tasks t ON t.number = s.task_number
      JOIN handoffs h ON h.number = ",
    HOLDER
);

fn session(row: &Row<'_>) -> Result<Session> {
    Ok(SessionRow::from_row(row)?.into())
}

const SESSIONS: Item<Session> = Item {
    from_row: session,
    name: |session| session.id.to_string(),
};

pub fn find(view: &View<'_>, id: &SessionId) -> Result<Option<Session>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE s.id = $1");
    view.row(ONE, params![id], session)
}

pub fn find_number(view: &View<'_>, id: &SessionId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM sessions WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

pub fn find_task_id(view: &View<'_>, id: &SessionId) -> Result<Option<TaskId>> {
    view.row(
        sql!(
            "SELECT t.id FROM sessions s JOIN tasks t ON t.number = s.task_number WHERE s.id = $1"
        ),
        params![id],
        |row| row.get(0),
    )
}

pub fn find_number_of_task(view: &View<'_>, task_number: i64) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM sessions WHERE task_number = $1"),
        params![task_number],
        |row| row.get(0),
    )
}

pub fn page(
    view: &View<'_>,
    newest: bool,
    after: Option<i64>,
    limit: u32,
) -> Result<Page<Session>> {
    const OLDEST: Statement<2> = sql!(SELECT, " WHERE s.number > $1 ORDER BY s.number LIMIT $2");
    const NEWEST: Statement<2> = sql!(
        SELECT,
        " WHERE s.number < $1 ORDER BY s.number DESC LIMIT $2"
    );
    let (statement, start) = if newest {
        (NEWEST, i64::MAX)
    } else {
        (OLDEST, 0)
    };
    let after = after.unwrap_or(start);
    view.page(statement, params![after, limit + 1], limit, &SESSIONS)
}

/// Lists the session of a task, and the sessions on the task and below it.
pub fn page_of_task(
    view: &View<'_>,
    task_id: &TaskId,
    newest: bool,
    after: Option<i64>,
    limit: u32,
) -> Result<Page<Session>> {
    const OF_TASK: &str = text!(
        "WITH RECURSIVE below (number) AS (
             SELECT number FROM tasks WHERE id = $1
             UNION ALL
             SELECT c.number FROM below JOIN tasks c ON c.parent_number = below.number
         ) ",
        SELECT,
        " WHERE (s.id = (SELECT session_id FROM tasks WHERE id = $1) OR s.task_number IN (SELECT number FROM below))"
    );
    const OLDEST: Statement<3> = sql!(OF_TASK, " AND s.number > $2 ORDER BY s.number LIMIT $3");
    const NEWEST: Statement<3> = sql!(
        OF_TASK,
        " AND s.number < $2 ORDER BY s.number DESC LIMIT $3"
    );
    let (statement, start) = if newest {
        (NEWEST, i64::MAX)
    } else {
        (OLDEST, 0)
    };
    let after = after.unwrap_or(start);
    view.page(
        statement,
        params![task_id, after, limit + 1],
        limit,
        &SESSIONS,
    )
}

/// Inserts a session. Returns its number.
pub fn insert(tx: &Tx<'_>, id: &SessionId, task_number: i64, at: Timestamp) -> Result<i64> {
    tx.insert(
        sql!("INSERT INTO sessions (id, task_number, created_at) VALUES ($1, $2, $3)"),
        params![id, task_number, at],
    )
}

columns! {
    /// A session with the hand-off whose agent has its conversation, or had it last.
    pub struct SessionHolder {
        pub session_number: i64 = "s.number",
        /// The task of the session.
        pub task_id: TaskId = "t.id",
        pub handoff_number: i64 = "h.number",
        /// The task of the hand-off. It differs from the session's task if a tool passed control.
        pub handoff_task_id: TaskId = "o.id",
        pub waiter_number: Option<i64> = "h.waiter_number",
        pub is_open: bool = "h.completed_at IS NULL",
    }
}

pub fn find_holder(view: &View<'_>, id: &SessionId) -> Result<Option<SessionHolder>> {
    const BY_SESSION: Statement<1> = sql!(
        "SELECT ",
        SessionHolder::COLUMNS,
        " FROM sessions s
          JOIN tasks t ON t.number = s.task_number
          JOIN handoffs h ON h.number = ",
        HOLDER,
        " JOIN tasks o ON o.number = h.task_number
         WHERE s.id = $1"
    );
    view.row(BY_SESSION, params![id], SessionHolder::from_row)
}

columns! {
    struct SessionHandoffRow {
        id: HandoffId = "h.id",
        session_id: SessionId = "s.id",
        task_id: TaskId = "t.id",
        from_agent: AgentName = "m.from_agent",
        to_agent: AgentName = "m.to_agent",
        reason: Option<Text> = "h.reason",
        user_intent: Text = "h.prompt",
        history: String = "m.history",
        harness_trace_id: Option<Text> = "m.harness_trace_id",
        trace_id: Option<TraceId> = "h.trace_id",
        invoked: bool = "h.is_invoked",
        created_at: Timestamp = "h.started_at",
        completed_at: Option<Timestamp> = "h.completed_at",
        outcome: Option<Outcome> = "h.outcome",
        output: Text = "h.output",
    }
}

impl TryFrom<SessionHandoffRow> for SessionHandoff {
    type Error = StoreError;

    fn try_from(row: SessionHandoffRow) -> Result<Self> {
        Ok(Self {
            trace_id: row.trace_id.unwrap_or_else(|| (&row.id).into()),
            id: row.id,
            session_id: row.session_id,
            task_id: row.task_id,
            from_agent: row.from_agent,
            to_agent: row.to_agent,
            reason: row.reason.unwrap_or_default(),
            user_intent: row.user_intent,
            conversation_history: history(row.history)?,
            harness_trace_id: row.harness_trace_id,
            invoked: row.invoked,
            created_at: row.created_at,
            completed_at: row.completed_at,
            outcome: row.outcome,
            output: row.output,
        })
    }
}

fn history(json: String) -> Result<ConversationHistory> {
    ConversationHistory::from_json(json).map_err(StoreError::inconsistent)
}

const SELECT_HANDOFFS: &str = text!(
    "SELECT ",
    SessionHandoffRow::COLUMNS,
    " FROM session_handoffs m
      JOIN handoffs h ON h.number = m.handoff_number
      JOIN sessions s ON s.number = m.session_number
      JOIN tasks t ON t.number = s.task_number"
);

fn session_handoff(row: &Row<'_>) -> Result<SessionHandoff> {
    SessionHandoffRow::from_row(row)?.try_into()
}

/// The columns of a session's hand-off that the table `handoffs` does not have.
pub struct NewSessionHandoff<'a> {
    pub session_number: i64,
    pub handoff_number: i64,
    pub from_agent: &'a AgentName,
    pub to_agent: &'a AgentName,
    pub harness_trace_id: Option<&'a Text>,
    pub history: &'a ConversationHistory,
}

pub fn insert_handoff(tx: &Tx<'_>, row: &NewSessionHandoff<'_>) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO session_handoffs (session_number, handoff_number, from_agent, to_agent, harness_trace_id, history)
             VALUES ($1, $2, $3, $4, $5, $6)"
        ),
        params![
            row.session_number,
            row.handoff_number,
            row.from_agent,
            row.to_agent,
            row.harness_trace_id,
            row.history.as_json(),
        ],
    )?;
    Ok(())
}

pub fn page_of_handoffs(
    view: &View<'_>,
    session_number: i64,
    after: i64,
    limit: u32,
) -> Result<Page<SessionHandoff>> {
    const PAGE: Statement<3> = sql!(
        SELECT_HANDOFFS,
        " WHERE m.session_number = $1 AND m.handoff_number > $2
          ORDER BY m.handoff_number LIMIT $3"
    );
    const HANDOFFS: Item<SessionHandoff> = Item {
        from_row: session_handoff,
        name: |handoff| handoff.id.to_string(),
    };
    view.page(
        PAGE,
        params![session_number, after, limit + 1],
        limit,
        &HANDOFFS,
    )
}

pub fn find_handoff_number(
    view: &View<'_>,
    session_number: i64,
    id: &HandoffId,
) -> Result<Option<i64>> {
    view.row(
        sql!(
            "SELECT m.handoff_number FROM session_handoffs m JOIN handoffs h ON h.number = m.handoff_number
              WHERE m.session_number = $1 AND h.id = $2"
        ),
        params![session_number, id],
        |row| row.get(0),
    )
}

pub fn find_last_handoff(view: &View<'_>, id: &SessionId) -> Result<Option<SessionHandoff>> {
    const LAST: Statement<1> = sql!(
        SELECT_HANDOFFS,
        " WHERE m.session_number = (SELECT number FROM sessions WHERE id = $1)
          ORDER BY m.handoff_number DESC LIMIT 1"
    );
    view.row(LAST, params![id], session_handoff)
}

/// Counts the hand-offs of a session, optionally from one agent or to one agent.
pub fn count_handoffs(
    view: &View<'_>,
    id: &SessionId,
    from: Option<&AgentName>,
    to: Option<&AgentName>,
) -> Result<u64> {
    view.one(
        sql!(
            "SELECT count(*) FROM session_handoffs
              WHERE session_number = (SELECT number FROM sessions WHERE id = $1)
                AND ($2 IS NULL OR from_agent = $2 COLLATE NOCASE)
                AND ($3 IS NULL OR to_agent = $3 COLLATE NOCASE)"
        ),
        params![id, from, to],
        |row| row.get(0),
    )
}

/// Finds the conversation that a hand-off brought, or inherited through tools.
/// Finds the conversation that moved last to a task.
pub fn find_last_history(view: &View<'_>, task_number: i64) -> Result<Option<ConversationHistory>> {
    view.row(
        sql!(
            "SELECT m.history FROM handoffs h JOIN session_handoffs m ON m.handoff_number = h.number
              WHERE h.task_number = $1 ORDER BY h.position DESC LIMIT 1"
        ),
        params![task_number],
        |row| history(row.get(0)?),
    )
}

pub fn find_history(view: &View<'_>, id: &HandoffId) -> Result<Option<ConversationHistory>> {
    view.row(
        sql!(
            "WITH RECURSIVE before (number, mode, from_number) AS (
                 SELECT number, mode, from_number FROM handoffs WHERE id = $1
                 UNION ALL
                 SELECT f.number, f.mode, f.from_number FROM before JOIN handoffs f ON f.number = before.from_number
                  WHERE before.mode = 'transfer'
             )
             SELECT m.history FROM before JOIN session_handoffs m ON m.handoff_number = before.number"
        ),
        params![id],
        |row| history(row.get(0)?),
    )
}
