//! The columns of the board: pages of task numbers from an index, then the cards.
//!
//! # How it works
//! A filter looks at the tasks of a column in their order, and at no more than [`SCAN`] of them: it then stops at a position from which
//! the next page continues. So a page costs the same whatever the size of the table.

use super::tasks;
use crate::domain::{
    AgentName, BoardFilter, BoardPlace, Card, IncrementId, Role, Stage, StatusName, TaskId,
    TaskPriority, Text, Timestamp,
};
use crate::store::{FromRow, Result, Row, Statement, View, columns, params, sql, text};

/// The most tasks of a column that a filter looks at for one page.
const SCAN: i64 = 10_000;

/// The tasks of the column `$1` beyond the position `$2`, `$3`.
const COLUMN: &str = text!(
    " FROM tasks t INDEXED BY tasks_on_board
     WHERE t.status = $1 AND t.is_delegated = 0 AND (t.updated_at, t.number) < ($2, $3)"
);

const ORDER: &str = " ORDER BY t.updated_at DESC, t.number DESC LIMIT ";

fn place(row: &Row<'_>) -> Result<BoardPlace> {
    Ok(BoardPlace {
        updated_at: row.get(0)?,
        number: row.get(1)?,
    })
}

/// Lists positions in a column after a position.
pub fn places(
    view: &View<'_>,
    status: StatusName,
    after: BoardPlace,
    limit: u32,
) -> Result<Vec<BoardPlace>> {
    const PLACES: Statement<4> = sql!("SELECT t.updated_at, t.number", COLUMN, ORDER, "$4");
    let arguments = params![status, after.updated_at, after.number, limit];
    view.rows(PLACES, arguments, place)
}

/// Counts the tasks of a column, up to a limit.
pub fn count(view: &View<'_>, status: StatusName, limit: u32) -> Result<u64> {
    const COUNT: Statement<4> = sql!("SELECT count(*) FROM (SELECT 1", COLUMN, " LIMIT $4)");
    let BoardPlace { updated_at, number } = BoardPlace::START;
    view.one(COUNT, params![status, updated_at, number, limit], |row| {
        row.get(0)
    })
}

/// Returns the position at which a filter stops, or `None` if it reaches the end of the column.
pub fn end_of_scan(
    view: &View<'_>,
    status: StatusName,
    after: BoardPlace,
) -> Result<Option<BoardPlace>> {
    const END: Statement<4> = sql!(
        "SELECT t.updated_at, t.number",
        COLUMN,
        ORDER,
        "1 OFFSET $4"
    );
    view.row(
        END,
        params![status, after.updated_at, after.number, SCAN],
        place,
    )
}

/// Lists positions between two positions of a column whose tasks match a filter.
pub fn matching_places(
    view: &View<'_>,
    status: StatusName,
    filter: &BoardFilter,
    after: BoardPlace,
    end: Option<BoardPlace>,
    limit: u32,
) -> Result<Vec<BoardPlace>> {
    const MATCHING: Statement<11> = sql!(
        "SELECT t.updated_at, t.number",
        COLUMN,
        " AND (t.updated_at, t.number) > ($4, $5)
          AND ($6 IS NULL OR instr(lower(t.description), lower($6)) > 0)
          AND ($7 IS NULL
               OR EXISTS (SELECT 1 FROM handoffs h
                           WHERE h.task_number = t.number AND h.agent_name = $7 COLLATE NOCASE)
               OR EXISTS (SELECT 1 FROM tasks c CROSS JOIN handoffs h ON h.task_number = c.number
                           WHERE c.parent_number = t.number AND c.is_delegated = 1 AND h.agent_name = $7 COLLATE NOCASE))
          AND ($8 IS NULL OR t.agent_role = $8)
          AND ($9 IS NULL OR t.session_id = $9)
          AND ($10 IS NULL OR t.increment_number = (SELECT i.number FROM increments i WHERE i.id = $10))",
        ORDER,
        "$11"
    );
    let end = end.unwrap_or(BoardPlace {
        updated_at: i64::MIN,
        number: i64::MIN,
    });
    let arguments = params![
        status,
        after.updated_at,
        after.number,
        end.updated_at,
        end.number,
        filter.text,
        filter.agent,
        filter.role,
        filter.session_id,
        filter.increment_id,
        limit
    ];
    view.rows(MATCHING, arguments, place)
}

columns! {
    struct CardRow {
        id: TaskId = "t.id",
        description: Text = "substr(t.description, 1, $2)",
        status: StatusName = "t.status",
        failure_message: Option<Text> = "t.failure_message",
        created_at: Timestamp = "t.created_at",
        updated_at: Timestamp = "t.updated_at",
        current_agent: Option<AgentName> =
            "(SELECT h.agent_name FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)",
        chain_length: Option<u64> = "(SELECT max(h.position) FROM handoffs h WHERE h.task_number = t.number)",
        children: u64 = "(SELECT count(*) FROM (SELECT 1 FROM tasks c WHERE c.parent_number = t.number LIMIT 1000))",
        // The last line is near the end of a message.
        last_message: Option<String> =
            "(SELECT substr(m.content, -2000) FROM messages m
               WHERE m.number = (SELECT max((SELECT max(l.number) FROM messages l
                                              WHERE l.task_number = b.number AND l.type = 'assistant_message'))
                                   FROM below b))",
        cost_usd: Option<f64> =
            "(SELECT sum(r.cost_usd) FROM below b
                CROSS JOIN handoffs h ON h.task_number = b.number
                CROSS JOIN runs r ON r.handoff_number = h.number AND r.state = 'ended' AND r.started_at IS NOT NULL)",
        agent_role: Option<Role> = "t.agent_role",
        priority: TaskPriority = "t.priority",
        blocked: bool = "t.is_blocked",
        waiting_reason: Option<Text> = "t.waiting_reason",
        session_id: Option<Text> = "t.session_id",
        increment_id: Option<IncrementId> = "(SELECT i.id FROM increments i WHERE i.number = t.increment_number)",
        stage: Option<Stage> = "t.stage",
        queued: u64 = "(SELECT count(*) FROM queue_messages q WHERE q.task_number = t.number AND q.delivered_at IS NULL)",
    }
}

/// Reads the card of a task.
pub fn card(view: &View<'_>, number: i64) -> Result<Card> {
    const CARD: Statement<2> = sql!(
        "WITH RECURSIVE below (number) AS (
             SELECT $1
             UNION ALL
             SELECT c.number FROM below CROSS JOIN tasks c ON c.parent_number = below.number
         )
         SELECT ",
        CardRow::COLUMNS,
        " FROM tasks t WHERE t.number = $1"
    );
    view.one(CARD, params![number, Card::DESCRIPTION], |row| {
        let row = CardRow::from_row(row)?;
        Ok(Card {
            id: row.id,
            description: row.description,
            status: tasks::status(row.status, row.failure_message)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
            current_agent: row.current_agent,
            chain_length: row.chain_length.unwrap_or_default(),
            children: row.children,
            last_line: row.last_message.as_deref().and_then(Card::last_line),
            cost_usd: row.cost_usd,
            agent_role: row.agent_role,
            priority: row.priority,
            blocked: row.blocked,
            waiting_reason: row.waiting_reason,
            session_id: row.session_id,
            increment_id: row.increment_id,
            stage: row.stage,
            queued: row.queued,
        })
    })
}
