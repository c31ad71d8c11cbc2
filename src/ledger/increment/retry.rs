//! Retrying a blocked increment.

use crate::domain::{IncrementId, Refusal, Stage, Status};
use crate::ledger::{reactions, task};
use crate::store::tables::task_stages;
use crate::store::{Result, Tx};

use super::find::find;
use super::round::open_round;

/// Continues a blocked increment: retries a blocked stage, or fixes and tests a failed one again, even beyond the limit of
/// rounds.
pub fn retry(tx: &mut Tx<'_>, id: &IncrementId) -> Result<()> {
    let stored = find(tx, id)?;
    let Some(stuck) = task_stages::find_stuck(tx, stored.number, stored.increment.round)? else {
        return Err(Refusal::IncrementNotBlocked {
            id: id.clone(),
            state: stored.increment.state,
        }
        .into());
    };
    let mut on = task::load(tx, &stuck.id)?;
    match (&on.task.status, stuck.stage) {
        (Status::Failed { .. }, stage @ (Stage::Test | Stage::Verify)) => {
            let next = open_round(tx, &on, stage, stored)?;
            reactions::begin_round(tx, &on, next)
        }
        _ => reactions::change_status(tx, &mut on, Status::Pending),
    }
}
