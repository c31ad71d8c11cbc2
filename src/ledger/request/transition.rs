//! Moving a request to another state, and recording the move.

use crate::domain::{
    Actor, EventKind, Refusal, Request, RequestMove, RequestState, Text, Transition,
};
use crate::ledger::{history, task};
use crate::store::tables::requests::{self, StoredRequest};
use crate::store::tables::{handoffs, request_transitions};
use crate::store::{Result, Tx};

/// Returns the state after a step, or refuses the step.
pub(super) fn check_step(request: &Request, step: RequestMove) -> Result<RequestState> {
    if request.withdrawn_at.is_some() && !request.state.allows_untagged(step) {
        return Err(Refusal::Withdrawn(request.id.clone()).into());
    }
    request.state.transition(step).ok_or_else(|| {
        Refusal::WrongState {
            id: request.id.clone(),
            state: request.state,
            holder: request.lease.as_ref().map(|lease| lease.agent.clone()),
            step,
        }
        .into()
    })
}

/// Moves a request to a state, saves its changes, and records the transition. The caller has checked the step with
/// [`check_step`].
pub(super) fn transition(
    tx: &mut Tx<'_>,
    stored: &mut StoredRequest,
    to: RequestState,
    by: &Actor,
    reason: Option<Text>,
) -> Result<()> {
    let request = &mut stored.request;
    let from = request.state;
    if to != RequestState::Claimed {
        request.lease = None;
        request.handoff_id = None;
        stored.handoff_number = None;
        stored.claimant = None;
    }
    if to != RequestState::Done {
        request.response = None;
    }
    if to != RequestState::Needs {
        request.stuck = false;
    }
    request.state = to;
    save(tx, stored)?;
    let moved = Transition {
        from: Some(from),
        to,
        by: Text::lossy(by.name().to_owned()),
        at: tx.now,
        reason,
    };
    request_transitions::insert(tx, stored.number, &moved, *by == Actor::File)?;
    stored.request.transitions.push(moved.clone());
    record(tx, stored, EventKind::RequestMoved(moved))
}

/// Saves everything of a request that can change.
pub(super) fn save(tx: &Tx<'_>, stored: &mut StoredRequest) -> Result<()> {
    stored.request.updated_at = tx.now;
    requests::update(tx, stored)
}

/// Records an event of a request, also in the history of its task.
pub(super) fn record(tx: &mut Tx<'_>, stored: &StoredRequest, kind: EventKind) -> Result<()> {
    let task_id = stored.request.task_id.as_ref();
    let keys = task_id.map(|id| task::keys(tx, id)).transpose()?;
    // A tool may have passed control to another task, which has its own history.
    let task_number = keys.as_ref().map(|keys| keys.number);
    let handoff_number = match stored.handoff_number {
        Some(number) if handoffs::find_task_number(tx, number)? == task_number => Some(number),
        _ => None,
    };
    let about = history::About {
        on: task_id.zip(keys.as_ref()).map(|(id, keys)| keys.on(id)),
        handoff: stored.request.handoff_id.as_ref().zip(handoff_number),
        request: Some((&stored.request.id, stored.number)),
    };
    history::record_about(tx, about, kind)
}
