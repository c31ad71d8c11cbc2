//! Changing an agent.

use super::find::get;
use super::write::replace;
use crate::domain::{Agent, AgentChange, AgentName, Caller, Problems, Refusal};
use crate::ledger::rights;
use crate::store::{Result, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAgent {
    pub name: AgentName,
    pub change: AgentChange,
    /// The problems of the new spec file, which `Agent::check` does not see.
    pub problems: Problems,
    pub caller: Caller,
}

/// Changes an agent. Problems that the agent already had do not prevent an unrelated change.
pub fn change(tx: &mut Tx<'_>, change: &ChangeAgent) -> Result<Agent> {
    rights::may_speak_for(&change.caller, &change.name)?;
    let before = get(tx, &change.name)?;
    let agent = change.change.clone().apply_to(before.clone());
    rights::may_change_capabilities(&change.caller, &before, &agent)?;
    let had_problems = before.check();
    let mut problems = agent.check();
    problems
        .0
        .retain(|problem| !had_problems.0.contains(problem));
    problems.0.extend(change.problems.0.clone());
    problems.into_result(|| ()).map_err(Refusal::Invalid)?;
    replace(tx, &before, &agent)?;
    Ok(agent)
}
