//! The requests whose hand-offs start external jobs.

use crate::domain::{Job, JobStart, Kind, RequestId, TaskId, Text};
use crate::store::{FromRow, Json, Result, Row, Statement, View, columns, params, sql, text};

columns! {
    struct JobRow {
        request_id: RequestId = "r.id",
        job_id: Text = "r.job_id",
        task_id: TaskId = "t.id",
        workspace: Text = "t.agent_workspace",
        kind: Kind = "r.kind",
        poll_command: Option<Json<Vec<Text>>> = "d.poll_command",
        poll_seconds: Option<u32> = "d.poll_seconds",
    }
}

const SELECT: &str = text!(
    "SELECT ",
    JobRow::COLUMNS,
    " FROM requests r
      JOIN handoffs h ON h.number = r.handoff_number AND h.completed_at IS NULL
      JOIN tasks t ON t.number = h.task_number
      LEFT JOIN dispatch_routes d ON d.kind = r.kind
     WHERE r.handoff_number IS NOT NULL AND r.job_id IS NOT NULL"
);

fn from_row(row: &Row<'_>) -> Result<Job> {
    let row = JobRow::from_row(row)?;
    Ok(Job {
        request_id: row.request_id,
        job_id: row.job_id,
        task_id: row.task_id,
        workspace: row.workspace,
        kind: row.kind,
        poll_command: row.poll_command.map(|Json(command)| command),
        poll_seconds: row.poll_seconds.unwrap_or_default(),
    })
}

/// Lists the open jobs.
pub fn list_jobs(view: &View<'_>) -> Result<Vec<Job>> {
    const ALL: Statement<0> = sql!(SELECT, " ORDER BY r.number");
    view.rows(ALL, params![], from_row)
}

/// Finds the open job of a request.
pub fn find_job(view: &View<'_>, id: &RequestId) -> Result<Option<Job>> {
    const ONE: Statement<1> = sql!(SELECT, " AND r.id = $1");
    view.row(ONE, params![id], from_row)
}

columns! {
    struct JobStartRow {
        request_id: RequestId = "r.id",
        command: Option<Json<Vec<Text>>> = "d.start_command",
        is_started: bool = "r.job_id IS NOT NULL",
    }
}

pub fn find_job_start(view: &View<'_>, handoff_number: i64) -> Result<Option<JobStart>> {
    const ONE: Statement<1> = sql!(
        "SELECT ",
        JobStartRow::COLUMNS,
        " FROM requests r LEFT JOIN dispatch_routes d ON d.kind = r.kind
         WHERE r.handoff_number = $1 AND r.is_job = 1"
    );
    view.row(ONE, params![handoff_number], |row| {
        let row = JobStartRow::from_row(row)?;
        Ok(JobStart {
            request_id: row.request_id,
            command: row.command.map(|Json(words)| words).unwrap_or_default(),
            is_started: row.is_started,
        })
    })
}
