//! Claiming requests, and renewing claims.

use crate::domain::{
    Actor, AgentName, Lease, Refusal, Request, RequestId, RequestMove, RequestState, Timestamp,
};
use crate::ledger::handoff::CallingRun;
use crate::ledger::rights;
use crate::store::tables::requests::{Claimant, StoredRequest};
use crate::store::{Result, Tx};

use super::find::load;
use super::transition::{check_step, save, transition};

/// A claim, which expires with its lease unless a heartbeat renews it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    pub id: RequestId,
    pub agent: AgentName,
    pub lease_millis: i64,
    pub by: Actor,
}

/// A renewal of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    pub id: RequestId,
    /// The fencing token of the claim, if the caller shows it.
    pub fencing: Option<u32>,
    pub lease_millis: i64,
    pub by: Actor,
}

/// Claims a request. Of concurrent claims, one wins. The claim of a run lasts until the hand-off of the run ends.
pub fn claim(tx: &mut Tx<'_>, claim: &ClaimRequest) -> Result<Request> {
    let mut stored = load(tx, &claim.id)?;
    let to = check_step(&stored.request, RequestMove::Claim)?;
    let until = add_millis(tx.now, claim.lease_millis);
    assign(&mut stored, claim.agent.clone(), until);
    if let Actor::Run(run) = &claim.by {
        stored.claimant = Some(Claimant {
            number: CallingRun::load(tx, run)?.number,
            handoff_id: run.handoff_id.clone(),
        });
    }
    transition(tx, &mut stored, to, &claim.by, None)?;
    Ok(stored.request)
}

pub fn heartbeat(tx: &Tx<'_>, beat: &Heartbeat) -> Result<Request> {
    let mut stored = load(tx, &beat.id)?;
    check_claim(&stored, beat.fencing, &beat.by)?;
    let Some(lease) = &mut stored.request.lease else {
        return Err(Refusal::WrongState {
            id: beat.id.clone(),
            state: stored.request.state,
            holder: None,
            step: RequestMove::Heartbeat,
        }
        .into());
    };
    lease.expires_at = lease.expires_at.max(add_millis(tx.now, beat.lease_millis));
    save(tx, &mut stored)?;
    Ok(stored.request)
}

/// Assigns a request to an agent, as its next attempt.
pub(super) fn assign(stored: &mut StoredRequest, agent: AgentName, until: Timestamp) {
    let request = &mut stored.request;
    request.attempts += 1;
    request.job_id = None;
    stored.is_job = false;
    request.lease = Some(Lease {
        agent,
        fencing: request.attempts,
        expires_at: until,
    });
}

pub(super) fn add_millis(now: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_add(millis))
}

/// Refuses a caller that does not hold the claim.
pub(super) fn check_claim(stored: &StoredRequest, fencing: Option<u32>, by: &Actor) -> Result<()> {
    let request = &stored.request;
    if let Some(shown) = fencing
        && request.state != RequestState::Done
        && (shown != request.attempts || request.state != RequestState::Claimed)
    {
        return Err(Refusal::StaleClaim {
            id: request.id.clone(),
            state: request.state,
            shown,
            fencing: request.attempts,
        }
        .into());
    }
    let claimant = stored.claimant.as_ref();
    let claimant = claimant.map(|claimant| &claimant.handoff_id);
    Ok(rights::may_speak_of_claim(by, request, claimant)?)
}
