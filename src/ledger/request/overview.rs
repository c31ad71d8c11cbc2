//! The dispatcher's overview for people.

use crate::domain::{
    DispatchedRequest, HeldKind, HeldReason, Request, RequestState, WaitingRequest,
};
use crate::store::tables::requests::{self, HeldRow};
use crate::store::{Result, View};

/// Limit for each list of requests that are not claimed.
const MOST: u32 = 100;

/// Limit for claimed requests.
const MOST_CLAIMED: u32 = 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Earliest claim first.
    pub running: Vec<DispatchedRequest>,
    /// In dispatch order.
    pub waiting: Vec<WaitingRequest>,
    pub held: Vec<HeldKind>,
    pub stuck: Vec<WaitingRequest>,
    /// Requests that wait for the operator's decision, without the stuck ones.
    pub undecided: Vec<WaitingRequest>,
    /// Requests that wait for anyone's claim.
    pub next: Vec<WaitingRequest>,
}

/// Lists the requests that are not done.
pub fn overview(view: &View<'_>) -> Result<Overview> {
    let waiting = |request: Request| WaitingRequest {
        since: request.approved_at.unwrap_or(request.updated_at),
        id: request.id,
        title: request.title,
        kind: request.kind,
        priority: request.priority,
        attempts: request.attempts,
        last_failure: request
            .recovery
            .into_iter()
            .next_back()
            .map(|last| last.reason),
    };
    let held = |row: HeldRow| HeldKind {
        kind: row.kind,
        count: row.count,
        reason: HeldReason::decide(row.agent.zip(row.mode), row.available),
    };
    Ok(Overview {
        running: requests::list_claimed(view, MOST_CLAIMED)?,
        waiting: requests::next(view, MOST)?
            .into_iter()
            .map(waiting)
            .collect(),
        held: requests::list_held(view)?.into_iter().map(held).collect(),
        stuck: requests::list_unclaimed(view, RequestState::Needs, true, MOST)?,
        undecided: requests::list_unclaimed(view, RequestState::Needs, false, MOST)?,
        next: requests::list_unclaimed(view, RequestState::Next, false, MOST)?,
    })
}
