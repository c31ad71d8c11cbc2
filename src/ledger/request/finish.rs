//! Ending the work on a request: answering it, or giving it up.

use serde::{Deserialize, Serialize};

use crate::domain::{
    Actor, AfterFailure, Outcome, Recovery, Request, RequestId, RequestMove, RequestState, RunId,
    Text,
};
use crate::ledger::{handoff, rights};
use crate::store::tables::{handoffs, request_recoveries, requests};
use crate::store::{Result, Tx, View};
use crate::words;

use super::claim::check_claim;
use super::find::{get, load};
use super::recover::find_last_run;
use super::transition::{check_step, transition};

/// An end of a claim, or of a request that nobody needed to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndClaim {
    pub id: RequestId,
    /// The response, or the reason to give it up.
    pub text: Text,
    /// The number of the claim, if the caller shows it.
    pub fencing: Option<u32>,
    pub by: Actor,
}

/// A request whose claim has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedClaim {
    pub request: Request,
    /// The run that worked on it, and is to be stopped.
    pub unwanted: Option<RunId>,
}

/// Answers a request. If that was the last request of a hand-off, the hand-off ends too, unless its own run answers.
pub fn finish(tx: &mut Tx<'_>, end: &EndClaim) -> Result<EndedClaim> {
    let mut stored = load(tx, &end.id)?;
    check_claim(&stored.request, end.fencing, &end.by)?;
    let to = check_step(&stored.request, RequestMove::Finish)?;
    if stored.request.state == RequestState::Needs {
        rights::may_approve(&end.by)?;
    }
    let handoff_number = stored.handoff_number;
    let by = speaker(&stored.request, end);
    stored.request.response = Some(end.text.clone());
    transition(tx, &mut stored, to, &by, None)?;
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

/// Gives a request up, for a person to look at. Its hand-off ends too, unless its own run gives it up.
pub fn requeue(tx: &mut Tx<'_>, end: &EndClaim) -> Result<EndedClaim> {
    let mut stored = load(tx, &end.id)?;
    check_claim(&stored.request, end.fencing, &end.by)?;
    let to = check_step(&stored.request, RequestMove::Requeue)?;
    let handoff_number = stored.handoff_number;
    let recovery = Recovery {
        date: tx.now,
        reason: end.text.clone(),
        earlier_run: find_last_run(tx, &stored.request)?,
        action: words::recovery_action(AfterFailure::LEFT_TO_PERSON, stored.request.attempts),
    };
    let by = speaker(&stored.request, end);
    request_recoveries::insert(tx, stored.number, &recovery)?;
    transition(tx, &mut stored, to, &by, Some(end.text.clone()))?;
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

/// Returns the actor that ends a claim. A person that shows the number of the claim is the agent that made it.
fn speaker(request: &Request, end: &EndClaim) -> Actor {
    match (&end.by, end.fencing, &request.lease) {
        (Actor::Person(_), Some(_), Some(lease)) => Actor::Agent(lease.agent.clone()),
        _ => end.by.clone(),
    }
}

/// Tells whether an actor is the run of a hand-off.
fn is_own_run(view: &View<'_>, by: &Actor, handoff_number: i64) -> Result<bool> {
    match by {
        Actor::Run(run) => {
            Ok(handoffs::find_number(view, &run.handoff_id)? == Some(handoff_number))
        }
        _ => Ok(false),
    }
}
