//! Finding agents.

use crate::domain::{Agent, AgentName, Provider, Refusal, match_agent_name};
use crate::store::tables::agents;
use crate::store::{Result, View};

pub fn find(view: &View<'_>, name: &AgentName) -> Result<Option<Agent>> {
    agents::find(view, name)
}

/// Finds an agent, or refuses.
pub fn get(view: &View<'_>, name: &AgentName) -> Result<Agent> {
    agents::find(view, name)?.ok_or_else(|| Refusal::AgentNotFound(name.clone()).into())
}

pub fn list(view: &View<'_>) -> Result<Vec<Agent>> {
    agents::list(view)
}

/// Lists the programs of agents; an agent without one counts with its provider.
pub fn programs(view: &View<'_>) -> Result<Vec<(Option<String>, Provider)>> {
    agents::programs(view)
}

/// Resolves an agent's name as a caller wrote it. The agent must be available.
pub fn resolve(view: &View<'_>, asked: &str) -> Result<AgentName> {
    match find_by_name(view, asked)? {
        (name, true) => Ok(name),
        (name, false) => Err(Refusal::AgentUnavailable(name).into()),
    }
}

/// Resolves an agent's name as a caller wrote it, even if the agent is not available.
pub fn resolve_any(view: &View<'_>, asked: &str) -> Result<AgentName> {
    Ok(find_by_name(view, asked)?.0)
}

fn find_by_name(view: &View<'_>, asked: &str) -> Result<(AgentName, bool)> {
    match agents::find_availability(view, asked)? {
        Some(found) => Ok(found),
        None => find_by_similar_name(view, asked),
    }
}

/// Matches names that differ only in quotes, case or word separators.
fn find_by_similar_name(view: &View<'_>, asked: &str) -> Result<(AgentName, bool)> {
    let known = agents::names(view)?;
    if let Some(name) = match_agent_name(asked, &known)
        && let Some(found) = agents::find_availability(view, name.as_str())?
    {
        return Ok(found);
    }
    let asked = asked.to_owned();
    Err(Refusal::UnknownAgent { asked, known }.into())
}

pub fn describe_unknown(asked: &AgentName, known: &[AgentName]) -> String {
    let names: Vec<_> = known.iter().map(AgentName::as_str).collect();
    format!(
        "unknown agent {asked}; the agents are: {}",
        names.join(", ")
    )
}
