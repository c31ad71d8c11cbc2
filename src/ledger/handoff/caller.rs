//! The run in whose name something is asked, and the trace that this belongs to.

use crate::domain::{HandoffId, Refusal, RunIdentity, TraceId, TraceParent};
use crate::ledger::runs;
use crate::store::{Result, StoreError, Tx, params, sql};

/// A run that asks, and its hand-off.
pub struct Caller<'a> {
    pub identity: &'a RunIdentity,
    pub number: i64,
    /// The hand-off whose agent waits for the end of the caller's.
    pub waiter_number: Option<i64>,
    trace_id: Option<TraceId>,
}

impl<'a> Caller<'a> {
    /// Returns the trace that whatever it asks belongs to.
    pub const fn traced(&self) -> Traced<'_> {
        (&self.identity.handoff_id, self.trace_id.as_ref())
    }

    /// Finds the hand-off of a run that asks, unless the run has ended since its token was looked at: it would hand on
    /// its own task as if it were free.
    pub fn load(tx: &Tx<'_>, identity: &'a RunIdentity) -> Result<Self> {
        if !runs::is_running(tx, &identity.run_id)? {
            return Err(match runs::moved_on(tx, &identity.handoff_id)? {
                Some(agent_name) => Refusal::AlreadyMoved {
                    task_id: identity.task_id.clone(),
                    agent_name,
                },
                None => Refusal::RunEnded,
            }
            .into());
        }
        tx.row(
            sql!("SELECT number, waiter_number, trace_id FROM handoffs WHERE id = $1"),
            params![identity.handoff_id.as_str()],
            |row| {
                Ok(Self {
                    identity,
                    number: row.integer(0)?,
                    waiter_number: row.optional_integer(1)?,
                    trace_id: row.optional_parsed(2)?,
                })
            },
        )?
        .ok_or_else(|| {
            StoreError::inconsistent(format!("hand-off {} is not there", identity.handoff_id))
        })
    }
}

/// A hand-off, and the trace that it belongs to if it did not begin that itself.
pub type Traced<'a> = (&'a HandoffId, Option<&'a TraceId>);

/// Returns the trace of a new hand-off: the one that the request names, or that of the hand-off that it comes from.
pub fn trace(asked: Option<&TraceParent>, from: Option<Traced<'_>>) -> Option<TraceParent> {
    let inherited = |(id, trace_id): Traced<'_>| TraceParent {
        trace_id: trace_id.cloned().unwrap_or_else(|| id.into()),
        parent_id: id.into(),
        is_sampled: true,
    };
    asked.cloned().or_else(|| from.map(inherited))
}
