//! Creating or replacing an agent.

use serde::{Deserialize, Serialize};

use super::write::{insert, record, replace};
use crate::domain::{Agent, AgentEvent, Problems, Refusal, match_agent_name};
use crate::store::tables::agents;
use crate::store::{Result, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAgent {
    pub agent: Agent,
    /// Whether an existing agent of that name is refused instead of replaced.
    pub only_new: bool,
    /// The problems of its spec file, which `Agent::check` does not see.
    pub problems: Problems,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPut {
    pub agent: Agent,
    pub is_new: bool,
}

pub fn put(tx: &mut Tx<'_>, put: &PutAgent) -> Result<AgentPut> {
    let before = agents::find(tx, &put.agent.name)?;
    if let Some(before) = before.as_ref().filter(|_| put.only_new) {
        return Err(Refusal::AgentExists(before.name.clone()).into());
    }
    let asked = match &before {
        Some(before) => put.agent.clone().with_values_of(before),
        None => put.agent.clone(),
    };
    let mut problems = asked.check();
    if before.is_none() {
        problems.0.extend(put.agent.check_new_name().0);
    }
    problems.0.extend(put.problems.0.clone());
    problems.into_result(|| ()).map_err(Refusal::Invalid)?;
    let Some(before) = before else {
        return create(tx, &put.agent);
    };
    let agent = Agent {
        name: before.name.clone(),
        ..asked
    };
    replace(tx, &before, &agent)?;
    Ok(AgentPut {
        agent,
        is_new: false,
    })
}

fn create(tx: &mut Tx<'_>, agent: &Agent) -> Result<AgentPut> {
    if let Some(like) = match_agent_name(agent.name.as_str(), &agents::names(tx)?) {
        return Err(Refusal::AgentAlike {
            name: agent.name.clone(),
            like: like.clone(),
        }
        .into());
    }
    insert(tx, agent)?;
    record(tx, &agent.name, AgentEvent::Created)?;
    Ok(AgentPut {
        agent: agent.clone(),
        is_new: true,
    })
}
