//! The table `agents`.

use crate::domain::{Agent, AgentName, Minutes, Provider, Refusal, Text, match_agent_name};
use crate::store::{Result, Row, Statement, StoreError, Tx, View, params, sql};

macro_rules! select_agents {
    () => {
        "SELECT name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments, environment,
                output_form, max_seconds, idle_seconds, available, roles, skills, max_session_minutes, responsibilities
           FROM agents"
    };
}

fn from_row(row: &Row<'_>) -> Result<Agent> {
    Ok(Agent {
        name: row.parsed(0)?,
        spec_path: row.text(1)?,
        allowed_tools: row.text(2)?,
        permission_mode: row.text(3)?,
        provider: row.word(4, Provider::parse)?,
        model: row.optional_text(5)?,
        program: row.optional_text(6)?,
        arguments: row.json(7)?,
        environment: row.json(8)?,
        output_form: row.parsed(9)?,
        max_seconds: seconds(row, 10)?,
        idle_seconds: seconds(row, 11)?,
        available: row.integer(12)? != 0,
        roles: row.json(13)?,
        skills: row.json(14)?,
        max_session_duration: row
            .optional_unsigned(15)?
            .map(Minutes::new)
            .transpose()
            .map_err(StoreError::inconsistent)?,
        responsibilities: row.text(16)?,
    })
}

fn seconds(row: &Row<'_>, column: usize) -> Result<Option<u64>> {
    row.optional_integer(column)?
        .map(|seconds| u64::try_from(seconds).map_err(StoreError::inconsistent))
        .transpose()
}

/// Finds the agent that a hand-off means, which must be available.
pub(crate) fn resolve(tx: &View<'_>, asked: &str) -> Result<AgentName> {
    let (name, is_available) = meant(tx, asked)?;
    if is_available {
        Ok(name)
    } else {
        Err(Refusal::AgentUnavailable(name).into())
    }
}

/// Finds the agent that is meant, and whether it is available.
pub(crate) fn meant(tx: &View<'_>, asked: &str) -> Result<(AgentName, bool)> {
    match find_available(tx, asked)? {
        Some(found) => Ok(found),
        None => find_alike(tx, asked),
    }
}

/// Finds the agent whose name is meant, though it is not written so.
fn find_alike(tx: &View<'_>, asked: &str) -> Result<(AgentName, bool)> {
    let known = names(tx)?;
    let meant = match_agent_name(asked, &known).map(AgentName::as_str);
    match meant.map(|name| find_available(tx, name)).transpose()? {
        Some(Some(found)) => Ok(found),
        _ => Err(Refusal::UnknownAgent {
            asked: asked.to_owned(),
            known,
        }
        .into()),
    }
}

fn find_available(tx: &View<'_>, name: &str) -> Result<Option<(AgentName, bool)>> {
    tx.row(
        sql!("SELECT name, available FROM agents WHERE name = $1"),
        params![name],
        |row| Ok((row.parsed(0)?, row.integer(1)? != 0)),
    )
}

/// Says that there is no such agent, and which there are.
pub(crate) fn unknown(asked: &AgentName, known: &[AgentName]) -> String {
    let names: Vec<_> = known.iter().map(AgentName::as_str).collect();
    format!(
        "unknown agent {asked}; the agents are: {}",
        names.join(", ")
    )
}

/// Lists the names of the agents.
pub(crate) fn names(tx: &View<'_>) -> Result<Vec<AgentName>> {
    tx.rows(
        sql!("SELECT name FROM agents ORDER BY name"),
        params![],
        |row| row.parsed(0),
    )
}

/// Plants agents, unless that was done before or there are any.
pub(crate) fn seed(tx: &Tx<'_>, agents: &[Agent]) -> Result<usize> {
    if !mark_seeded(tx)? {
        return Ok(0);
    }
    let is_empty = tx
        .row(sql!("SELECT 1 FROM agents LIMIT 1"), params![], |_| Ok(()))?
        .is_none();
    let planted = if is_empty { agents } else { &[] };
    for agent in planted {
        insert(tx, agent)?;
    }
    Ok(planted.len())
}

/// Notes that the default agents need not be planted any more. Returns whether that is new.
pub(crate) fn mark_seeded(tx: &Tx<'_>) -> Result<bool> {
    let changed = tx.execute(
        sql!("UPDATE installation SET seeded_at = $1 WHERE seeded_at IS NULL"),
        params![tx.now.as_millis()],
    )?;
    Ok(changed == 1)
}

/// Plants the specialists, unless that was done before. One whose name is there already is left out.
pub(crate) fn seed_specialists(tx: &Tx<'_>, agents: &[Agent]) -> Result<usize> {
    if !mark_specialists_planted(tx)? {
        return Ok(0);
    }
    let mut planted = 0;
    for agent in agents {
        if match_agent_name(agent.name.as_str(), &names(tx)?).is_none() {
            insert(tx, agent)?;
            planted += 1;
        }
    }
    Ok(planted)
}

