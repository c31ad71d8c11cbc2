//! Ending the work on a request: finishing or re-queueing it.

use serde::{Deserialize, Serialize};

use crate::domain::{Actor, Outcome, Request, RequestId, RequestMove, RequestState, RunId, Text};
use crate::ledger::{handoff, rights};
use crate::store::tables::{handoffs, request_tags, requests};
use crate::store::{Result, Tx, View};

use super::claim::check_claim;
use super::find::{get, load};
use super::recover::give_back;
use super::transition::{check_step, transition};

/// The end of a claim, or of a request that was never claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndClaim {
    pub id: RequestId,
    /// The response, or the reason for re-queueing.
    pub text: Text,
    /// The fencing token of the claim, if the caller shows it.
    pub fencing: Option<u32>,
    pub by: Actor,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedClaim {
    pub request: Request,
    /// The run that worked on the request and must be stopped.
    pub unwanted: Option<RunId>,
}

/// Finishes a request. The last request of a hand-off also ends the hand-off, unless its own run finishes the request.
pub fn finish(tx: &mut Tx<'_>, end: &EndClaim) -> Result<EndedClaim> {
    let mut stored = load(tx, &end.id)?;
    check_claim(&stored, end.fencing, &end.by)?;
    let to = check_step(&stored.request, RequestMove::Finish)?;
    if stored.request.state == RequestState::Needs {
        rights::may_approve(&end.by)?;
    }
    let handoff_number = stored.handoff_number;
    let by = acting_as(&stored.request, end);
    stored.request.response = Some(end.text.clone());
    transition(tx, &mut stored, to, &by, None)?;
    if handoff_number.is_none() && stored.request.withdrawn_at.is_some() {
        // The same tag may return as new work.
        request_tags::delete(tx, stored.number)?;
    }
    let unwanted = match handoff_number {
        Some(number)
            if !is_own_run(tx, &end.by, number)? && !requests::has_of_handoff(tx, number)? =>
        {
            handoff::end_by_number(tx, number, Outcome::Completed, &end.text)?
        }
        _ => None,
    };
    Ok(EndedClaim {
        request: get(tx, &end.id)?,
        unwanted,
    })
}

/// Re-queues a request for the operator to decide on. Its hand-off ends too, unless its own run re-queues the request.
pub fn requeue(tx: &mut Tx<'_>, end: &EndClaim) -> Result<EndedClaim> {
    let stored = load(tx, &end.id)?;
    check_claim(&stored, end.fencing, &end.by)?;
    let handoff_number = stored.handoff_number;
    let by = acting_as(&stored.request, end);
    give_back(tx, stored, &by, &end.text)?;
    let unwanted = match handoff_number {
        Some(number) if !is_own_run(tx, &end.by, number)? => {
            handoff::end_by_number(tx, number, Outcome::Cancelled, &end.text)?
        }
        _ => None,
    };
    Ok(EndedClaim {
        request: get(tx, &end.id)?,
        unwanted,
    })
}

/// Returns the actor that ends a claim. A person who shows the fencing token acts as the claiming agent.
fn acting_as(request: &Request, end: &EndClaim) -> Actor {
    match (&end.by, end.fencing, &request.lease) {
        (Actor::Person(_), Some(_), Some(lease)) => Actor::Agent(lease.agent.clone()),
        _ => end.by.clone(),
    }
}

fn is_own_run(view: &View<'_>, by: &Actor, handoff_number: i64) -> Result<bool> {
    match by {
        Actor::Run(run) => {
            Ok(handoffs::find_number(view, &run.handoff_id)? == Some(handoff_number))
        }
        _ => Ok(false),
    }
}
