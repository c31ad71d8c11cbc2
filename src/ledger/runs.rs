//! The table `runs`: queueing, taking, following and ending runs.

use super::{dispatches, message};
use crate::domain::{
    AgentName, EventKind, HandoffId, Mode, NewMessage, Outcome, Run, RunId, RunIdentity, RunState,
    TaskId, Text, Timestamp,
};
use crate::ledger::handoff::{Cause, Ending};
use crate::ledger::{history, reactions, task};
use crate::store::tables::agents;
use crate::store::tables::tasks::{TaskKeys, TaskRef};
use crate::store::{
    ClaimedRun, FinishRun, Result, Row, Statement, StoreError, TokenHolder, Tx, View, params, sql,
};

/// Queues the first run of a hand-off.
pub(crate) fn queue(
    tx: &Tx<'_>,
    handoff_number: i64,
    at: Timestamp,
    resumes: Option<&str>,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, resumes)
             VALUES ($1, $2, 1, 'queued', $3, $4)"
        ),
        params![
            RunId::new().as_str(),
            handoff_number,
            at.as_millis(),
            resumes
        ],
    )?;
    Ok(())
}

/// Inserts a run that was at work when its task was exported.
pub(crate) fn insert_running(tx: &Tx<'_>, handoff_number: i64, at: Timestamp) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, started_at)
             VALUES ($1, $2, 1, 'running', $3, $3)"
        ),
        params![RunId::new().as_str(), handoff_number, at.as_millis()],
    )?;
    Ok(())
}

/// Inserts the run that had started a job elsewhere when its task was exported: the job goes on.
pub(crate) fn insert_job_starter(tx: &Tx<'_>, handoff_number: i64, at: Timestamp) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, started_at, ended_at, outcome)
             VALUES ($1, $2, 1, 'ended', $3, $3, $3, 'completed')"
        ),
        params![RunId::new().as_str(), handoff_number, at.as_millis()],
    )?;
    Ok(())
}

/// Ends the run of a hand-off that has not ended, if there is one.
pub(crate) fn end(tx: &Tx<'_>, handoff_number: i64, outcome: Outcome) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE runs SET state = 'ended', outcome = $1, ended_at = $2
              WHERE handoff_number = $3 AND state <> 'ended'"
        ),
        params![outcome.as_str(), tx.now.as_millis(), handoff_number],
    )?;
    Ok(())
}

/// Takes the next run, if a slot is free.
pub(crate) fn claim(
    tx: &mut Tx<'_>,
    max_runs: u32,
    data_dir: &str,
    live: &[RunId],
    token_hash: &[u8; 32],
) -> Result<Option<ClaimedRun>> {
    let live = serde_json::to_string(live).expect("ids are JSON");
    let occupied = tx.row(
        sql!(
            "SELECT (SELECT count(*) FROM runs r
                       JOIN handoffs h ON h.number = r.handoff_number
                      WHERE r.state <> 'ended' AND r.state = 'running'
                        AND NOT EXISTS (SELECT 1 FROM handoffs o
                                         WHERE o.waiter_number = h.number AND o.completed_at IS NULL))
                  + (SELECT count(*) FROM json_each($1) live
                       JOIN runs r ON r.id = live.value
                      WHERE r.state = 'ended')"
        ),
        params![live],
        |row| row.integer(0),
    )?;
    if occupied.unwrap_or_default() >= i64::from(max_runs) {
        return Ok(None);
    }
    let next = tx.row(
        sql!(
            "SELECT r.number FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE r.state = 'queued'
                AND NOT EXISTS (SELECT 1 FROM json_each($1) live
                                  JOIN runs l ON l.id = live.value
                                  JOIN handoffs o ON o.number = l.handoff_number
                                 WHERE o.task_number = h.task_number OR (o.number = h.from_number AND l.state = 'ended'))
              ORDER BY r.priority, r.number LIMIT 1"
        ),
        params![live],
        |row| row.integer(0),
    )?;
    let Some(number) = next else { return Ok(None) };
    tx.execute(
        sql!(
            "UPDATE runs SET state = 'running', started_at = $1, token_hash = $2, claimed_in = $3 WHERE number = $4"
        ),
        params![tx.now.as_millis(), token_hash, data_dir, number],
    )?;
    let claimed = load(tx, number)?;
    let RunIdentity {
        handoff_id,
        agent_name,
        ..
    } = &claimed.identity;
    let place = place(tx, number)?;
    let started = EventKind::RunStarted {
        agent_name: agent_name.clone(),
    };
    let handoff = Some((handoff_id, place.handoff_number));
    history::record(tx, place.on(), handoff, started)?;
    Ok(Some(claimed))
}

