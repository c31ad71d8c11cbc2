//! The table `tools`.

use crate::domain::{AgentName, ContextVariable, RowTimes, Text, Tool, ToolName};
use crate::store::value::to_json;
use crate::store::{FromRow, Json, Result, Row, Statement, Tx, View, columns, params, sql, text};

columns! {
    struct ToolRow {
        name: ToolName = "name",
        description: Text = "description",
        target_agent: AgentName = "target_agent",
        context_variables: Json<Vec<ContextVariable>> = "context_variables",
        handoff_instructions: Text = "handoff_instructions",
        allowed_agents: Option<Json<Vec<AgentName>>> = "allowed_agents",
    }
}

const SELECT: &str = text!("SELECT ", ToolRow::COLUMNS, " FROM tools");

fn from_row(row: &Row<'_>) -> Result<Tool> {
    ToolRow::from_row(row).map(Tool::from)
}

impl From<ToolRow> for Tool {
    fn from(row: ToolRow) -> Self {
        Self {
            name: row.name,
            description: row.description,
            target_agent: row.target_agent,
            context_variables: row.context_variables.0,
            handoff_instructions: row.handoff_instructions,
            allowed_agents: row.allowed_agents.map(|Json(agents)| agents),
        }
    }
}

pub fn find(view: &View<'_>, name: &ToolName) -> Result<Option<Tool>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE name = $1");
    view.row(ONE, params![name], from_row)
}

pub fn list(view: &View<'_>) -> Result<Vec<Tool>> {
    const ALL: Statement<0> = sql!(SELECT, " ORDER BY name");
    view.rows(ALL, params![], from_row)
}

/// Lists the tools whose targets are available.
pub fn list_usable(view: &View<'_>) -> Result<Vec<Tool>> {
    const USABLE: Statement<0> = sql!(
        SELECT,
        " WHERE target_agent IN (SELECT name FROM agents WHERE available = 1) ORDER BY name"
    );
    view.rows(USABLE, params![], from_row)
}

/// Lists when each row was created and changed.
pub fn times(view: &View<'_>) -> Result<Vec<RowTimes>> {
    view.rows(
        sql!("SELECT name, created_at, updated_at FROM tools ORDER BY name"),
        params![],
        |row| {
            Ok(RowTimes {
                name: row.get(0)?,
                created_at: row.get(1)?,
                updated_at: row.get(2)?,
            })
        },
    )
}

/// Saves the times of an imported row.
pub fn update_times(tx: &Tx<'_>, times: &RowTimes) -> Result<()> {
    tx.execute(
        sql!("UPDATE tools SET created_at = $1, updated_at = $2 WHERE name = $3"),
        params![times.created_at, times.updated_at, times.name],
    )?;
    Ok(())
}

pub fn names(view: &View<'_>) -> Result<Vec<ToolName>> {
    view.rows(
        sql!("SELECT name FROM tools ORDER BY name"),
        params![],
        |row| row.get(0),
    )
}

/// Lists the tools whose target or allowed agents include an agent.
pub fn names_naming_agent(view: &View<'_>, agent: &AgentName) -> Result<Vec<ToolName>> {
    view.rows(
        sql!(
            "SELECT name FROM tools
              WHERE target_agent = $1 COLLATE NOCASE
                 OR EXISTS (SELECT 1 FROM json_each(allowed_agents) WHERE value = $1 COLLATE NOCASE)
              ORDER BY name"
        ),
        params![agent],
        |row| row.get(0),
    )
}

pub fn insert(tx: &Tx<'_>, tool: &Tool) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO tools (name, description, target_agent, context_variables, handoff_instructions, allowed_agents,
                                created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7)"
        ),
        params![
            tool.name,
            tool.description,
            tool.target_agent,
            to_json(&tool.context_variables),
            tool.handoff_instructions,
            tool.allowed_agents.as_ref().map(to_json),
            tx.now,
        ],
    )?;
    Ok(())
}

/// Saves everything of a tool except its name.
pub fn update(tx: &Tx<'_>, tool: &Tool) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tools SET description = $1, target_agent = $2, context_variables = $3, handoff_instructions = $4,
                              allowed_agents = $5, updated_at = $6
              WHERE name = $7"
        ),
        params![
            tool.description,
            tool.target_agent,
            to_json(&tool.context_variables),
            tool.handoff_instructions,
            tool.allowed_agents.as_ref().map(to_json),
            tx.now,
            tool.name,
        ],
    )?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, name: &ToolName) -> Result<()> {
    tx.execute(sql!("DELETE FROM tools WHERE name = $1"), params![name])?;
    Ok(())
}
