//! Recovering a request whose claim has failed.

use crate::domain::{Actor, AfterFailure, Outcome, Recovery, RequestMove, RunId, Text};
use crate::store::tables::requests::StoredRequest;
use crate::store::tables::{dispatch_routes, request_recoveries, runs};
use crate::store::{Result, Tx, View};
use crate::words;

use super::transition::{check_step, transition};

/// The most bytes of a failure that a request keeps; its hand-off keeps all of it.
const LONGEST_REASON: usize = 8 * 1024;

/// Re-queues a request whose claim has failed, for the dispatcher or for the operator.
pub(super) fn recover(
    tx: &mut Tx<'_>,
    mut stored: StoredRequest,
    reason: &Text,
    outcome: Option<Outcome>,
) -> Result<()> {
    let reason = reason.beginning(LONGEST_REASON);
    let request = &stored.request;
    let rule = dispatch_routes::find(tx, &request.kind)?;
    let is_withdrawn = request.withdrawn_at.is_some();
    let after = AfterFailure::decide(rule.as_ref(), request.attempts, is_withdrawn, outcome);
    let to = check_step(request, after.step)?;
    let recovery = Recovery {
        date: tx.now,
        reason: reason.clone(),
        earlier_run: find_last_run(tx, &stored)?,
        action: words::recovery_action(after, request.attempts),
    };
    request_recoveries::insert(tx, stored.number, &recovery)?;
    stored.request.stuck = after.stuck;
    transition(tx, &mut stored, to, &Actor::Dispatcher, Some(reason))
}

/// Re-queues a claimed request for the operator to decide on.
pub(super) fn give_back(
    tx: &mut Tx<'_>,
    mut stored: StoredRequest,
    by: &Actor,
    reason: &Text,
) -> Result<()> {
    let to = check_step(&stored.request, RequestMove::Requeue)?;
    let recovery = Recovery {
        date: tx.now,
        reason: reason.clone(),
        earlier_run: find_last_run(tx, &stored)?,
        action: words::recovery_action(AfterFailure::LEFT_TO_OPERATOR, stored.request.attempts),
    };
    request_recoveries::insert(tx, stored.number, &recovery)?;
    transition(tx, &mut stored, to, by, Some(reason.clone()))
}

/// Finds the last run of the hand-off that works on a request, or whose agent claimed it.
pub(super) fn find_last_run(view: &View<'_>, stored: &StoredRequest) -> Result<Option<RunId>> {
    let claimant = stored.claimant.as_ref();
    let claimant = claimant.map(|claimant| &claimant.handoff_id);
    match stored.request.handoff_id.as_ref().or(claimant) {
        Some(id) => runs::find_last(view, id),
        None => Ok(None),
    }
}
