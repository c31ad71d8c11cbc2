//! Hand-offs that only start an external job.

use crate::domain::{EventKind, JobStart, Text};
use crate::store::tables::requests;
use crate::store::{Result, Tx, View};

use super::transition::{record, save};

pub fn find_job_start(view: &View<'_>, handoff_number: i64) -> Result<Option<JobStart>> {
    requests::find_job_start(view, handoff_number)
}

/// Whether a hand-off only starts an external job, and has not started it yet.
pub fn starts_job(view: &View<'_>, handoff_number: i64) -> Result<bool> {
    let job = requests::find_job_start(view, handoff_number)?;
    Ok(job.is_some_and(|job| !job.is_started))
}

/// Records the id of the job that a hand-off has started.
pub fn record_job_start(tx: &mut Tx<'_>, handoff_number: i64, job_id: &Text) -> Result<()> {
    for mut stored in requests::of_handoff(tx, handoff_number)? {
        stored.request.job_id = Some(job_id.clone());
        save(tx, &mut stored)?;
        let started = EventKind::JobStarted {
            job_id: job_id.clone(),
        };
        record(tx, &stored, started)?;
    }
    Ok(())
}
