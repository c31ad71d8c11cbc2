//! Facts about the processes of a run.

use crate::domain::{EventKind, RunId};
use crate::ledger::history;
use crate::store::tables::runs;
use crate::store::{Result, Tx};

use super::find::{number, place};
use super::limits::{Launch, Limits};

/// Records that the supervisor of a run was started, so that no server starts the run again.
pub fn record_launch(tx: &Tx<'_>, id: &RunId, launch: &Launch) -> Result<()> {
    let number = number(tx, id)?;
    let Limits {
        max_seconds,
        idle_seconds,
    } = launch.limits;
    runs::update_launched(tx, number, max_seconds, idle_seconds)
}

/// Records that processes of a run survived its end by force.
pub fn record_left(tx: &mut Tx<'_>, id: &RunId, count: usize) -> Result<()> {
    let place = place(tx, number(tx, id)?)?;
    let left = EventKind::ProcessesLeft {
        run_id: id.clone(),
        count,
    };
    let handoff = Some((&place.handoff_id, place.handoff_number));
    history::record(tx, place.on(), handoff, left)
}
