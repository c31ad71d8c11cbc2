//! Changing an agent.

use super::find::get;
use super::write::replace;
use crate::domain::{Agent, AgentChange, AgentName, Problems, Refusal, RunIdentity};
use crate::store::{Result, Tx};

/// A change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAgent {
    pub name: AgentName,
    pub change: AgentChange,
    /// The problems of the new spec, which the agent itself does not show.
    pub problems: Problems,
    /// The run that changes its own agent, if a run asks.
    pub caller: Option<RunIdentity>,
}

/// Changes an agent. Problems that it had before do not prevent another change.
pub fn change(tx: &mut Tx<'_>, change: &ChangeAgent) -> Result<Agent> {
    let by_itself = change.caller.as_ref();
    if let Some(run) = by_itself.filter(|run| !run.agent_name.is_same(&change.name)) {
        return Err(Refusal::NotItsOwnAgent {
            agent: run.agent_name.clone(),
            asked: change.name.clone(),
        }
        .into());
    }
    let before = get(tx, &change.name)?;
    let agent = change.change.clone().applied_to(before.clone());
    if by_itself.is_some() {
        before.check_announced(&agent)?;
    }
    let had_problems = before.check();
    let mut problems = agent.check();
    problems
        .0
        .retain(|problem| !had_problems.0.contains(problem));
    problems.0.extend(change.problems.0.clone());
    problems.none_or(|| ()).map_err(Refusal::Invalid)?;
    replace(tx, &before, &agent)?;
    Ok(agent)
}
