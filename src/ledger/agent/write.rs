//! Writing agents. After every write, the router reconsiders the tasks that no agent suited.

use crate::domain::{Agent, AgentEvent, AgentName, EventKind};
use crate::ledger::history;
use crate::store::tables::{agents, task_routing};
use crate::store::{Result, Tx};

pub fn insert(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    agents::insert(tx, agent)?;
    reconsider_tasks_for(tx, agent)
}

/// Updates an agent if it differs, and records the keys that changed.
pub(super) fn replace(tx: &mut Tx<'_>, before: &Agent, agent: &Agent) -> Result<()> {
    let keys = before.differing_keys(agent);
    if keys.is_empty() {
        return Ok(());
    }
    agents::update(tx, agent)?;
    reconsider_tasks_for(tx, agent)?;
    record(tx, &agent.name, AgentEvent::Changed(keys))
}

fn reconsider_tasks_for(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    if agent.available {
        task_routing::clear_unsuited_of_roles(tx, &agent.roles)?;
    }
    Ok(())
}

pub fn reconsider_unsuited_tasks(tx: &mut Tx<'_>) -> Result<()> {
    task_routing::clear_unsuited(tx)
}

pub(super) fn record(tx: &mut Tx<'_>, name: &AgentName, event: AgentEvent) -> Result<()> {
    let name = name.clone();
    history::record_alone(tx, EventKind::Agent { name, event })
}