/// The task and the hand-off of a run.
struct Place {
    task: TaskKeys,
    task_id: TaskId,
    handoff_number: i64,
    handoff_id: HandoffId,
}

impl Place {
    const fn on(&self) -> TaskRef<'_> {
        self.task.on(&self.task_id)
    }
}

/// Finds the task and the hand-off of a run, without reading what they hold.
fn place(tx: &Tx<'_>, run_number: i64) -> Result<Place> {
    tx.row(
        sql!(
            "SELECT t.number, coalesce(t.master_number, t.number), m.id, t.id, h.number, h.id FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
               JOIN tasks t ON t.number = h.task_number
               LEFT JOIN tasks m ON m.number = t.master_number
              WHERE r.number = $1"
        ),
        params![run_number],
        |row| {
            Ok(Place {
                task: TaskKeys { number: row.get(0)?, root_number: row.get(1)?, root_id: row.get(2)? },
                task_id: row.parsed(3)?,
                handoff_number: row.integer(4)?,
                handoff_id: row.parsed(5)?,
            })
        },
    )?
    .ok_or_else(|| StoreError::inconsistent(format!("run {run_number} has no hand-off")))
}

/// Loads a run with all that is needed to start or follow it.
fn load(tx: &Tx<'_>, number: i64) -> Result<ClaimedRun> {
    let found = tx.row(
        sql!(
            "SELECT r.id, h.id, t.id, h.agent_name, h.prompt, h.reason, h.from_agent, r.resumes, r.followed_bytes,
                    r.claimed_in, h.mode, h.trace_id, h.number
               FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
               JOIN tasks t ON t.number = h.task_number
              WHERE r.number = $1"
        ),
        params![number],
        |row| {
            let identity = RunIdentity {
                run_id: row.parsed(0)?,
                handoff_id: row.parsed(1)?,
                task_id: row.parsed(2)?,
                agent_name: row.parsed(3)?,
            };
            let followed_bytes = u64::try_from(row.integer(8)?).map_err(StoreError::inconsistent)?;
            let trace_id = row.optional_parsed(11)?;
            let task = task::load(tx, &identity.task_id)?.task;
            let agent = agents::find(tx, &identity.agent_name)?
                .map(|agent| dispatches::as_job_starter(tx, row.integer(12)?, agent))
                .transpose()?;
            Ok(ClaimedRun {
                trace_id: trace_id.unwrap_or_else(|| (&identity.handoff_id).into()),
                identity,
                task,
                agent,
                prompt: row.text(4)?,
                reason: row.optional_text(5)?,
                from_agent: row.optional_parsed(6)?,
                mode: row.word(10, Mode::parse)?,
                starts_job: dispatches::starts_job(tx, row.integer(12)?)?,
                resumes: row.optional_string(7)?,
                claimed_in: row.optional_string(9)?,
                followed_bytes,
                carried_bytes: tx.rules.carried_bytes,
            })
        },
    )?;
    found.ok_or_else(|| StoreError::inconsistent(format!("run {number} is not there")))
}

/// Puts a run back that was taken and never started.
pub(crate) fn put_back(tx: &Tx<'_>, run_id: &RunId) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE runs SET state = 'queued', started_at = NULL, token_hash = NULL
              WHERE id = $1 AND state = 'running'"
        ),
        params![run_id.as_str()],
    )?;
    Ok(())
}

