//! Deleting an agent.

use super::find::get;
use super::write::record;
use crate::domain::{Agent, AgentEvent, AgentName, Refusal};
use crate::store::tables::{agents, dispatch_routes, tasks, tools};
use crate::store::{Result, Tx, View};

/// How many tasks, tools or kinds a refusal names.
const MOST_NAMED: usize = 10;

/// Deletes an agent that no open hand-off, tool or route names.
pub fn delete(tx: &mut Tx<'_>, name: &AgentName) -> Result<Agent> {
    let agent = get(tx, name)?;
    let by = list_needs(tx, &agent.name)?;
    if !by.is_empty() {
        let name = agent.name;
        return Err(Refusal::AgentNeeded { name, by }.into());
    }
    agents::delete(tx, &agent.name)?;
    record(tx, &agent.name, AgentEvent::Deleted)?;
    Ok(agent)
}

/// Describes the tasks, tools and routes that need an agent.
fn list_needs(view: &View<'_>, name: &AgentName) -> Result<Vec<String>> {
    let needs = [
        name_some("it works on task", &tasks::ids_worked_on_by(view, name)?),
        name_some(
            "it is named by the tool",
            &tools::names_naming_agent(view, name)?,
        ),
        name_some(
            "it gets requests of kind",
            &dispatch_routes::kinds_of_agent(view, name)?,
        ),
    ];
    Ok(needs.into_iter().flatten().collect())
}

/// Names the first items of a list and counts the rest; nothing of an empty list.
fn name_some(relation: &str, found: &[impl ToString]) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let (named, more) = found.split_at(found.len().min(MOST_NAMED));
    let named: Vec<_> = named.iter().map(ToString::to_string).collect();
    let more = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("{relation} {}{more}", named.join(", ")))
}
