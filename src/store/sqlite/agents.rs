//! The table `agents`.

use rusqlite::params;
use sqlx::SqliteExecutor;

use super::events;
use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use super::writer::Tx;
use crate::domain::{
    Agent, AgentEvent, AgentName, EventKind, Minutes, Provider, Refusal, Text, match_agent_name,
};
use crate::store::{AgentPut, ChangeAgent, PutAgent, Result, StoreError};

/// How many of those that need an agent are named.
const MOST_NAMED: usize = 10;

macro_rules! select_agents {
    () => {
        "SELECT name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments, environment,
                output_form, max_seconds, idle_seconds, available, roles, skills, max_session_minutes, responsibilities
           FROM agents"
    };
}

fn from_row(row: &impl Columns) -> Result<Agent> {
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

fn seconds(row: &impl Columns, column: usize) -> Result<Option<u64>> {
    row.optional_integer(column)?
        .map(|seconds| u64::try_from(seconds).map_err(StoreError::inconsistent))
        .transpose()
}

/// Finds the agent that a hand-off means, which must be available.
pub(super) fn resolve(tx: &Tx<'_>, asked: &str) -> Result<AgentName> {
    let (name, is_available) = match find_available(tx, asked)? {
        Some(found) => found,
        None => find_alike(tx, asked)?,
    };
    if is_available {
        Ok(name)
    } else {
        Err(Refusal::AgentUnavailable(name).into())
    }
}

/// Finds the agent whose name is meant, though it is not written so.
fn find_alike(tx: &Tx<'_>, asked: &str) -> Result<(AgentName, bool)> {
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

fn find_available(tx: &Tx<'_>, name: &str) -> Result<Option<(AgentName, bool)>> {
    tx.row(
        sql!("SELECT name, available FROM agents WHERE name = $1"),
        params![name],
        |row| Ok((row.parsed(0)?, row.integer(1)? != 0)),
    )
}

/// Says that there is no such agent, and which there are.
pub(super) fn unknown(asked: &AgentName, known: &[AgentName]) -> String {
    let names: Vec<_> = known.iter().map(AgentName::as_str).collect();
    format!(
        "unknown agent {asked}; the agents are: {}",
        names.join(", ")
    )
}

/// Lists the names of the agents.
pub(super) fn names(tx: &Tx<'_>) -> Result<Vec<AgentName>> {
    tx.rows(sql!("SELECT name FROM agents ORDER BY name"), [], |row| {
        row.parsed(0)
    })
}

/// Plants agents, unless that was done before or there are any.
pub(super) fn seed(tx: &Tx<'_>, agents: &[Agent]) -> Result<usize> {
    if !mark_seeded(tx)? {
        return Ok(0);
    }
    let is_empty = tx
        .row(sql!("SELECT 1 FROM agents LIMIT 1"), [], |_| Ok(()))?
        .is_none();
    let planted = if is_empty { agents } else { &[] };
    for agent in planted {
        insert(tx, agent)?;
    }
    Ok(planted.len())
}

/// Notes that the default agents need not be planted any more. Returns whether that is new.
pub(super) fn mark_seeded(tx: &Tx<'_>) -> Result<bool> {
    let changed = tx.execute(
        sql!("UPDATE installation SET seeded_at = $1 WHERE seeded_at IS NULL"),
        params![tx.now.as_millis()],
    )?;
    Ok(changed == 1)
}

/// Plants the specialists, unless that was done before. One whose name is there already is left out.
pub(super) fn seed_specialists(tx: &Tx<'_>, agents: &[Agent]) -> Result<usize> {
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
pub(super) fn mark_specialists_planted(tx: &Tx<'_>) -> Result<bool> {
    let changed = tx.execute(
        sql!("UPDATE installation SET specialists_planted_at = $1 WHERE specialists_planted_at IS NULL"),
        params![tx.now.as_millis()],
    )?;
    Ok(changed == 1)
}

/// Makes an agent, or puts it in the place of the one that has its name.
pub(super) fn put(tx: &mut Tx<'_>, put: &PutAgent) -> Result<AgentPut> {
    let before = load(tx, &put.agent.name)?;
    if let Some(before) = before.as_ref().filter(|_| put.only_new) {
        return Err(Refusal::AgentExists(before.name.clone()).into());
    }
    let mut problems = put.agent.check();
    if before.is_none() {
        problems.0.extend(put.agent.check_new_name().0);
    }
    problems.0.extend(put.problems.0.clone());
    problems.none_or(|| ()).map_err(Refusal::Invalid)?;
    let is_new = before.is_none();
    let agent = match before {
        Some(before) => {
            let agent = Agent {
                name: before.name.clone(),
                ..put.agent.clone()
            };
            update(tx, &before, &agent)?;
            agent
        }
        None => {
            let agent = put.agent.clone();
            if let Some(like) = match_agent_name(agent.name.as_str(), &names(tx)?) {
                let (name, like) = (agent.name, like.clone());
                return Err(Refusal::AgentAlike { name, like }.into());
            }
            insert(tx, &agent)?;
            record(tx, &agent.name, AgentEvent::Created)?;
            agent
        }
    };
    Ok(AgentPut { agent, is_new })
}

/// Changes an agent. What was wrong with it before does not keep anybody from changing something else.
pub(super) fn change(tx: &mut Tx<'_>, change: &ChangeAgent) -> Result<Agent> {
    let by_itself = change.caller.as_ref();
    if let Some(run) = by_itself.filter(|run| !run.agent_name.is_same(&change.name)) {
        return Err(Refusal::NotItsOwnAgent {
            agent: run.agent_name.clone(),
            asked: change.name.clone(),
        }
        .into());
    }
    let before = load(tx, &change.name)?;
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
    update(tx, &before, &agent)?;
    Ok(agent)
}

pub(super) fn delete(tx: &mut Tx<'_>, name: &AgentName) -> Result<Agent> {
    let agent = load(tx, name)?.ok_or_else(|| Refusal::AgentNotFound(name.clone()))?;
    let by = needed_by(tx, &agent.name)?;
    if !by.is_empty() {
        let name = agent.name;
        return Err(Refusal::AgentNeeded { name, by }.into());
    }
    tx.execute(
        sql!("DELETE FROM agents WHERE name = $1"),
        params![agent.name.as_str()],
    )?;
    ask_again(tx)?;
    record(tx, &agent.name, AgentEvent::Deleted)?;
    Ok(agent)
}

/// Lists what cannot do without an agent.
fn needed_by(tx: &Tx<'_>, name: &AgentName) -> Result<Vec<String>> {
    let mut by = Vec::new();
    let mut add = |what: &str, found: Vec<String>| {
        if let Some((more, named)) = found.get(MOST_NAMED..).zip(found.get(..MOST_NAMED)) {
            by.push(format!(
                "{what} {} and {} more",
                named.join(", "),
                more.len()
            ));
        } else if !found.is_empty() {
            by.push(format!("{what} {}", found.join(", ")));
        }
    };
    let name = params![name.as_str()];
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

fn text(row: &rusqlite::Row<'_>) -> Result<String> {
    Ok(row.get(0)?)
}

fn record(tx: &mut Tx<'_>, name: &AgentName, event: AgentEvent) -> Result<()> {
    let name = name.clone();
    events::record_of_none(tx, EventKind::Agent { name, event })
}

/// Lets the router ask again who suits the tasks for which there was nobody. Every write of an agent ends here.
fn ask_again(tx: &Tx<'_>) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_unsuited = 0 WHERE waiting_reason IS NOT NULL AND is_unsuited = 1"
        ),
        [],
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
pub(super) fn insert(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    write(tx, sql!(insert_agents!()), agent)
}

/// Changes an agent's row, if anything of it is new.
fn update(tx: &mut Tx<'_>, before: &Agent, agent: &Agent) -> Result<()> {
    const UPDATE: Statement = sql!(
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
    let keys = before.keys_that_differ(agent);
    if keys.is_empty() {
        return Ok(());
    }
    write(tx, UPDATE, agent)?;
    record(tx, &agent.name, AgentEvent::Changed(keys))
}

fn write(tx: &Tx<'_>, statement: Statement, agent: &Agent) -> Result<()> {
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
    ask_again(tx)
}

/// Finds an agent within a transaction.
pub(super) fn load(tx: &Tx<'_>, name: &AgentName) -> Result<Option<Agent>> {
    tx.row(ONE, params![name.as_str()], |row| from_row(row))
}

const ONE: Statement = sql!(select_agents!(), " WHERE name = $1");

pub(super) async fn find(
    readers: impl SqliteExecutor<'_>,
    name: &AgentName,
) -> Result<Option<Agent>> {
    query!(ONE, name.as_str())
        .fetch_optional(readers)
        .await?
        .as_ref()
        .map(from_row)
        .transpose()
}

pub(super) async fn list(readers: impl SqliteExecutor<'_>) -> Result<Vec<Agent>> {
    const ALL: Statement = sql!(select_agents!(), " ORDER BY name");
    let rows = query!(ALL).fetch_all(readers).await?;
    row::all(&rows, from_row)
}
