//! What becomes of the work when a hand-off has ended, whichever door it came through.

use super::handoffs::Closed;
use super::tasks::StoredTask;
use super::{dispatches, route_ends};
use crate::domain::{Outcome, Text};
use crate::store::{Result, Tx};

/// Lets every door decide about what was its own, in the transaction that ended the hand-off.
pub(crate) fn handoff_ended(
    tx: &mut Tx<'_>,
    closed: Closed,
    outcome: Outcome,
    output: &Text,
) -> Result<StoredTask> {
    let handoff_number = closed.handoff_number;
    let on = dispatches::handoff_ended(tx, closed, outcome, output)?;
    route_ends::handoff_ended(tx, on, handoff_number, outcome, output)
}
