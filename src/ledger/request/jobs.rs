//! External jobs.

use crate::domain::{Job, Outcome, RequestId, Text};
use crate::ledger::handoff;
use crate::store::tables::requests;
use crate::store::{Result, Tx, View};

use super::find::load;

/// Lists the open jobs.
pub fn list_jobs(view: &View<'_>) -> Result<Vec<Job>> {
    requests::list_jobs(view)
}

/// Finds the open job of a request.
pub fn find_job(view: &View<'_>, id: &RequestId) -> Result<Option<Job>> {
    requests::find_job(view, id)
}

/// Ends the hand-off of a job. Returns whether it was open.
pub fn end_job(tx: &mut Tx<'_>, job: &Job, outcome: Outcome, output: &Text) -> Result<bool> {
    let stored = load(tx, &job.request_id)?;
    let is_same = stored.request.job_id.as_ref() == Some(&job.job_id);
    let Some(handoff_number) = stored.handoff_number.filter(|_| is_same) else {
        return Ok(false);
    };
    handoff::end_by_number(tx, handoff_number, outcome, output)?;
    Ok(true)
}
