//! Counts of the work that the next server starts by itself.

use crate::store::tables::{requests, runs};
use crate::store::{Result, View};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The queued runs.
    pub runs: u64,
    /// The approved requests.
    pub requests: u64,
    /// The external jobs that are polled.
    pub jobs: u64,
}

pub fn waiting(view: &View<'_>) -> Result<Waiting> {
    Ok(Waiting {
        runs: runs::count_all_queued(view)?,
        requests: requests::count_delegated(view)?,
        jobs: requests::list_jobs(view)?.len() as u64,
    })
}
