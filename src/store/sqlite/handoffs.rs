//! The table `handoffs`: starting, ending and reading hand-offs.

use rusqlite::params;
use sqlx::SqlitePool;

use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use super::tasks::{self, StoredTask};
use super::writer::Tx;
use super::{agents, events, runs};
use crate::domain::{
    AgentName, ChainEntry, EventKind, Handoff, HandoffId, Mode, Outcome, Refusal, Task, TaskId,
    Text,
};
use crate::store::{EndHandoff, Result, StartHandoff, StoreError};

pub(super) fn start(tx: &mut Tx<'_>, start: &StartHandoff) -> Result<Task> {
    let StoredTask {
        number: task_number,
        mut task,
        ..
    } = tasks::load(tx, &start.task_id)?;
    let agent_name = agents::resolve(tx, &start.agent_name)?;
    if start.resume {
        return Err(Refusal::NothingToResume(agent_name).into());
    }
    let entry = task.start_handoff(agent_name.clone(), tx.now)?.clone();
    let position = task.agent_chain().len();
    let handoff_number = insert(
        tx,
        task_number,
        position,
        &entry,
        start.prompt.as_str(),
        start.reason.as_ref(),
    )?;
    runs::queue(tx, handoff_number, entry.started_at)?;
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
    let StoredTask {
        number: task_number,
        mut task,
        ..
    } = tasks::load(tx, &end.task_id)?;
    let entry = task
        .end_handoff(end.outcome, end.output.clone(), tx.now)?
        .clone();
    // Not RETURNING, for which SQLite builds a temporary tree.
    let handoff_number = tx
        .row(
            sql!("SELECT number FROM handoffs WHERE task_number = $1 AND completed_at IS NULL"),
            params![task_number],
            |row| row.integer(0),
        )?
        .ok_or_else(|| {
            StoreError::inconsistent(format!("no open hand-off on task {}", end.task_id))
        })?;
    tx.execute(
        sql!("UPDATE handoffs SET completed_at = $1, outcome = $2, output = $3 WHERE number = $4"),
        params![
            tx.now.as_millis(),
            end.outcome.as_str(),
            end.output.as_str(),
            handoff_number
        ],
    )?;
    // Whoever ends the hand-off from outside stops the run, which then has not completed itself.
    runs::end(tx, handoff_number, Outcome::Cancelled)?;
    tasks::update_status(tx, task_number, &task)?;
    let ended = EventKind::HandoffEnded {
        agent_name: entry.agent_name,
        outcome: end.outcome,
        output: end.output.clone(),
    };
    events::record(
        tx,
        &task.id,
        task_number,
        Some((&entry.id, handoff_number)),
        ended,
    )?;
    Ok(task)
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