/// Lists the runs that were started and have not ended.
pub(crate) fn running(tx: &Tx<'_>) -> Result<Vec<ClaimedRun>> {
    // The first condition is that of the index `runs_not_ended`; without it the whole table is read.
    let mut numbers = tx.rows(
        sql!("SELECT number FROM runs WHERE state <> 'ended' AND state = 'running'"),
        params![],
        |row| row.integer(0),
    )?;
    numbers.sort_unstable();
    numbers.into_iter().map(|number| load(tx, number)).collect()
}

/// Finds a run, whatever became of it.
pub(crate) fn find(tx: &Tx<'_>, run_id: &RunId) -> Result<Option<ClaimedRun>> {
    let number = tx.row(
        sql!("SELECT number FROM runs WHERE id = $1"),
        params![run_id.as_str()],
        |row| row.integer(0),
    )?;
    number.map(|number| load(tx, number)).transpose()
}

/// Finds the run of a hand-off that has not ended.
pub(crate) fn not_ended(tx: &Tx<'_>, handoff_number: i64) -> Result<Option<RunId>> {
    tx.row(
        sql!("SELECT id FROM runs WHERE handoff_number = $1 AND state <> 'ended'"),
        params![handoff_number],
        |row| row.parsed(0),
    )
}

/// Finds the agent to which control moved from a hand-off.
pub(crate) fn moved_on(view: &View<'_>, id: &HandoffId) -> Result<Option<AgentName>> {
    view.row(MOVED_ON, params![id.as_str()], |row| row.parsed(0))
}

