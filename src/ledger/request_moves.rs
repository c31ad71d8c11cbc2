//! Moving requests through their states.

use std::collections::HashSet;

use super::requests::{self, StoredRequest};
use super::routes;
use crate::domain::{
    Actor, AfterFailure, AgentName, Lease, Outcome, Recovery, Refusal, Request, RequestId,
    RequestMove, RequestState, RunId, Text, Timestamp,
};
use crate::ledger::handoff;
use crate::store::tables::handoffs;
use crate::store::{
    ClaimRequest, EndClaim, EndedClaim, Heartbeat, Result, StoreError, Tx, params, sql,
};

/// How many bytes of what went wrong are kept with a request; its hand-off has all of it.
const LONGEST_REASON: usize = 8 * 1024;

/// How many bytes of requests are approved at once: they are all in the answer.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// How many leases that ran out are looked at in one transaction.
const AT_ONCE: u32 = 100;

/// Approves requests for the dispatcher: all of them or none. One that is named twice is approved once.
pub(crate) fn approve(tx: &mut Tx<'_>, ids: &[RequestId], by: &Actor) -> Result<Vec<Request>> {
    let mut approved = Vec::new();
    let mut problems = Vec::new();
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        match check_approval(tx, id, RequestMove::Approve, by) {
            Ok(found) => approved.push(found),
            Err(StoreError::Refused(refusal)) if ids.len() > 1 => {
                problems.push(refusal.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    if !problems.is_empty() {
        return Err(Refusal::NotAll(problems).into());
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
        .map(|(stored, to)| carry_out_approval(tx, stored, to, by))
        .collect()
}

/// Leaves a request to whoever starts next on it.
pub(crate) fn leave_to_next(tx: &mut Tx<'_>, id: &RequestId, by: &Actor) -> Result<Request> {
    let (stored, to) = check_approval(tx, id, RequestMove::Next, by)?;
    carry_out_approval(tx, stored, to, by)
}

fn check_approval(
    tx: &Tx<'_>,
    id: &RequestId,
    step: RequestMove,
    by: &Actor,
) -> Result<(StoredRequest, RequestState)> {
    if !by.may_approve() {
        return Err(Refusal::OperatorOnly.into());
    }
    let stored = requests::load(tx, id)?;
    let to = stored.after(step)?;
    Ok((stored, to))
}

fn carry_out_approval(
    tx: &mut Tx<'_>,
    mut stored: StoredRequest,
    to: RequestState,
    by: &Actor,
) -> Result<Request> {
    stored.request.approved_at = Some(tx.now);
    stored.move_to(tx, to, by, None)?;
    Ok(stored.request)
}

/// Claims a request: of any number at once, one wins.
pub(crate) fn claim(tx: &mut Tx<'_>, claim: &ClaimRequest) -> Result<Request> {
    let mut stored = requests::load(tx, &claim.id)?;
    let to = stored.after(RequestMove::Claim)?;
    take(tx, &mut stored, claim.agent.clone(), claim.lease_millis);
    stored.move_to(tx, to, &claim.by, None)?;
    Ok(stored.request)
}

/// Gives a request to an agent, as its next attempt.
pub(crate) fn take(tx: &Tx<'_>, stored: &mut StoredRequest, agent: AgentName, lease_millis: i64) {
    let request = &mut stored.request;
    request.attempts += 1;
    request.job_id = None;
    stored.is_job = false;
    request.lease = Some(Lease {
        agent,
        fencing: request.attempts,
        expires_at: later(tx.now, lease_millis),
    });
}

fn later(now: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_add(millis))
}

/// Checks that whoever speaks of a claim has it.
fn check_claim(stored: &StoredRequest, fencing: Option<u32>, by: &Actor) -> Result<()> {
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
    let holder = request.lease.as_ref().map(|lease| &lease.agent);
    let handoff = request.handoff_id.as_ref();
    if let Actor::Run(run) = by
        && request.state == RequestState::Claimed
        && !by.may_end_claim(holder, handoff)
    {
        return Err(Refusal::NotItsClaim {
            id: request.id.clone(),
            agent: run.agent_name.clone(),
        }
        .into());
    }
    Ok(())
}

/// Extends a claim.
pub(crate) fn heartbeat(tx: &Tx<'_>, beat: &Heartbeat) -> Result<Request> {
    let mut stored = requests::load(tx, &beat.id)?;
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
    lease.expires_at = lease.expires_at.max(later(tx.now, beat.lease_millis));
    stored.save(tx)?;
    Ok(stored.request)
}

/// Answers a request.
pub(crate) fn finish(tx: &mut Tx<'_>, end: &EndClaim) -> Result<EndedClaim> {
    let mut stored = requests::load(tx, &end.id)?;
    check_claim(&stored, end.fencing, &end.by)?;
    let to = stored.after(RequestMove::Finish)?;
    if stored.request.state == RequestState::Needs && !end.by.may_approve() {
        return Err(Refusal::OperatorOnly.into());
    }
    let handoff_number = stored.handoff_number;
    let by = speaker(&stored, end);
    stored.request.response = Some(end.text.clone());
    stored.move_to(tx, to, &by, None)?;
    let unwanted = match handoff_number {
        Some(number) if !is_own(&end.by, tx, number)? && has_no_request(tx, number)? => {
            handoff::end_by_number(tx, number, Outcome::Completed, &end.text)?
        }
        _ => None,
    };
    Ok(EndedClaim {
        request: requests::load(tx, &end.id)?.request,
        unwanted,
    })
}

/// Gives a request up; a person looks again.
pub(crate) fn requeue(tx: &mut Tx<'_>, end: &EndClaim) -> Result<EndedClaim> {
    let mut stored = requests::load(tx, &end.id)?;
    check_claim(&stored, end.fencing, &end.by)?;
    let to = stored.after(RequestMove::Requeue)?;
    let handoff_number = stored.handoff_number;
    let recovery = Recovery {
        date: tx.now,
        reason: end.text.clone(),
        earlier_run: last_run(tx, handoff_number)?,
        action: Text::lossy("Re-queued for a person to look at".to_owned()),
    };
    let by = speaker(&stored, end);
    requests::insert_recovery(tx, stored.number, &recovery)?;
    stored.move_to(tx, to, &by, Some(end.text.clone()))?;
    let unwanted = match handoff_number {
        Some(number) if !is_own(&end.by, tx, number)? => {
            handoff::end_by_number(tx, number, Outcome::Cancelled, &end.text)?
        }
        _ => None,
    };
    Ok(EndedClaim {
        request: requests::load(tx, &end.id)?.request,
        unwanted,
    })
}

/// Returns who ends a claim. Who shows its number, and nothing else of themselves, is the one who made it.
fn speaker(stored: &StoredRequest, end: &EndClaim) -> Actor {
    match (&end.by, end.fencing, &stored.request.lease) {
        (Actor::Person(_), Some(_), Some(lease)) => Actor::Agent(lease.agent.clone()),
        _ => end.by.clone(),
    }
}

/// Tells whether whoever asks is the run of a hand-off.
fn is_own(by: &Actor, tx: &Tx<'_>, handoff_number: i64) -> Result<bool> {
    match by {
        Actor::Run(run) => Ok(handoffs::find_number(tx, &run.handoff_id)? == Some(handoff_number)),
        _ => Ok(false),
    }
}

fn has_no_request(tx: &Tx<'_>, handoff_number: i64) -> Result<bool> {
    let found = tx.row(
        sql!("SELECT 1 FROM requests WHERE handoff_number = $1"),
        params![handoff_number],
        |_| Ok(()),
    )?;
    Ok(found.is_none())
}

/// Finds the last run of a hand-off.
pub(crate) fn last_run(tx: &Tx<'_>, handoff_number: Option<i64>) -> Result<Option<RunId>> {
    tx.row(
        sql!("SELECT id FROM runs WHERE handoff_number = $1 ORDER BY attempt DESC LIMIT 1"),
        params![handoff_number],
        |row| row.parsed(0),
    )
}

/// Puts a request whose claim came to nothing back into a line: the dispatcher's, or a person's.
pub(crate) fn recover(
    tx: &mut Tx<'_>,
    mut stored: StoredRequest,
    reason: &Text,
    outcome: Option<Outcome>,
) -> Result<()> {
    let reason = reason.beginning(LONGEST_REASON);
    let route = routes::load(tx, &stored.request.kind)?;
    let mut after = AfterFailure::decide(route.as_ref(), stored.request.attempts, outcome);
    if stored.request.withdrawn_at.is_some() {
        after = AfterFailure {
            step: RequestMove::Requeue,
            stuck: false,
        };
    }
    let to = stored.after(after.step)?;
    let attempts = stored.request.attempts;
    let action = match after {
        AfterFailure { stuck: true, .. } => {
            format!("Stopped after attempt {attempts}: it is stuck until a person looks at it")
        }
        AfterFailure {
            step: RequestMove::Retry,
            ..
        } => format!("Re-queued for attempt {}", attempts + 1),
        AfterFailure { .. } => "Re-queued for a person to look at".to_owned(),
    };
    let recovery = Recovery {
        date: tx.now,
        reason: reason.clone(),
        earlier_run: last_run(tx, stored.handoff_number)?,
        action: Text::lossy(action),
    };
    requests::insert_recovery(tx, stored.number, &recovery)?;
    stored.request.stuck = after.stuck;
    stored.move_to(tx, to, &Actor::Dispatcher, Some(reason))
}

/// Takes requests back from those who have not said for too long that they work on them. Returns how many.
pub(crate) fn expire(tx: &mut Tx<'_>) -> Result<u32> {
    let ids: Vec<RequestId> = tx.rows(
        sql!(
            "SELECT id FROM requests
              WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= $1 AND handoff_number IS NULL
              ORDER BY lease_expires_at LIMIT $2"
        ),
        params![tx.now.as_millis(), AT_ONCE],
        |row| row.parsed(0),
    )?;
    for id in &ids {
        let stored = requests::load(tx, id)?;
        let holder = stored.request.lease.as_ref();
        let holder = holder.map_or_else(String::new, |lease| format!(" of {}", lease.agent));
        recover(
            tx,
            stored,
            &Text::lossy(format!("The lease{holder} ran out without a heartbeat")),
            None,
        )?;
    }
    Ok(u32::try_from(ids.len()).unwrap_or(u32::MAX))
}

/// Extends the leases of agents that the server itself runs. Returns how many there are.
pub(crate) fn renew(tx: &Tx<'_>, lease_millis: i64) -> Result<usize> {
    tx.execute(
        sql!("UPDATE requests SET lease_expires_at = $1 WHERE handoff_number IS NOT NULL"),
        params![later(tx.now, lease_millis).as_millis()],
    )
}
