//! Hand-off tools.

use super::{agent, history};
use crate::domain::{
    AgentName, EventKind, FunctionDefinition, Problems, Refusal, Tool, ToolChange, ToolName,
    match_agent_name,
};
use crate::store::tables::{agents, tools};
use crate::store::{Result, Tx, View};

pub fn find(view: &View<'_>, name: &ToolName) -> Result<Option<Tool>> {
    tools::find(view, name)
}

/// Finds a tool, or refuses.
pub fn get(view: &View<'_>, name: &ToolName) -> Result<Tool> {
    tools::find(view, name)?.ok_or_else(|| Refusal::ToolNotFound(name.to_string()).into())
}

pub fn list(view: &View<'_>) -> Result<Vec<Tool>> {
    tools::list(view)
}

/// Lists the tools that an agent may call and whose targets are available.
pub fn list_usable_by(view: &View<'_>, agent: &AgentName) -> Result<Vec<Tool>> {
    let mut usable = tools::list_usable(view)?;
    usable.retain(|tool| tool.may_be_used_by(agent));
    Ok(usable)
}

/// Lists the tools of an agent as function definitions for a model.
pub fn definitions(view: &View<'_>, agent: &AgentName) -> Result<Vec<FunctionDefinition>> {
    let agent = agent::get(view, agent)?.name;
    let usable = list_usable_by(view, &agent)?;
    Ok(usable.iter().map(Tool::definition).collect())
}

pub fn create(tx: &mut Tx<'_>, tool: &Tool) -> Result<Tool> {
    if tools::find(tx, &tool.name)?.is_some() {
        return Err(Refusal::ToolExists(tool.name.clone()).into());
    }
    let tool = resolve_agents(tx, tool)?;
    tools::insert(tx, &tool)?;
    record(tx, &tool.name, ToolChange::Created)?;
    Ok(tool)
}

/// Replaces everything of a tool except its name.
pub fn change(tx: &mut Tx<'_>, tool: &Tool) -> Result<Tool> {
    let before = get(tx, &tool.name)?;
    let tool = resolve_agents(tx, tool)?;
    if tool != before {
        tools::update(tx, &tool)?;
        record(tx, &tool.name, ToolChange::Changed)?;
    }
    Ok(tool)
}

/// Deletes a tool. Its earlier hand-offs stay.
pub fn delete(tx: &mut Tx<'_>, name: &ToolName) -> Result<Tool> {
    let tool = get(tx, name)?;
    tools::delete(tx, name)?;
    record(tx, name, ToolChange::Deleted)?;
    Ok(tool)
}

fn record(tx: &mut Tx<'_>, name: &ToolName, change: ToolChange) -> Result<()> {
    let name = name.clone();
    history::record_alone(tx, EventKind::Tool { name, change })
}

/// Resolves the agent names in a tool, as hand-offs do.
fn resolve_agents(view: &View<'_>, tool: &Tool) -> Result<Tool> {
    let known = agents::names(view)?;
    let mut problems = Problems::default();
    let mut find = |field: &str, asked: &AgentName| {
        let found = match_agent_name(asked.as_str(), &known).cloned();
        found.unwrap_or_else(|| {
            problems.add(field, agent::describe_unknown(asked, &known));
            asked.clone()
        })
    };
    let target_agent = find("targetAgent", &tool.target_agent);
    let allowed_agents = tool.allowed_agents.as_ref().map(|allowed| {
        let mut named: Vec<AgentName> = Vec::new();
        for agent in allowed {
            let agent = find("allowedAgents", agent);
            if !named.contains(&agent) {
                named.push(agent);
            }
        }
        named
    });
    let tool = Tool {
        target_agent,
        allowed_agents,
        ..tool.clone()
    };
    // The other fields were checked before; with resolved names, a tool may turn out to allow its own target.
    if let Err(more) = tool.check() {
        problems.0.extend(more.0);
    }
    Ok(problems.into_result(|| tool).map_err(Refusal::Invalid)?)
}
