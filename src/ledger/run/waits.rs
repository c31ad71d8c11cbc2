//! Agents that wait for others.

use crate::domain::{RunId, Timestamp};
use crate::store::tables::delegations;
use crate::store::{Result, View};

pub use crate::store::tables::delegations::WaitRow as Waiting;

/// Lists who waits for whom.
pub fn waits(view: &View<'_>) -> Result<Vec<Waiting>> {
    delegations::waits(view)
}

/// Lists which of the given runs were ended on request.
pub fn cancelled_of(view: &View<'_>, runs: &[RunId]) -> Result<Vec<RunId>> {
    delegations::cancelled_of(view, runs)
}

/// Returns how many milliseconds the agent of a run has waited for others, `None` if it still waits. Waits at the same time count once.
pub fn waited(view: &View<'_>, run_id: &RunId) -> Result<Option<i64>> {
    let waits = delegations::waits_of(view, run_id)?;
    let (mut total, mut counted) = (0, i64::MIN);
    for (from, to) in waits {
        let Some(to) = to.map(Timestamp::as_millis) else {
            return Ok(None);
        };
        let from = from.as_millis().max(counted);
        if to > from {
            total += to - from;
            counted = to;
        }
    }
    Ok(Some(total))
}
