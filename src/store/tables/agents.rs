//! The table `agents`.

use crate::domain::{
    Agent, AgentName, Environment, Isolation, Minutes, OutputForm, Provider, Role, RowTimes, Skill,
    Text,
};
use crate::store::value::to_json;
use crate::store::{FromRow, Json, Result, Row, Statement, Tx, View, columns, params, sql, text};

columns! {
    struct AgentRow {
        name: AgentName = "name",
        spec_path: Text = "spec_path",
        allowed_tools: Text = "allowed_tools",
        permission_mode: Text = "permission_mode",
        provider: Provider = "provider",
        model: Option<Text> = "model",
        program: Option<Text> = "program",
        arguments: Json<Vec<Text>> = "arguments",
        environment: Json<Environment> = "environment",
        output_form: OutputForm = "output_form",
        max_seconds: Option<u64> = "max_seconds",
        idle_seconds: Option<u64> = "idle_seconds",
        available: bool = "available",
        roles: Json<Vec<Role>> = "roles",
        skills: Json<Vec<Skill>> = "skills",
        max_session_duration: Option<Minutes> = "max_session_minutes",
        responsibilities: Text = "responsibilities",
        isolation: Option<Isolation> = "isolation",
    }
}

const SELECT: &str = text!("SELECT ", AgentRow::COLUMNS, " FROM agents");

fn from_row(row: &Row<'_>) -> Result<Agent> {
    AgentRow::from_row(row).map(Agent::from)
}

impl From<AgentRow> for Agent {
    fn from(row: AgentRow) -> Self {
        Self {
            name: row.name,
            spec_path: row.spec_path,
            allowed_tools: row.allowed_tools,
            permission_mode: row.permission_mode,
            provider: row.provider,
            model: row.model,
            program: row.program,
            arguments: row.arguments.0,
            environment: row.environment.0,
            output_form: row.output_form,
            max_seconds: row.max_seconds,
            idle_seconds: row.idle_seconds,
            available: row.available,
            roles: row.roles.0,
            skills: row.skills.0,
            max_session_duration: row.max_session_duration,
            responsibilities: row.responsibilities,
            isolation: row.isolation,
        }
    }
}

pub fn find(view: &View<'_>, name: &AgentName) -> Result<Option<Agent>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE name = $1");
    view.row(ONE, params![name], from_row)
}

/// Finds an agent's name in its stored spelling, and its availability.
pub fn find_availability(view: &View<'_>, name: &str) -> Result<Option<(AgentName, bool)>> {
    view.row(
        sql!("SELECT name, available FROM agents WHERE name = $1"),
        params![name],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

pub fn list(view: &View<'_>) -> Result<Vec<Agent>> {
    const ALL: Statement<0> = sql!(SELECT, " ORDER BY name");
    view.rows(ALL, params![], from_row)
}

/// Lists when each row was created and changed.
pub fn times(view: &View<'_>) -> Result<Vec<RowTimes>> {
    view.rows(
        sql!("SELECT name, created_at, updated_at FROM agents ORDER BY name"),
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
        sql!("UPDATE agents SET created_at = $1, updated_at = $2 WHERE name = $3"),
        params![times.created_at, times.updated_at, times.name],
    )?;
    Ok(())
}

pub fn names(view: &View<'_>) -> Result<Vec<AgentName>> {
    view.rows(
        sql!("SELECT name FROM agents ORDER BY name"),
        params![],
        |row| row.get(0),
    )
}

pub fn names_with_role(view: &View<'_>, role: &Role) -> Result<Vec<AgentName>> {
    view.rows(
        sql!(
            "SELECT name FROM agents WHERE EXISTS (SELECT 1 FROM json_each(roles) WHERE value = $1) ORDER BY name"
        ),
        params![role],
        |row| row.get(0),
    )
}

/// Lists the programs of agents; an agent without one counts with its provider.
pub fn programs(view: &View<'_>) -> Result<Vec<(Option<String>, Provider)>> {
    view.rows(
        sql!("SELECT DISTINCT program, provider FROM agents"),
        params![],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

pub fn has_any(view: &View<'_>) -> Result<bool> {
    view.has(sql!("SELECT 1 FROM agents LIMIT 1"), params![])
}

const INSERT: &str =
    "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments,
                         environment, output_form, max_seconds, idle_seconds, available, roles, skills,
                         max_session_minutes, responsibilities, isolation, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19)";

pub fn insert(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    write(tx, sql!(INSERT), agent)
}

pub fn update(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    const UPDATE: Statement<19> = sql!(
        INSERT,
        " ON CONFLICT (name) DO UPDATE
          SET spec_path = excluded.spec_path, allowed_tools = excluded.allowed_tools,
              permission_mode = excluded.permission_mode, provider = excluded.provider, model = excluded.model,
              program = excluded.program, arguments = excluded.arguments, environment = excluded.environment,
              output_form = excluded.output_form, max_seconds = excluded.max_seconds, idle_seconds = excluded.idle_seconds,
              available = excluded.available, roles = excluded.roles, skills = excluded.skills,
              max_session_minutes = excluded.max_session_minutes, responsibilities = excluded.responsibilities,
              isolation = excluded.isolation, updated_at = excluded.updated_at"
    );
    write(tx, UPDATE, agent)
}

fn write(tx: &Tx<'_>, statement: Statement<19>, agent: &Agent) -> Result<()> {
    let seconds = |limit: Option<u64>| limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    tx.execute(
        statement,
        params![
            agent.name,
            agent.spec_path,
            agent.allowed_tools,
            agent.permission_mode,
            agent.provider,
            agent.model,
            agent.program,
            to_json(&agent.arguments),
            to_json(&agent.environment),
            String::from(agent.output_form.clone()),
            seconds(agent.max_seconds),
            seconds(agent.idle_seconds),
            agent.available,
            to_json(&agent.roles),
            to_json(&agent.skills),
            agent.max_session_duration,
            agent.responsibilities,
            agent.isolation,
            tx.now,
        ],
    )?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, name: &AgentName) -> Result<()> {
    tx.execute(sql!("DELETE FROM agents WHERE name = $1"), params![name])?;
    Ok(())
}
