//! The table `handoffs`: starting, ending and reading hand-offs.

use rusqlite::params;
use sqlx::SqlitePool;

use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use super::tasks::{self, StoredTask};
use super::writer::Tx;
use super::{agents, events, runs};
use crate::domain::{
    AgentName, ChainEntry, ChainLimits, EventKind, Handoff, HandoffId, Lineage, Mode, NewTask,
    Outcome, Refusal, Task, TaskId, Text,
};
use crate::store::{EndHandoff, Result, StartHandoff, StoreError};

pub(super) fn start(tx: &mut Tx<'_>, start: &StartHandoff) -> Result<Task> {
    if let Some(caller) = &start.caller
        && !runs::is_running(tx, &caller.run_id)?
    {
        // It was ended after its token was looked at; without this it would hand on its own task as if it were free.
        return Err(Refusal::RunEnded.into());
    }
    let mut on = tasks::load(tx, &start.task_id)?;
    let agent_name = agents::resolve(tx, &start.agent_name)?;
    let from_agent = start
        .caller
        .as_ref()
        .map(|caller| caller.agent_name.clone());
    if let Some(caller) = &start.caller
        && on
            .task
            .open_handoff()
            .is_some_and(|open| open.id == caller.handoff_id)
    {
        on = child(tx, &on, &agent_name, start.limits)?;
    }
    let StoredTask {
        number: task_number,
        mut task,
        ..
    } = on;
    let resumes = if start.resume {
        Some(last_session(tx, task_number, &agent_name)?)
    } else {
        None
    };
    let entry = task
        .start_handoff(agent_name.clone(), from_agent, tx.now)?
        .clone();
    let position = task.agent_chain().len();
    let handoff_number = insert(
        tx,
        task_number,
        position,
        &entry,
        start.prompt.as_str(),
        start.reason.as_ref(),
    )?;
    runs::queue(tx, handoff_number, entry.started_at, resumes.as_deref())?;
    tasks::update_status(tx, task_number, &task)?;
    let started = EventKind::HandoffStarted { agent_name };
    events::record(
        tx,
        &task.id,
        task_number,
        Some((&entry.id, handoff_number)),
        started,
    )?;
    Ok(task)
}

/// Makes the task on which the work goes on while the agent that hands on waits.
fn child(
    tx: &mut Tx<'_>,
    parent: &StoredTask,
    agent_name: &AgentName,
    limits: ChainLimits,
) -> Result<StoredTask> {
    let mut agents = tx.rows(
        sql!(
            "WITH RECURSIVE above (number, parent_number, distance) AS (
                 SELECT number, parent_number, 0 FROM tasks WHERE number = $1
                 UNION ALL
                 SELECT t.number, t.parent_number, distance + 1 FROM tasks t JOIN above ON t.number = above.parent_number
             )
             SELECT h.agent_name FROM above
               JOIN handoffs h ON h.task_number = above.number AND h.completed_at IS NULL
              ORDER BY distance DESC"
        ),
        params![parent.number],
        |row| row.parsed(0),
    )?;
    agents.push(agent_name.clone());
    let hops = tx.row(
        sql!(
            "WITH RECURSIVE above (number, parent_number) AS (
                 SELECT number, parent_number FROM tasks WHERE number = $1
                 UNION ALL
                 SELECT t.number, t.parent_number FROM tasks t JOIN above ON t.number = above.parent_number
             ), tree (number) AS (
                 SELECT number FROM above WHERE parent_number IS NULL
                 UNION ALL
                 SELECT t.number FROM tasks t JOIN tree ON t.parent_number = tree.number
             )
             SELECT count(*) FROM tree JOIN handoffs h ON h.task_number = tree.number WHERE h.from_agent IS NOT NULL"
        ),
        params![parent.number],
        |row| row.integer(0),
    )?;
    let hops = u32::try_from(hops.unwrap_or_default()).unwrap_or(u32::MAX);
    Lineage { agents, hops }.check(limits)?;
    let task = &parent.task;
    let new = NewTask {
        id: TaskId::new(),
        description: task.description.clone(),
        parent_id: Some(task.id.clone()),
        source: task.source.clone(),
        agent_workspace: task.agent_workspace.clone(),
    };
    let child = tasks::create(tx, &new)?;
    let created = EventKind::ChildTaskCreated {
        task_id: child.id.clone(),
        agent_name: agent_name.clone(),
    };
    events::record(tx, &task.id, parent.number, None, created)?;
    tasks::load(tx, &child.id)
}

/// Finds the session that an agent had last on a task.
fn last_session(tx: &Tx<'_>, task_number: i64, agent_name: &AgentName) -> Result<String> {
    tx.row(
        sql!(
            "SELECT r.session_id FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE h.task_number = $1 AND h.agent_name = $2 AND r.session_id IS NOT NULL
              ORDER BY r.number DESC LIMIT 1"
        ),
        params![task_number, agent_name.as_str()],
        |row| row.string(0),
    )?
    .ok_or_else(|| Refusal::NothingToResume(agent_name.clone()).into())
}

