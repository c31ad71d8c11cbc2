//! Approving requests, and taking approvals back.

use std::collections::HashSet;

use crate::domain::{Actor, Refusal, Request, RequestId, RequestMove, RequestState, Text};
use crate::ledger::rights;
use crate::store::tables::requests::StoredRequest;
use crate::store::{Result, StoreError, Tx, View};

use super::find::load;
use super::transition::{check_step, transition};

/// The most bytes of requests that are approved at once, because the answer contains all of them.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Approves requests for the dispatcher, all of them or none. Duplicate ids count once.
pub fn approve(tx: &mut Tx<'_>, ids: &[RequestId], by: &Actor) -> Result<Vec<Request>> {
    let mut approved = Vec::new();
    let mut refused = Vec::new();
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        match check_approval(tx, id, RequestMove::Approve, by) {
            Ok(found) => approved.push(found),
            Err(StoreError::Refused(refusal)) if ids.len() > 1 => refused.push(refusal),
            Err(error) => return Err(error),
        }
    }
    if !refused.is_empty() {
        return Err(Refusal::NotAll(refused).into());
    }
    let bodies = approved
        .iter()
        .map(|(stored, _)| stored.request.body.as_str().len());
    if bodies.sum::<usize>() > LARGEST_ANSWER {
        let limit = LARGEST_ANSWER;
        return Err(Refusal::TooMuchAtOnce { limit }.into());
    }
    approved
        .into_iter()
        .map(|(stored, to)| carry_out(tx, stored, to, by))
        .collect()
}

/// Approves a request for the next agent or person that claims it.
pub fn leave_to_next(tx: &mut Tx<'_>, id: &RequestId, by: &Actor) -> Result<Request> {
    let (stored, to) = check_approval(tx, id, RequestMove::Next, by)?;
    carry_out(tx, stored, to, by)
}

/// Takes the approval of a request back while nobody works on it; the operator decides again.
pub fn withdraw(
    tx: &mut Tx<'_>,
    id: &RequestId,
    by: &Actor,
    reason: Option<&Text>,
) -> Result<Request> {
    let (mut stored, to) = check_approval(tx, id, RequestMove::Withdraw, by)?;
    transition(tx, &mut stored, to, by, reason.cloned())?;
    Ok(stored.request)
}

fn check_approval(
    view: &View<'_>,
    id: &RequestId,
    step: RequestMove,
    by: &Actor,
) -> Result<(StoredRequest, RequestState)> {
    rights::may_approve(by)?;
    let stored = load(view, id)?;
    let to = check_step(&stored.request, step)?;
    Ok((stored, to))
}

fn carry_out(
    tx: &mut Tx<'_>,
    mut stored: StoredRequest,
    to: RequestState,
    by: &Actor,
) -> Result<Request> {
    stored.request.approved_at = Some(tx.now);
    transition(tx, &mut stored, to, by, None)?;
    Ok(stored.request)
}
