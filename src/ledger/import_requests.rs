//! Takes in requests that were exported.

use super::requests;
use crate::domain::{Effort, HandoffId, Request, RequestState, TaskId, Text, Timestamp};
use crate::store::{Result, Tx, params, sql};

/// What a request refers to, and is told once that is there.
pub(crate) struct Links {
    number: i64,
    task_id: Option<TaskId>,
    source_task_id: Option<TaskId>,
    handoff_id: Option<HandoffId>,
    is_job: bool,
}

/// Inserts a request with its transitions and recoveries, without what it refers to.
pub(crate) fn insert(tx: &Tx<'_>, request: Request) -> Result<Links> {
    let lease = request.lease.as_ref();
    // A job that has no id yet is only about to be started, and that goes no further here.
    let is_job = request.job_id.is_some();
    // The dispatcher starts what was approved at some time; an archive need not say when.
    let approved_at = request.approved_at.or_else(|| {
        let is_approval = |state| matches!(state, RequestState::Delegated | RequestState::Next);
        let approval = request
            .transitions
            .iter()
            .rfind(|moved| is_approval(moved.to));
        approval.map(|moved| moved.at)
    });
    let number = tx.insert(
        sql!(
            "INSERT INTO requests (id, kind, state, priority, effort, created_at, updated_at, approved_at, attempts, is_stuck,
                                   withdrawn_at, lease_agent, lease_expires_at, source_type, source_file, source_line,
                                   source_user_id, is_job, job_id, agent_workspace, title, body, response)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                     $23)"
        ),
        params![
            request.id.as_str(),
            request.kind.as_str(),
            request.state.as_str(),
            request.priority.number(),
            request.effort.map(Effort::as_str),
            request.created_at.as_millis(),
            request.updated_at.as_millis(),
            approved_at.map(Timestamp::as_millis),
            request.attempts,
            request.stuck,
            request.withdrawn_at.map(Timestamp::as_millis),
            lease.map(|lease| lease.agent.as_str()),
            lease.map(|lease| lease.expires_at.as_millis()),
            request.source.source_type.as_str(),
            request.source.file.as_ref().map(Text::as_str),
            request.source.line,
            request.source.user_id.as_ref().map(Text::as_str),
            is_job,
            request.job_id.as_ref().map(Text::as_str),
            request.agent_workspace.as_ref().map(Text::as_str),
            request.title.as_str(),
            request.body.as_str(),
            request.response.as_ref().map(Text::as_str),
        ],
    )?;
    for transition in &request.transitions {
        requests::insert_transition(tx, number, transition, transition.is_by_file())?;
    }
    for recovery in &request.recovery {
        requests::insert_recovery(tx, number, recovery)?;
    }
    Ok(Links {
        number,
        task_id: request.task_id,
        source_task_id: request.source.task_id,
        handoff_id: request.handoff_id,
        is_job,
    })
}

impl Links {
    /// Returns the hand-off whose job goes on elsewhere.
    pub fn job(&self) -> Option<&HandoffId> {
        self.handoff_id.as_ref().filter(|_| self.is_job)
    }

    /// Lets the request refer to what is there. Only an open hand-off works on it.
    pub fn set(&self, tx: &Tx<'_>) -> Result<()> {
        tx.execute(
            sql!(
                "UPDATE requests SET task_number = (SELECT number FROM tasks WHERE id = $1),
                                     source_task_number = (SELECT number FROM tasks WHERE id = $2),
                                     handoff_number = (SELECT number FROM handoffs WHERE id = $3 AND completed_at IS NULL)
                  WHERE number = $4"
            ),
            params![
                self.task_id.as_ref().map(TaskId::as_str),
                self.source_task_id.as_ref().map(TaskId::as_str),
                self.handoff_id.as_ref().map(HandoffId::as_str),
                self.number,
            ],
        )?;
        Ok(())
    }
}