/// Tells whether a run works.
pub(crate) fn is_running(tx: &Tx<'_>, run_id: &RunId) -> Result<bool> {
    let found = tx.row(
        sql!("SELECT 1 FROM runs WHERE id = $1 AND state = 'running'"),
        params![run_id.as_str()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Finds the number of a run.
fn number(tx: &Tx<'_>, run_id: &RunId) -> Result<i64> {
    tx.row(
        sql!("SELECT number FROM runs WHERE id = $1"),
        params![run_id.as_str()],
        |row| row.integer(0),
    )?
    .ok_or_else(|| StoreError::inconsistent(format!("run {run_id} is not there")))
}

/// Records what an agent said, and up to where its output was read.
pub(crate) fn record_messages(
    tx: &mut Tx<'_>,
    run_id: &RunId,
    said: &[NewMessage],
    followed_bytes: u64,
) -> Result<()> {
    let run_number = number(tx, run_id)?;
    let advanced = tx.execute(
        sql!("UPDATE runs SET followed_bytes = $1 WHERE number = $2 AND state <> 'ended'"),
        params![
            i64::try_from(followed_bytes).map_err(StoreError::inconsistent)?,
            run_number
        ],
    )?;
    // Somebody ended it from outside; what the process says since then is in its log.
    if advanced == 0 {
        return Ok(());
    }
    let place = place(tx, run_number)?;
    for message in said {
        let handoff = Some((&place.handoff_id, place.handoff_number));
        message::record(tx, place.on(), handoff, message)?;
    }
    Ok(())
}

/// Ends a run and, if it is still open, its hand-off.
pub(crate) fn finish(tx: &mut Tx<'_>, finish: &FinishRun) -> Result<bool> {
    let run_number = number(tx, &finish.run_id)?;
    let ended = tx.execute(
        sql!(
            "UPDATE runs SET state = 'ended', outcome = $1, ended_at = $2
              WHERE number = $3 AND state <> 'ended'"
        ),
        params![finish.outcome.as_str(), tx.now.as_millis(), run_number],
    )?;
    tx.execute(
        sql!("UPDATE runs SET session_id = $1, usage = $2, cost_usd = $3 WHERE number = $4"),
        params![
            finish.session_id,
            finish.usage.as_ref().map(ToString::to_string),
            finish.cost_usd,
            run_number
        ],
    )?;
    // Somebody ended it from outside; what the process made of it is in its log.
    if ended == 0 {
        return Ok(false);
    }
    let place = place(tx, run_number)?;
    if finish.outcome == Outcome::Completed
        && dispatches::starts_job(tx, place.handoff_number)?
        && let Some(line) = finish.output.as_str().trim().lines().next_back()
    {
        // The job goes on elsewhere, and the hand-off with it.
        let job_id = Text::lossy(line.trim().to_owned());
        dispatches::job_started(tx, place.handoff_number, &job_id)?;
        return Ok(false);
    }
    let on = task::load(tx, &place.task_id)?;
    let ending = Ending {
        cause: Cause::RunEnded,
        outcome: finish.outcome,
        output: &finish.output,
        has_reason: true,
    };
    reactions::end_handoff(tx, on, &ending)?;
    Ok(true)
}

/// Reads a run from a column on, if one was joined.
pub(crate) fn from_row(row: &Row<'_>, column: usize) -> Result<Option<Run>> {
    let Some(id) = row.optional_parsed(column)? else {
        return Ok(None);
    };
    Ok(Some(Run {
        id,
        attempt: u32::try_from(row.integer(column + 1)?).map_err(StoreError::inconsistent)?,
        state: row.word(column + 2, RunState::parse)?,
        outcome: row.optional_word(column + 3, Outcome::parse)?,
        queued_at: row.timestamp(column + 4)?,
        started_at: row.optional_timestamp(column + 5)?,
        ended_at: row.optional_timestamp(column + 6)?,
    }))
}

/// Finds where control went when its agent passed it on; a run that was stopped has not passed it.
const MOVED_ON: Statement<1> = sql!(
    "WITH done (number, task_number, position) AS (
         SELECT h.number, h.task_number, h.position FROM handoffs h
           JOIN runs r ON r.handoff_number = h.number AND r.state = 'ended' AND r.outcome = 'completed'
          WHERE h.id = $1
     )
     SELECT n.agent_name FROM done JOIN handoffs n ON n.from_number = done.number AND n.mode = 'transfer'
     UNION ALL
     SELECT n.agent_name FROM done
       JOIN handoffs n ON n.task_number = done.task_number AND n.position = done.position + 1 AND n.mode = 'session'
     LIMIT 1"
);

/// Finds who has a token.
pub(crate) fn token_holder(view: &View<'_>, token_hash: [u8; 32]) -> Result<Option<TokenHolder>> {
    const BY_TOKEN: Statement<1> = sql!(
        "SELECT r.id, h.id, t.id, h.agent_name, r.state
           FROM runs r
           JOIN handoffs h ON h.number = r.handoff_number
           JOIN tasks t ON t.number = h.task_number
          WHERE r.token_hash = $1"
    );
    let found = view.row(BY_TOKEN, params![token_hash], |row| {
        let identity = RunIdentity {
            run_id: row.parsed(0)?,
            handoff_id: row.parsed(1)?,
            task_id: row.parsed(2)?,
            agent_name: row.parsed(3)?,
        };
        Ok((identity, row.word(4, RunState::parse)?))
    })?;
    let Some((identity, state)) = found else {
        return Ok(None);
    };
    match state {
        RunState::Queued => Ok(None),
        RunState::Running => Ok(Some(TokenHolder::Working(identity))),
        RunState::Ended => {
            let moved = moved_on(view, &identity.handoff_id)?;
            Ok(moved.map(|agent_name| TokenHolder::MovedOn {
                run: identity,
                agent_name,
            }))
        }
    }
}

/// Finds the last run of a hand-off.
pub(crate) fn of_handoff(view: &View<'_>, id: &HandoffId) -> Result<Option<RunId>> {
    view.row(
        sql!(
            "SELECT r.id FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE h.id = $1
              ORDER BY r.attempt DESC LIMIT 1"
        ),
        params![id.as_str()],
        |row| row.parsed(0),
    )
}
