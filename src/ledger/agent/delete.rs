//! Deleting an agent.

use super::find::get;
use super::write::record;
use crate::domain::{Agent, AgentEvent, AgentName, Refusal};
use crate::store::tables::{agents, dispatch_routes, tasks, tools};
use crate::store::{Result, Tx};

/// Deletes an agent, unless an open hand-off, a tool or a kind rule names it.
pub fn delete(tx: &mut Tx<'_>, name: &AgentName) -> Result<Agent> {
    let agent = get(tx, name)?;
    let tasks = tasks::ids_worked_on_by(tx, &agent.name)?;
    let tools = tools::names_naming_agent(tx, &agent.name)?;
    let kinds = dispatch_routes::kinds_of_agent(tx, &agent.name)?;
    if !(tasks.is_empty() && tools.is_empty() && kinds.is_empty()) {
        let needed = Refusal::AgentNeeded {
            name: agent.name,
            tasks,
            tools,
            kinds,
        };
        return Err(needed.into());
    }
    agents::delete(tx, &agent.name)?;
    record(tx, &agent.name, AgentEvent::Deleted)?;
    Ok(agent)
}
