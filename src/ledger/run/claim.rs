//! Claiming the next run.

use crate::domain::{EventKind, RunId};
use crate::ledger::history;
use crate::store::tables::runs;
use crate::store::{Result, Tx};

use super::find::{ClaimedRun, load, place};

/// A claim of the next run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRun {
    /// How many runs may occupy a slot.
    pub max_runs: u32,
    /// The data directory of the server that claims.
    pub data_dir: String,
    /// The runs whose processes may live.
    pub live: Vec<RunId>,
    /// The hash of the token that the run's process will show.
    pub token_hash: [u8; 32],
}

/// Claims the queued run that is to start next, if a slot is free.
pub fn claim(tx: &mut Tx<'_>, claim: &ClaimRun) -> Result<Option<ClaimedRun>> {
    if runs::count_occupied(tx, &claim.live)? >= u64::from(claim.max_runs) {
        return Ok(None);
    }
    let Some(number) = runs::find_next(tx, &claim.live)? else {
        return Ok(None);
    };
    runs::update_started(tx, number, &claim.data_dir, &claim.token_hash)?;
    let claimed = load(tx, number)?;
    let place = place(tx, number)?;
    let started = EventKind::RunStarted {
        agent_name: claimed.identity.agent_name.clone(),
    };
    let handoff = Some((&place.handoff_id, place.handoff_number));
    history::record(tx, place.on(), handoff, started)?;
    Ok(Some(claimed))
}

/// Puts a run back in line that was claimed and never started.
pub fn return_run(tx: &Tx<'_>, id: &RunId) -> Result<()> {
    runs::update_queued(tx, id)
}