/// Notes that the specialists need not be planted any more. Returns whether that is new.
pub(crate) fn mark_specialists_planted(tx: &Tx<'_>) -> Result<bool> {
    let changed = tx.execute(
        sql!("UPDATE installation SET specialists_planted_at = $1 WHERE specialists_planted_at IS NULL"),
        params![tx.now.as_millis()],
    )?;
    Ok(changed == 1)
}

/// Lets the router ask again who suits the tasks for which there was nobody and for whose role an agent is there now. Every write
/// of an agent ends here.
fn ask_again_for(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    if !agent.available {
        return Ok(());
    }
    tx.execute(
        sql!(
            "UPDATE tasks SET is_unsuited = 0
              WHERE waiting_reason IS NOT NULL AND is_unsuited = 1 AND agent_role IN (SELECT value FROM json_each($1))"
        ),
        params![serde_json::to_string(&agent.roles).expect("words are JSON")],
    )?;
    Ok(())
}

/// Lets the router ask again who suits the tasks for which there was nobody.
pub(crate) fn ask_again(tx: &Tx<'_>) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_unsuited = 0 WHERE waiting_reason IS NOT NULL AND is_unsuited = 1"
        ),
        params![],
    )?;
    Ok(())
}

macro_rules! insert_agents {
    () => {
        "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments,
                             environment, output_form, max_seconds, idle_seconds, available, roles, skills,
                             max_session_minutes, responsibilities, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18)"
    };
}

/// Inserts an agent's row.
pub(crate) fn insert(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    write(tx, sql!(insert_agents!()), agent)
}

/// Deletes an agent's row.
pub(crate) fn remove(tx: &Tx<'_>, name: &AgentName) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM agents WHERE name = $1"),
        params![name.as_str()],
    )?;
    Ok(())
}

/// Changes an agent's row.
pub(crate) fn update(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    const UPDATE: Statement<18> = sql!(
        insert_agents!(),
        " ON CONFLICT (name) DO UPDATE
          SET spec_path = excluded.spec_path, allowed_tools = excluded.allowed_tools,
              permission_mode = excluded.permission_mode, provider = excluded.provider, model = excluded.model,
              program = excluded.program, arguments = excluded.arguments, environment = excluded.environment,
              output_form = excluded.output_form, max_seconds = excluded.max_seconds, idle_seconds = excluded.idle_seconds,
              available = excluded.available, roles = excluded.roles, skills = excluded.skills,
              max_session_minutes = excluded.max_session_minutes, responsibilities = excluded.responsibilities,
              updated_at = excluded.updated_at"
    );
    write(tx, UPDATE, agent)
}

fn write(tx: &Tx<'_>, statement: Statement<18>, agent: &Agent) -> Result<()> {
    tx.execute(
        statement,
        params![
            agent.name.as_str(),
            agent.spec_path.as_str(),
            agent.allowed_tools.as_str(),
            agent.permission_mode.as_str(),
            agent.provider.as_str(),
            agent.model.as_ref().map(Text::as_str),
            agent.program.as_ref().map(Text::as_str),
            serde_json::to_string(&agent.arguments).expect("texts are JSON"),
            serde_json::to_string(&agent.environment).expect("texts are JSON"),
            String::from(agent.output_form.clone()),
            agent
                .max_seconds
                .map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)),
            agent
                .idle_seconds
                .map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)),
            agent.available,
            serde_json::to_string(&agent.roles).expect("words are JSON"),
            serde_json::to_string(&agent.skills).expect("words are JSON"),
            agent.max_session_duration.map(Minutes::get),
            agent.responsibilities.as_str(),
            tx.now.as_millis(),
        ],
    )?;
    ask_again_for(tx, agent)
}

/// Finds an agent within a transaction.
pub(crate) fn load(tx: &Tx<'_>, name: &AgentName) -> Result<Option<Agent>> {
    tx.row(ONE, params![name.as_str()], |row| from_row(row))
}

const ONE: Statement<1> = sql!(select_agents!(), " WHERE name = $1");

pub(crate) fn find(view: &View<'_>, name: &AgentName) -> Result<Option<Agent>> {
    view.row(ONE, params![name.as_str()], from_row)
}

pub(crate) fn list(view: &View<'_>) -> Result<Vec<Agent>> {
    const ALL: Statement<0> = sql!(select_agents!(), " ORDER BY name");
    view.rows(ALL, params![], from_row)
}

/// Lists the programs that agents name, and the providers of those that name none.
pub(crate) fn programs(view: &View<'_>) -> Result<Vec<(Option<String>, Provider)>> {
    view.rows(
        sql!("SELECT DISTINCT program, provider FROM agents"),
        params![],
        |row| Ok((row.optional_string(0)?, row.word(1, Provider::parse)?)),
    )
}
