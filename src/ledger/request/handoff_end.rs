//! The consequences of an ended hand-off for its requests.

use crate::domain::{Actor, Door, Outcome, RequestMove, Text};
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::{request_tags, requests};
use crate::store::{Result, Tx};
use crate::words;

use super::recover::{give_back, recover};
use super::transition::{check_step, transition};

/// Finishes the requests of a hand-off with its output, or recovers them if it did not complete. Returns whether the task is
/// complete, because all of its requests are done.
pub fn handoff_ended(
    tx: &mut Tx<'_>,
    on: &StoredTask,
    handoff_number: i64,
    outcome: Outcome,
    output: &Text,
) -> Result<bool> {
    let worked_on = requests::of_handoff(tx, handoff_number)?;
    let entry = on.task.agent_chain().last();
    let is_of_request = entry.is_some_and(|entry| entry.mode == Door::Request);
    if worked_on.is_empty() && !is_of_request {
        return Ok(false);
    }
    for mut stored in worked_on {
        // A tag that says `done` is the word of the agent: its work is complete, whatever became of its run.
        let is_ending = request_tags::is_ending(tx, stored.number)?;
        if outcome == Outcome::Completed || is_ending {
            let to = check_step(&stored.request, RequestMove::Finish)?;
            let by = stored.request.lease.as_ref();
            let by = by.map_or(Actor::Dispatcher, |lease| Actor::Agent(lease.agent.clone()));
            stored.request.response = Some(output.clone());
            transition(tx, &mut stored, to, &by, None)?;
        } else {
            recover(tx, stored, output, Some(outcome))?;
        }
    }
    Ok(outcome == Outcome::Completed && !requests::has_open_of_task(tx, on.number)?)
}

/// Re-queues the requests that the agent of an ended hand-off claimed beside its own work and did not finish.
pub fn give_back_claims(tx: &mut Tx<'_>, handoff_number: i64, outcome: Outcome) -> Result<()> {
    for stored in requests::claimed_by(tx, handoff_number)? {
        let holder = stored.request.lease.as_ref();
        let reason = words::claim_left(holder.map(|lease| &lease.agent), outcome);
        give_back(tx, stored, &Actor::Dispatcher, &reason)?;
    }
    Ok(())
}
