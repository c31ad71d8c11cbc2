//! The table `tools`.

use super::agents;
use crate::domain::{
    AgentName, EventKind, Problems, Refusal, Tool, ToolChange, ToolName, match_agent_name,
};
use crate::ledger::history;
use crate::store::{Result, Row, Statement, Tx, View, params, sql};

macro_rules! select_tools {
    () => {
        "SELECT name, description, target_agent, context_variables, handoff_instructions, allowed_agents FROM tools"
    };
}

const ONE: Statement<1> = sql!(select_tools!(), " WHERE name = $1");

fn from_row(row: &Row<'_>) -> Result<Tool> {
    Ok(Tool {
        name: row.parsed(0)?,
        description: row.text(1)?,
        target_agent: row.parsed(2)?,
        context_variables: row.json(3)?,
        handoff_instructions: row.text(4)?,
        allowed_agents: row.optional_json(5)?,
    })
}

/// Finds a tool within a transaction.
pub(crate) fn load(tx: &View<'_>, name: &ToolName) -> Result<Option<Tool>> {
    tx.row(ONE, params![name.as_str()], |row| from_row(row))
}

/// Lists the names of the tools.
pub(crate) fn names(tx: &View<'_>) -> Result<Vec<ToolName>> {
    tx.rows(
        sql!("SELECT name FROM tools ORDER BY name"),
        params![],
        |row| row.parsed(0),
    )
}

pub(crate) fn create(tx: &mut Tx<'_>, tool: &Tool) -> Result<Tool> {
    if load(tx, &tool.name)?.is_some() {
        return Err(Refusal::ToolExists(tool.name.clone()).into());
    }
    let tool = with_known_agents(tx, tool)?;
    insert(tx, &tool)?;
    record(tx, &tool.name, ToolChange::Created)?;
    Ok(tool)
}

pub(crate) fn change(tx: &mut Tx<'_>, tool: &Tool) -> Result<Tool> {
    let before = load(tx, &tool.name)?;
    let before = before.ok_or_else(|| Refusal::ToolNotFound(tool.name.to_string()))?;
    let tool = with_known_agents(tx, tool)?;
    if tool != before {
        tx.execute(
            sql!(
                "UPDATE tools SET description = $1, target_agent = $2, context_variables = $3, handoff_instructions = $4,
                                  allowed_agents = $5, updated_at = $6
                  WHERE name = $7"
            ),
            params![
                tool.description.as_str(),
                tool.target_agent.as_str(),
                json(&tool.context_variables),
                tool.handoff_instructions.as_str(),
                tool.allowed_agents.as_ref().map(json),
                tx.now.as_millis(),
                tool.name.as_str(),
            ],
        )?;
        record(tx, &tool.name, ToolChange::Changed)?;
    }
    Ok(tool)
}

pub(crate) fn delete(tx: &mut Tx<'_>, name: &ToolName) -> Result<Tool> {
    let tool = load(tx, name)?.ok_or_else(|| Refusal::ToolNotFound(name.to_string()))?;
    tx.execute(
        sql!("DELETE FROM tools WHERE name = $1"),
        params![name.as_str()],
    )?;
    record(tx, name, ToolChange::Deleted)?;
    Ok(tool)
}

fn record(tx: &mut Tx<'_>, name: &ToolName, change: ToolChange) -> Result<()> {
    let name = name.clone();
    history::record_alone(tx, EventKind::Tool { name, change })
}

/// Finds the agents that a tool names, as hand-offs find them.
fn with_known_agents(tx: &Tx<'_>, tool: &Tool) -> Result<Tool> {
    let known = agents::names(tx)?;
    let mut problems = Problems::default();
    let mut find = |field: &str, asked: &AgentName| {
        let found = match_agent_name(asked.as_str(), &known).cloned();
        found.unwrap_or_else(|| {
            problems.add(field, agents::unknown(asked, &known));
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
    // What is wrong beside its agents was looked at before; with the names that are meant, a tool may name its target.
    if let Err(more) = tool.check() {
        problems.0.extend(more.0);
    }
    Ok(problems.none_or(|| tool).map_err(Refusal::Invalid)?)
}

/// Inserts a tool's row.
pub(crate) fn insert(tx: &Tx<'_>, tool: &Tool) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO tools (name, description, target_agent, context_variables, handoff_instructions, allowed_agents,
                                created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7)"
        ),
        params![
            tool.name.as_str(),
            tool.description.as_str(),
            tool.target_agent.as_str(),
            json(&tool.context_variables),
            tool.handoff_instructions.as_str(),
            tool.allowed_agents.as_ref().map(json),
            tx.now.as_millis(),
        ],
    )?;
    Ok(())
}

fn json(list: &Vec<impl serde::Serialize>) -> String {
    serde_json::to_string(list).expect("names and texts are JSON")
}

pub(crate) fn find(view: &View<'_>, name: &ToolName) -> Result<Option<Tool>> {
    view.row(ONE, params![name.as_str()], from_row)
}

pub(crate) fn list(view: &View<'_>) -> Result<Vec<Tool>> {
    const ALL: Statement<0> = sql!(select_tools!(), " ORDER BY name");
    view.rows(ALL, params![], from_row)
}

/// Lists the tools whose targets are available.
pub(crate) fn list_usable(view: &View<'_>) -> Result<Vec<Tool>> {
    const USABLE: Statement<0> = sql!(
        select_tools!(),
        " WHERE target_agent IN (SELECT name FROM agents WHERE available = 1) ORDER BY name"
    );
    view.rows(USABLE, params![], from_row)
}
