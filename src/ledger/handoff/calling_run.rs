//! The run that calls an operation, and the trace of that operation.

use crate::domain::{Caller, HandoffId, Refusal, RunIdentity, TraceId, TraceParent};
use crate::store::tables::{handoffs, runs};
use crate::store::{Result, StoreError, View};

/// A calling run and its hand-off.
pub struct CallingRun<'a> {
    pub identity: &'a RunIdentity,
    pub number: i64,
    /// The hand-off whose agent waits for the end of the caller's hand-off.
    pub waiter_number: Option<i64>,
    /// The hand-off that the waiting agent asked for, if one waits.
    pub answered: Option<i64>,
    trace_id: Option<TraceId>,
    /// The hand-off from which the limits of its chain count.
    pub counted_from: i64,
}

impl<'a> CallingRun<'a> {
    /// Returns `None` if the caller is not a run.
    pub fn of(view: &View<'_>, caller: &'a Caller) -> Result<Option<Self>> {
        let run = caller.run();
        run.map(|run| Self::load(view, run)).transpose()
    }

    /// Loads the hand-off of a calling run. Refuses a run that has ended since its token was checked: its task would look free,
    /// and the run could hand it off again.
    pub fn load(view: &View<'_>, identity: &'a RunIdentity) -> Result<Self> {
        let RunIdentity {
            run_id, handoff_id, ..
        } = identity;
        if !runs::is_running(view, run_id)? {
            return Err(match runs::find_successor(view, handoff_id)? {
                Some(agent_name) => Refusal::AlreadyMoved {
                    task_id: identity.task_id.clone(),
                    agent_name,
                },
                None => Refusal::RunEnded,
            }
            .into());
        }
        let link = handoffs::find_link(view, handoff_id)?.ok_or_else(|| {
            StoreError::inconsistent(format!("hand-off {handoff_id} does not exist"))
        })?;
        Ok(Self {
            identity,
            number: link.number,
            waiter_number: link.waiter_number,
            answered: link.answered(),
            trace_id: link.trace_id,
            counted_from: link.counted_from,
        })
    }

    pub const fn traced(&self) -> Traced<'_> {
        (&self.identity.handoff_id, self.trace_id.as_ref())
    }
}

/// A hand-off, and its trace unless the hand-off started that trace.
pub type Traced<'a> = (&'a HandoffId, Option<&'a TraceId>);

/// Returns the trace of a new hand-off: the one named by the request, otherwise the trace of the previous hand-off.
pub fn trace(asked: Option<&TraceParent>, from: Option<Traced<'_>>) -> Option<TraceParent> {
    let inherited = |(id, trace_id): Traced<'_>| TraceParent {
        trace_id: trace_id.cloned().unwrap_or_else(|| id.into()),
        parent_id: id.into(),
        is_sampled: true,
    };
    asked.cloned().or_else(|| from.map(inherited))
}
