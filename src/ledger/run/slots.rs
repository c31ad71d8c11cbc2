//! Slots: the limit on agents that work at the same time.

use crate::domain::{Door, Slots};
use crate::store::tables::runs;
use crate::store::{Result, View};

/// Counts the free slots, and the queued runs of one door.
pub fn free_slots(view: &View<'_>, max_runs: u32, mode: Door) -> Result<Slots> {
    Ok(Slots {
        free: max_runs.saturating_sub(runs::count_taken(view)?),
        queued: runs::count_queued(view, mode)?,
    })
}