/// Inserts a hand-off's own row and returns its number.
pub(super) fn insert(
    tx: &Tx<'_>,
    task_number: i64,
    position: usize,
    entry: &ChainEntry,
    prompt: &str,
    reason: Option<&Text>,
) -> Result<i64> {
    let end = entry.end.as_ref();
    tx.insert(
        sql!(
            "INSERT INTO handoffs (id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                   outcome, reason, output, prompt)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        ),
        params![
            entry.id.as_str(),
            task_number,
            i64::try_from(position).map_err(StoreError::inconsistent)?,
            entry.agent_name.as_str(),
            entry.from_agent.as_ref().map(AgentName::as_str),
            entry.mode.as_str(),
            entry.started_at.as_millis(),
            end.map(|end| end.at.as_millis()),
            end.map(|end| end.outcome.as_str()),
            reason.map(Text::as_str),
            end.map_or("", |end| end.output.as_str()),
            prompt,
        ],
    )
}

pub(super) fn end(tx: &mut Tx<'_>, end: &EndHandoff) -> Result<Task> {
    let (task, handoff_number) =
        close(tx, tasks::load(tx, &end.task_id)?, end.outcome, &end.output)?;
    // Whoever ends the hand-off from outside stops the run, which then has not completed itself.
    runs::end(tx, handoff_number, Outcome::Cancelled)?;
    Ok(task)
}

/// Ends the open hand-off of a task and returns its number.
pub(super) fn close(
    tx: &mut Tx<'_>,
    on: StoredTask,
    outcome: Outcome,
    output: &Text,
) -> Result<(Task, i64)> {
    let StoredTask {
        number: task_number,
        mut task,
        ..
    } = on;
    let entry = task.end_handoff(outcome, output.clone(), tx.now)?.clone();
    // Not RETURNING, for which SQLite builds a temporary tree.
    let handoff_number = tx
        .row(
            sql!("SELECT number FROM handoffs WHERE task_number = $1 AND completed_at IS NULL"),
            params![task_number],
            |row| row.integer(0),
        )?
        .ok_or_else(|| StoreError::inconsistent(format!("no open hand-off on task {}", task.id)))?;
    tx.execute(
        sql!("UPDATE handoffs SET completed_at = $1, outcome = $2, output = $3 WHERE number = $4"),
        params![
            tx.now.as_millis(),
            outcome.as_str(),
            output.as_str(),
            handoff_number
        ],
    )?;
    tasks::update_status(tx, task_number, &task)?;
    let ended = EventKind::HandoffEnded {
        agent_name: entry.agent_name,
        outcome,
        output: output.clone(),
    };
    events::record(
        tx,
        &task.id,
        task_number,
        Some((&entry.id, handoff_number)),
        ended,
    )?;
    Ok((task, handoff_number))
}

macro_rules! select_handoffs {
    () => {
        "SELECT h.id, t.id, h.agent_name, h.from_agent, h.mode, h.prompt, h.reason, h.started_at, h.completed_at,
                h.output, h.outcome, r.usage, r.cost_usd,
                r.id, r.attempt, r.state, r.outcome, r.queued_at, r.started_at, r.ended_at
           FROM handoffs h
           JOIN tasks t ON t.number = h.task_number
           LEFT JOIN runs r ON r.handoff_number = h.number
                           AND r.attempt = (SELECT max(attempt) FROM runs WHERE handoff_number = h.number)"
    };
}

fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Handoff> {
    let output = row.text(9)?;
    let outcome = row.optional_word(10, Outcome::parse)?;
    Ok(Handoff {
        id: row.parsed(0)?,
        task_id: row.parsed(1)?,
        agent_name: row.parsed(2)?,
        from_agent: row.optional_parsed(3)?,
        mode: row.word(4, Mode::parse)?,
        prompt: row.text(5)?,
        reason: row.optional_text(6)?,
        started_at: row.timestamp(7)?,
        completed_at: row.optional_timestamp(8)?,
        error: outcome
            .filter(|outcome| *outcome != Outcome::Completed)
            .map(|_| output.clone()),
        output,
        outcome,
        usage: row.optional_json(11)?,
        cost_usd: row.optional_real(12)?,
        run: runs::from_row(row, 13)?,
    })
}

pub(super) async fn find(readers: &SqlitePool, id: &HandoffId) -> Result<Option<Handoff>> {
    const ONE: Statement = sql!(select_handoffs!(), " WHERE h.id = $1");
    query!(ONE, id.as_str())
        .fetch_optional(readers)
        .await?
        .as_ref()
        .map(from_row)
        .transpose()
}

pub(super) async fn list(readers: &SqlitePool, task_id: &TaskId) -> Result<Option<Vec<Handoff>>> {
    const OF_TASK: Statement = sql!(
        select_handoffs!(),
        " WHERE h.task_number = $1 ORDER BY h.position"
    );
    let Some(number) = tasks::find_number(readers, task_id).await? else {
        return Ok(None);
    };
    let rows = query!(OF_TASK, number).fetch_all(readers).await?;
    row::all(&rows, from_row).map(Some)
}
