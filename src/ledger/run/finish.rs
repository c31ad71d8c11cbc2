//! Ending a run together with its hand-off.

use serde_json::Value;

use crate::domain::{Outcome, ProviderSession, RunId, Text};
use crate::ledger::handoff::{Cause, Ending};
use crate::ledger::{reactions, request, task};
use crate::store::tables::runs;
use crate::store::{Result, Tx};

use super::find::{number, place};

#[derive(Debug, Clone, PartialEq)]
pub struct FinishRun {
    pub run_id: RunId,
    pub outcome: Outcome,
    /// The final message or the error.
    pub output: Text,
    /// The provider's session, for a later resume.
    pub session_id: Option<ProviderSession>,
    pub usage: Option<Value>,
    pub cost_usd: Option<f64>,
    /// The tools that the agent tried to use and was not allowed to.
    pub denied_tools: Vec<String>,
    /// Whether the agent may have read its prompt.
    pub has_begun: bool,
}

/// Ends a run and, if it is still open, its hand-off. Returns whether this call ended the hand-off.
pub fn finish(tx: &mut Tx<'_>, finish: &FinishRun) -> Result<bool> {
    let number = number(tx, &finish.run_id)?;
    let has_ended = runs::update_ended(tx, number, finish.outcome)?;
    let session_id = finish.session_id.as_ref();
    runs::update_result(
        tx,
        number,
        session_id,
        finish.usage.as_ref(),
        finish.cost_usd,
        &finish.denied_tools,
    )?;
    if !finish.has_begun {
        task::return_queue(tx, place(tx, number)?.handoff_number)?;
    }
    // A run that was ended on request has no say any more; its output is in its log.
    if !has_ended {
        return Ok(false);
    }
    let place = place(tx, number)?;
    if finish.outcome == Outcome::Completed
        && request::starts_job(tx, place.handoff_number)?
        && let Some(line) = finish.output.as_str().trim().lines().next_back()
    {
        // The job continues elsewhere, and so does the hand-off.
        let job_id = Text::lossy(line.trim().to_owned());
        request::record_job_start(tx, place.handoff_number, &job_id)?;
        return Ok(false);
    }
    let on = task::load(tx, &place.task_id)?;
    let ending = Ending::new(Cause::RunEnded, finish.outcome, &finish.output);
    reactions::end_handoff(tx, on, &ending)?;
    Ok(true)
}
