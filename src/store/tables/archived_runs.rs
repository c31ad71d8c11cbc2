//! The table `runs`, as archives have it.

use serde_json::{Map, Value};

use crate::domain::{
    ArchivedRun, HandoffId, Isolation, Outcome, ProviderSession, RunId, RunState, Text, Timestamp,
};
use crate::store::value::to_json;
use crate::store::{FromRow, Json, Result, Statement, Tx, View, columns, params, sql};

columns! {
    struct ArchivedRow {
        id: RunId = "r.id",
        handoff_id: HandoffId = "h.id",
        attempt: u32 = "r.attempt",
        state: RunState = "r.state",
        outcome: Option<Outcome> = "r.outcome",
        queued_at: Timestamp = "r.queued_at",
        started_at: Option<Timestamp> = "r.started_at",
        ended_at: Option<Timestamp> = "r.ended_at",
        priority: i64 = "r.priority",
        usage: Option<Json<Map<String, Value>>> = "r.usage",
        cost_usd: Option<f64> = "r.cost_usd",
        session_id: Option<String> = "r.session_id",
        resumes: Option<String> = "r.resumes",
        isolation: Option<Isolation> = "r.isolation",
        launched_at: Option<Timestamp> = "r.launched_at",
        max_seconds: Option<i64> = "r.max_seconds",
        idle_seconds: Option<i64> = "r.idle_seconds",
        unproven_starts: u32 = "r.unproven_starts",
        followed_bytes: i64 = "r.followed_bytes",
        followed_error_bytes: i64 = "r.followed_error_bytes",
        failing_since: Option<Timestamp> = "r.failing_since",
        last_error: Option<Text> = "r.last_error",
        denied_tools: Json<Vec<Text>> = "r.denied_tools",
    }
}

impl From<ArchivedRow> for ArchivedRun {
    fn from(row: ArchivedRow) -> Self {
        // Databases of early versions have ids that no run would resume.
        let session = |id: Option<String>| id.and_then(|id| ProviderSession::parse(id).ok());
        Self {
            id: row.id,
            handoff_id: row.handoff_id,
            attempt: row.attempt,
            state: row.state,
            outcome: row.outcome,
            queued_at: row.queued_at,
            started_at: row.started_at,
            ended_at: row.ended_at,
            priority: row.priority,
            usage: row.usage.map(|Json(usage)| usage),
            cost_usd: row.cost_usd,
            session_id: session(row.session_id),
            resumes: session(row.resumes),
            isolation: row.isolation,
            launched_at: row.launched_at,
            max_seconds: row.max_seconds,
            idle_seconds: row.idle_seconds,
            unproven_starts: row.unproven_starts,
            followed_bytes: row.followed_bytes,
            followed_error_bytes: row.followed_error_bytes,
            failing_since: row.failing_since,
            last_error: row.last_error,
            denied_tools: row.denied_tools.0,
        }
    }
}

/// Lists the runs of a task, in the order of its hand-offs.
pub fn of_task(view: &View<'_>, task_number: i64) -> Result<Vec<ArchivedRun>> {
    const OF_TASK: Statement<1> = sql!(
        "SELECT ",
        ArchivedRow::COLUMNS,
        " FROM handoffs h JOIN runs r ON r.handoff_number = h.number
         WHERE h.task_number = $1 ORDER BY h.position, r.attempt"
    );
    view.rows(OF_TASK, params![task_number], |row| {
        Ok(ArchivedRow::from_row(row)?.into())
    })
}

pub fn insert(tx: &Tx<'_>, handoff_number: i64, run: &ArchivedRun) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, outcome, queued_at, started_at, ended_at, priority, usage,
                               cost_usd, session_id, resumes, isolation, launched_at, max_seconds, idle_seconds,
                               unproven_starts, followed_bytes, followed_error_bytes, failing_since, last_error, denied_tools)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)"
        ),
        params![
            run.id,
            handoff_number,
            run.attempt,
            run.state,
            run.outcome,
            run.queued_at,
            run.started_at,
            run.ended_at,
            run.priority,
            run.usage.as_ref().map(to_json),
            run.cost_usd,
            run.session_id,
            run.resumes,
            run.isolation,
            run.launched_at,
            run.max_seconds,
            run.idle_seconds,
            run.unproven_starts,
            run.followed_bytes,
            run.followed_error_bytes,
            run.failing_since,
            run.last_error,
            to_json(&run.denied_tools),
        ],
    )?;
    Ok(())
}
