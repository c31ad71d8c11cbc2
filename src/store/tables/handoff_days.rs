//! Sums over the tables `handoffs` and `runs` by day.

use std::time::Duration;

use crate::domain::{Day, DayFigures, DayQuery};
use crate::store::{FromRow, Result, Row, Statement, View, columns, params, sql, text};

columns! {
    struct DayRow {
        day: i64 = "h.started_at / 86400000 AS day",
        handoffs: u64 = "count(*)",
        completed: u64 = "sum(h.outcome IS 'completed')",
        failed: u64 = "sum(h.outcome IS 'failed' OR h.outcome IS 'timed_out' OR h.outcome IS 'interrupted')",
        cost_usd: Option<f64> = "sum((SELECT sum(r.cost_usd) FROM runs r WHERE r.handoff_number = h.number))",
        millis: u64 = "coalesce(sum(CASE WHEN h.is_invoked = 1 THEN max(h.completed_at - h.started_at, 0) END), 0)",
    }
}

/// The hand-offs to the agent `$3`, if it is not null, that started at or after `$1` and before `$2`.
const CHOSEN: &str = text!(
    "SELECT ",
    DayRow::COLUMNS,
    " FROM handoffs h
     WHERE h.started_at >= $1 AND h.started_at < $2 AND ($3 IS NULL OR h.agent_name = $3 COLLATE NOCASE)"
);

const BY_DAY: &str = " GROUP BY day ORDER BY day";

/// Sums hand-offs by day, oldest day first. Days without hand-offs are left out.
pub fn by_day(
    view: &View<'_>,
    query: &DayQuery,
    task_number: Option<i64>,
) -> Result<Vec<DayFigures>> {
    const ALL: Statement<3> = sql!(CHOSEN, BY_DAY);
    const OF_TASK: Statement<4> = sql!(
        CHOSEN,
        " AND h.task_number IN (WITH RECURSIVE below (number) AS (
                SELECT $4
                UNION ALL
                SELECT c.number FROM below JOIN tasks c ON c.parent_number = below.number
            ) SELECT number FROM below)",
        BY_DAY
    );
    let (from, to) = (query.from.start(), query.to.plus(1).start());
    match task_number {
        None => view.rows(ALL, params![from, to, query.agent], from_row),
        Some(number) => view.rows(OF_TASK, params![from, to, query.agent, number], from_row),
    }
}

fn from_row(row: &Row<'_>) -> Result<DayFigures> {
    let row = DayRow::from_row(row)?;
    Ok(DayFigures {
        day: Day::new(row.day).text(),
        handoffs: row.handoffs,
        completed: row.completed,
        failed: row.failed,
        cost_usd: row.cost_usd,
        seconds: Duration::from_millis(row.millis).as_secs_f64(),
    })
}
