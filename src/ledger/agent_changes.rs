//! Makes, changes and deletes agents.

use super::agents;
use crate::domain::{Agent, AgentEvent, AgentName, EventKind, Refusal, match_agent_name};
use crate::ledger::history;
use crate::store::{AgentPut, ChangeAgent, PutAgent, Result, Row, Tx, params, sql};

/// How many of those that need an agent are named.
const MOST_NAMED: usize = 10;

/// Makes an agent, or puts it in the place of the one that has its name.
pub(crate) fn put(tx: &mut Tx<'_>, put: &PutAgent) -> Result<AgentPut> {
    let before = agents::load(tx, &put.agent.name)?;
    if let Some(before) = before.as_ref().filter(|_| put.only_new) {
        return Err(Refusal::AgentExists(before.name.clone()).into());
    }
    let mut problems = put.agent.check();
    if before.is_none() {
        problems.0.extend(put.agent.check_new_name().0);
    }
    problems.0.extend(put.problems.0.clone());
    problems.none_or(|| ()).map_err(Refusal::Invalid)?;
    let Some(before) = before else {
        return make(tx, &put.agent);
    };
    let agent = Agent {
        name: before.name.clone(),
        ..put.agent.clone()
    };
    replace(tx, &before, &agent)?;
    Ok(AgentPut {
        agent,
        is_new: false,
    })
}

fn make(tx: &mut Tx<'_>, agent: &Agent) -> Result<AgentPut> {
    if let Some(like) = match_agent_name(agent.name.as_str(), &agents::names(tx)?) {
        return Err(Refusal::AgentAlike {
            name: agent.name.clone(),
            like: like.clone(),
        }
        .into());
    }
    agents::insert(tx, agent)?;
    record(tx, &agent.name, AgentEvent::Created)?;
    Ok(AgentPut {
        agent: agent.clone(),
        is_new: true,
    })
}

/// Changes an agent. What was wrong with it before does not keep anybody from changing something else.
pub(crate) fn change(tx: &mut Tx<'_>, change: &ChangeAgent) -> Result<Agent> {
    let by_itself = change.caller.as_ref();
    if let Some(run) = by_itself.filter(|run| !run.agent_name.is_same(&change.name)) {
        return Err(Refusal::NotItsOwnAgent {
            agent: run.agent_name.clone(),
            asked: change.name.clone(),
        }
        .into());
    }
    let before = agents::load(tx, &change.name)?;
    let before = before.ok_or_else(|| Refusal::AgentNotFound(change.name.clone()))?;
    let agent = change.change.clone().applied_to(before.clone());
    if by_itself.is_some() {
        before.check_announced(&agent)?;
    }
    let was_wrong = before.check();
    let mut problems = agent.check();
    problems.0.retain(|problem| !was_wrong.0.contains(problem));
    problems.0.extend(change.problems.0.clone());
    problems.none_or(|| ()).map_err(Refusal::Invalid)?;
    replace(tx, &before, &agent)?;
    Ok(agent)
}

pub(crate) fn delete(tx: &mut Tx<'_>, name: &AgentName) -> Result<Agent> {
    let agent = agents::load(tx, name)?.ok_or_else(|| Refusal::AgentNotFound(name.clone()))?;
    let by = needed_by(tx, &agent.name)?;
    if !by.is_empty() {
        let name = agent.name;
        return Err(Refusal::AgentNeeded { name, by }.into());
    }
    agents::remove(tx, &agent.name)?;
    record(tx, &agent.name, AgentEvent::Deleted)?;
    Ok(agent)
}

/// Lists what cannot do without an agent.
fn needed_by(tx: &Tx<'_>, name: &AgentName) -> Result<Vec<String>> {
    let mut by = Vec::new();
    let mut add = |what: &str, found: Vec<String>| {
        let (named, more) = found.split_at(found.len().min(MOST_NAMED));
        let more = match more.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        if !named.is_empty() {
            by.push(format!("{what} {}{more}", named.join(", ")));
        }
    };
    let name = params![name];
    let open = sql!(
        "SELECT t.id FROM handoffs h JOIN tasks t ON t.number = h.task_number
          WHERE h.completed_at IS NULL AND h.agent_name = $1 COLLATE NOCASE ORDER BY t.number"
    );
    add("it works on task", tx.rows(open, name, text)?);
    let tools = sql!(
        "SELECT name FROM tools
          WHERE target_agent = $1 COLLATE NOCASE
             OR EXISTS (SELECT 1 FROM json_each(allowed_agents) WHERE value = $1 COLLATE NOCASE)
          ORDER BY name"
    );
    add("it is named by the tool", tx.rows(tools, name, text)?);
    let routes = sql!(
        "SELECT kind FROM dispatch_routes WHERE agent_name = $1 COLLATE NOCASE ORDER BY rank, kind"
    );
    add("it gets requests of kind", tx.rows(routes, name, text)?);
    Ok(by)
}

fn text(row: &Row<'_>) -> Result<String> {
    Ok(row.get(0)?)
}

/// Writes an agent, if anything of it is new.
fn replace(tx: &mut Tx<'_>, before: &Agent, agent: &Agent) -> Result<()> {
    let keys = before.keys_that_differ(agent);
    if keys.is_empty() {
        return Ok(());
    }
    agents::update(tx, agent)?;
    record(tx, &agent.name, AgentEvent::Changed(keys))
}

fn record(tx: &mut Tx<'_>, name: &AgentName, event: AgentEvent) -> Result<()> {
    let name = name.clone();
    history::record_alone(tx, EventKind::Agent { name, event })
}
