//! Writing requests.

use super::find::StoredRequest;
use crate::domain::{HandoffId, NewRequest, Request, TaskId, Timestamp};
use crate::store::{Result, Tx, params, sql};

/// Inserts a request in the state `needs`. Returns its number.
pub fn insert(tx: &Tx<'_>, new: &NewRequest, source_task_number: Option<i64>) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO requests (id, kind, state, priority, effort, created_at, updated_at, source_type,
                                   source_task_number, source_file, source_line, source_user_id, agent_workspace, title,
                                   body)
             VALUES ($1, $2, 'needs', $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        ),
        params![
            new.id,
            new.kind,
            new.priority,
            new.effort,
            tx.now,
            new.source.source_type,
            source_task_number,
            new.source.file,
            new.source.line,
            new.source.user_id,
            new.agent_workspace,
            new.title,
            new.body,
        ],
    )
}

/// Saves everything of a request that can change.
pub fn update(tx: &Tx<'_>, stored: &StoredRequest) -> Result<()> {
    let request = &stored.request;
    let lease = request.lease.as_ref();
    tx.execute(
        sql!(
            "UPDATE requests SET state = $1, updated_at = $2, approved_at = $3, attempts = $4, is_stuck = $5,
                                 withdrawn_at = $6, lease_agent = $7, lease_expires_at = $8, source_file = $9,
                                 source_line = $10, task_number = $11, handoff_number = $12, is_job = $13, job_id = $14,
                                 title = $15, body = $16, response = $17, priority = $18, effort = $19,
                                 agent_workspace = $20, claimant_number = $21
              WHERE number = $22"
        ),
        params![
            request.state,
            request.updated_at,
            request.approved_at,
            request.attempts,
            request.stuck,
            request.withdrawn_at,
            lease.map(|lease| &lease.agent),
            lease.map(|lease| lease.expires_at),
            request.source.file,
            request.source.line,
            stored.task_number,
            stored.handoff_number,
            stored.is_job,
            request.job_id,
            request.title,
            request.body,
            request.response,
            request.priority,
            request.effort,
            request.agent_workspace,
            stored.claimant.as_ref().map(|claimant| claimant.number),
            stored.number,
        ],
    )?;
    Ok(())
}

/// Moves the requests of a hand-off to another one. They are no longer jobs.
pub fn move_to_handoff(tx: &Tx<'_>, from_number: i64, to_number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE requests SET handoff_number = $1, is_job = 0, job_id = NULL WHERE handoff_number = $2"
        ),
        params![to_number, from_number],
    )?;
    Ok(())
}

/// Inserts a request from an archive, not linked to other rows yet. Returns its number.
pub fn insert_archived(
    tx: &Tx<'_>,
    request: &Request,
    approved_at: Option<Timestamp>,
    is_job: bool,
) -> Result<i64> {
    let lease = request.lease.as_ref();
    tx.insert(
        sql!(
            "INSERT INTO requests (id, kind, state, priority, effort, created_at, updated_at, approved_at, attempts, is_stuck,
                                   withdrawn_at, lease_agent, lease_expires_at, source_type, source_file, source_line,
                                   source_user_id, is_job, job_id, agent_workspace, title, body, response)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                     $23)"
        ),
        params![
            request.id,
            request.kind,
            request.state,
            request.priority,
            request.effort,
            request.created_at,
            request.updated_at,
            approved_at,
            request.attempts,
            request.stuck,
            request.withdrawn_at,
            lease.map(|lease| &lease.agent),
            lease.map(|lease| lease.expires_at),
            request.source.source_type,
            request.source.file,
            request.source.line,
            request.source.user_id,
            is_job,
            request.job_id,
            request.agent_workspace,
            request.title,
            request.body,
            request.response,
        ],
    )
}

/// Links a request to its tasks, and to its hand-off if that is open.
pub fn update_links(
    tx: &Tx<'_>,
    number: i64,
    task_id: Option<&TaskId>,
    source_task_id: Option<&TaskId>,
    handoff_id: Option<&HandoffId>,
) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE requests SET task_number = (SELECT number FROM tasks WHERE id = $1),
                                 source_task_number = (SELECT number FROM tasks WHERE id = $2),
                                 handoff_number = (SELECT number FROM handoffs WHERE id = $3 AND completed_at IS NULL)
              WHERE number = $4"
        ),
        params![task_id, source_task_id, handoff_id, number],
    )?;
    Ok(())
}
