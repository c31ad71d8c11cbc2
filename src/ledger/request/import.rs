//! Importing requests from an archive.

use crate::domain::{HandoffId, Request, TaskId};
use crate::store::tables::{request_recoveries, request_transitions, requests};
use crate::store::{Result, Tx};

/// An imported request, and the rows to link once they are imported too.
pub struct ImportedRequest {
    number: i64,
    task_id: Option<TaskId>,
    source_task_id: Option<TaskId>,
    handoff_id: Option<HandoffId>,
    is_job: bool,
}

/// Imports a request with its transitions and recoveries, not linked to other rows yet.
pub fn import(tx: &Tx<'_>, request: Request) -> Result<ImportedRequest> {
    // A job without an id was never started, and is not started here either.
    let is_job = request.job_id.is_some();
    // The dispatcher orders requests by approval time, which an archive may lack.
    let approved_at = request.approved_at.or_else(|| {
        let mut moves = request.transitions.iter();
        let approval = moves.rfind(|moved| moved.to.is_approval());
        approval.map(|moved| moved.at)
    });
    let number = requests::insert_archived(tx, &request, approved_at, is_job)?;
    for transition in &request.transitions {
        request_transitions::insert(tx, number, transition, transition.is_by_file())?;
    }
    for recovery in &request.recovery {
        request_recoveries::insert(tx, number, recovery)?;
    }
    Ok(ImportedRequest {
        number,
        task_id: request.task_id,
        source_task_id: request.source.task_id,
        handoff_id: request.handoff_id,
        is_job,
    })
}

impl ImportedRequest {
    /// Returns the hand-off whose job still runs elsewhere.
    pub fn job(&self) -> Option<&HandoffId> {
        self.handoff_id.as_ref().filter(|_| self.is_job)
    }

    /// Links the request to its tasks and its hand-off, which are imported by now.
    pub fn link(&self, tx: &Tx<'_>) -> Result<()> {
        requests::update_links(
            tx,
            self.number,
            self.task_id.as_ref(),
            self.source_task_id.as_ref(),
            self.handoff_id.as_ref(),
        )
    }
}
