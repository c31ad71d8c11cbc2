//! The table `runs`.

use serde_json::Value;

use super::tasks::TaskRef;
use crate::domain::{
    AgentName, Door, HandoffId, Isolation, Outcome, ProviderSession, RunId, RunIdentity, RunState,
    TaskId, Text, Timestamp, TraceId,
};
use crate::store::{FromRow, Result, Statement, StoreError, Tx, View, columns, params, sql};

/// The condition under which a run `r` of a hand-off `h` occupies a slot: the run has not ended, and its agent does not wait
/// for an agent that it asked.
const OCCUPIES_A_SLOT: &str = "r.state <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM handoffs o WHERE o.waiter_number = h.number AND o.completed_at IS NULL)";

/// A run, joined with its hand-off and its task.
const FROM: &str = " FROM runs r
      JOIN handoffs h ON h.number = r.handoff_number
      JOIN tasks t ON t.number = h.task_number";

columns! {
    /// A run with the input of its agent.
    pub struct RunRow {
        pub run_id: RunId = "r.id",
        pub handoff_id: HandoffId = "h.id",
        pub task_id: TaskId = "t.id",
        pub agent_name: AgentName = "h.agent_name",
        pub handoff_number: i64 = "h.number",
        pub prompt: Text = "h.prompt",
        pub reason: Option<Text> = "h.reason",
        pub from_agent: Option<AgentName> = "h.from_agent",
        pub mode: Door = "h.mode",
        pub is_chat: bool = "h.is_chat",
        pub trace_id: Option<TraceId> = "h.trace_id",
        /// The provider's session to resume.
        pub resumes: Option<String> = "r.resumes",
        /// The installation of the claiming server: the path of its data directory and the identity of that directory.
        pub claimed_in: Option<String> = "r.claimed_in",
        /// The bytes of its output that were already recorded as messages.
        pub followed_bytes: u64 = "r.followed_bytes",
        /// The bytes of its standard error whose errors were already recorded as messages.
        pub followed_error_bytes: u64 = "r.followed_error_bytes",
        pub isolation: Option<Isolation> = "r.isolation",
        pub launched_at: Option<Timestamp> = "r.launched_at",
        pub max_seconds: Option<u64> = "r.max_seconds",
        pub idle_seconds: Option<u64> = "r.idle_seconds",
    }
}

columns! {
    /// The task and the hand-off of a run, without their content.
    pub struct RunPlace {
        task_number: i64 = "t.number",
        root_number: i64 = "coalesce(t.master_number, t.number)",
        root_id: Option<TaskId> = "(SELECT m.id FROM tasks m WHERE m.number = t.master_number)",
        pub task_id: TaskId = "t.id",
        pub handoff_number: i64 = "h.number",
        pub handoff_id: HandoffId = "h.id",
    }
}

impl RunPlace {
    pub const fn on(&self) -> TaskRef<'_> {
        TaskRef {
            number: self.task_number,
            root_number: self.root_number,
            id: &self.task_id,
            root_id: self.root_id.as_ref(),
        }
    }
}

columns! {
    struct IdentityRow {
        run_id: RunId = "r.id",
        handoff_id: HandoffId = "h.id",
        task_id: TaskId = "t.id",
        agent_name: AgentName = "h.agent_name",
        state: RunState = "r.state",
    }
}

/// Inserts the first run of a hand-off, queued.
pub fn insert_queued(
    tx: &Tx<'_>,
    id: &RunId,
    handoff_number: i64,
    at: Timestamp,
    resumes: Option<&ProviderSession>,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, resumes)
             VALUES ($1, $2, 1, 'queued', $3, $4)"
        ),
        params![id, handoff_number, at, resumes],
    )?;
    Ok(())
}

/// Inserts a run of a hand-off, already started.
pub fn insert_running(
    tx: &Tx<'_>,
    id: &RunId,
    handoff_number: i64,
    attempt: u32,
    at: Timestamp,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, started_at)
             VALUES ($1, $2, $3, 'running', $4, $4)"
        ),
        params![id, handoff_number, attempt, at],
    )?;
    Ok(())
}

/// Inserts the first run of a hand-off, already completed.
pub fn insert_completed(tx: &Tx<'_>, id: &RunId, handoff_number: i64, at: Timestamp) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, started_at, ended_at, outcome)
             VALUES ($1, $2, 1, 'ended', $3, $3, $3, 'completed')"
        ),
        params![id, handoff_number, at],
    )?;
    Ok(())
}

/// Counts the runs that occupy a slot: active runs, and ended runs whose processes are still alive.
pub fn count_occupied(view: &View<'_>, live: &[RunId]) -> Result<u64> {
    view.one(
        sql!(
            "SELECT (SELECT count(*) FROM runs r JOIN handoffs h ON h.number = r.handoff_number
                      WHERE r.state = 'running' AND ",
            OCCUPIES_A_SLOT,
            ")
                  + (SELECT count(*) FROM json_each($1) live
                       JOIN runs r ON r.id = live.value
                      WHERE r.state = 'ended')"
        ),
        params![to_json(live)],
        |row| row.get(0),
    )
}

/// Counts the runs, running or queued, that occupy a slot or will occupy one.
pub fn count_taken(view: &View<'_>) -> Result<u32> {
    const TAKEN: Statement<0> = sql!(
        "SELECT count(*) FROM runs r JOIN handoffs h ON h.number = r.handoff_number WHERE ",
        OCCUPIES_A_SLOT
    );
    view.one(TAKEN, params![], |row| row.get(0))
}

/// Counts the queued runs of all doors.
pub fn count_all_queued(view: &View<'_>) -> Result<u64> {
    const QUEUED: Statement<0> = sql!("SELECT count(*) FROM runs WHERE state = 'queued'");
    view.one(QUEUED, params![], |row| row.get(0))
}

/// Counts the queued runs of one door.
pub fn count_queued(view: &View<'_>, mode: Door) -> Result<u32> {
    view.one(
        sql!(
            "SELECT count(*) FROM runs r JOIN handoffs h ON h.number = r.handoff_number
              WHERE r.state = 'queued' AND h.mode = $1"
        ),
        params![mode],
        |row| row.get(0),
    )
}

/// The condition under which a run `r` waits for the file of a request that was claimed after `$1`: the tag in the file does not
/// say `claimed` yet.
const WAITS_FOR_TAG: &str = "FROM requests q
      JOIN request_tags g ON g.request_number = q.number AND g.state <> 'claimed'
      JOIN request_transitions m ON m.request_number = q.number AND m.to_state = 'claimed' AND m.moved_at > $1
     WHERE q.handoff_number = r.handoff_number AND q.withdrawn_at IS NULL";

/// Finds the queued run to start next. A run waits while its task has a live process, or while the process that passed control
/// to it is alive, or while the tag of a request that was claimed after `claimed_after` does not say so.
pub fn find_next(
    view: &View<'_>,
    live: &[RunId],
    claimed_after: Option<Timestamp>,
) -> Result<Option<i64>> {
    let claimed_after = claimed_after.unwrap_or(Timestamp::from_millis(i64::MAX));
    view.row(
        sql!(
            "SELECT r.number FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE r.state = 'queued'
                AND NOT EXISTS (SELECT 1 ",
            WAITS_FOR_TAG,
            ")
                AND NOT EXISTS (SELECT 1 FROM json_each($2) live
                                  JOIN runs l ON l.id = live.value
                                  JOIN handoffs o ON o.number = l.handoff_number
                                 WHERE o.task_number = h.task_number OR (o.number = h.from_number AND l.state = 'ended'))
              ORDER BY r.priority, r.number LIMIT 1"
        ),
        params![claimed_after, to_json(live)],
        |row| row.get(0),
    )
}

/// Finds the earliest claim after `claimed_after` for which a queued run waits.
pub fn find_first_waiting_for_tag(
    view: &View<'_>,
    claimed_after: Timestamp,
) -> Result<Option<Timestamp>> {
    view.one(
        sql!(
            "SELECT min((SELECT max(m.moved_at) ",
            WAITS_FOR_TAG,
            ")) FROM runs r WHERE r.state = 'queued'"
        ),
        params![claimed_after],
        |row| row.get(0),
    )
}

fn to_json(ids: &[RunId]) -> String {
    serde_json::to_string(ids).expect("ids are JSON")
}

pub fn find(view: &View<'_>, number: i64) -> Result<Option<RunRow>> {
    const ONE: Statement<1> = sql!("SELECT ", RunRow::COLUMNS, FROM, " WHERE r.number = $1");
    view.row(ONE, params![number], RunRow::from_row)
}

pub fn find_number(view: &View<'_>, id: &RunId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM runs WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

pub fn find_place(view: &View<'_>, number: i64) -> Result<Option<RunPlace>> {
    const PLACE: Statement<1> = sql!("SELECT ", RunPlace::COLUMNS, FROM, " WHERE r.number = $1");
    view.row(PLACE, params![number], RunPlace::from_row)
}

/// Finds the run of a token, and its state.
pub fn find_by_token(
    view: &View<'_>,
    token_hash: &[u8; 32],
) -> Result<Option<(RunIdentity, RunState)>> {
    const BY_TOKEN: Statement<1> = sql!(
        "SELECT ",
        IdentityRow::COLUMNS,
        FROM,
        " WHERE r.token_hash = $1"
    );
    let row = view.row(BY_TOKEN, params![token_hash], IdentityRow::from_row)?;
    Ok(row.map(IdentityRow::into_identity))
}

/// Finds a run by its id, and its state.
pub fn find_identity(view: &View<'_>, id: &RunId) -> Result<Option<(RunIdentity, RunState)>> {
    const BY_ID: Statement<1> = sql!("SELECT ", IdentityRow::COLUMNS, FROM, " WHERE r.id = $1");
    let row = view.row(BY_ID, params![id], IdentityRow::from_row)?;
    Ok(row.map(IdentityRow::into_identity))
}

impl IdentityRow {
    fn into_identity(self) -> (RunIdentity, RunState) {
        let identity = RunIdentity {
            run_id: self.run_id,
            handoff_id: self.handoff_id,
            task_id: self.task_id,
            agent_name: self.agent_name,
        };
        (identity, self.state)
    }
}

pub fn find_last(view: &View<'_>, handoff_id: &HandoffId) -> Result<Option<RunId>> {
    view.row(
        sql!(
            "SELECT r.id FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE h.id = $1
              ORDER BY r.attempt DESC LIMIT 1"
        ),
        params![handoff_id],
        |row| row.get(0),
    )
}

pub fn find_unended_of(view: &View<'_>, handoff_id: &HandoffId) -> Result<Option<RunId>> {
    view.row(
        sql!(
            "SELECT r.id FROM handoffs h JOIN runs r ON r.handoff_number = h.number AND r.state <> 'ended'
              WHERE h.id = $1"
        ),
        params![handoff_id],
        |row| row.get(0),
    )
}

pub fn find_unended(view: &View<'_>, handoff_number: i64) -> Result<Option<RunId>> {
    view.row(
        sql!("SELECT id FROM runs WHERE handoff_number = $1 AND state <> 'ended'"),
        params![handoff_number],
        |row| row.get(0),
    )
}

/// Finds the provider's last session of an agent on a task.
pub fn find_last_session(
    view: &View<'_>,
    task_number: i64,
    agent_name: &AgentName,
) -> Result<Option<String>> {
    view.row(
        sql!(
            "SELECT r.session_id FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE h.task_number = $1 AND h.agent_name = $2 AND r.session_id IS NOT NULL
              ORDER BY r.number DESC LIMIT 1"
        ),
        params![task_number, agent_name],
        |row| row.get(0),
    )
}

columns! {
    /// A run whose agent read its prompt in a session.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RunOfSession {
        pub run_id: RunId = "r.id",
        pub handoff_id: HandoffId = "h.id",
        pub started_at: Timestamp = "r.started_at",
    }
}

/// Lists the newest ended runs of an agent's session on a task, newest first. A program may rename a session that it resumes, so the
/// session that a run resumed counts, too. A run without an answer of the model may not have read its prompt, and is left out.
pub fn list_of_session(
    view: &View<'_>,
    task_number: i64,
    agent_name: &AgentName,
    session: &str,
    limit: u32,
) -> Result<Vec<RunOfSession>> {
    const OF_SESSION: Statement<4> = sql!(
        "WITH RECURSIVE own (number, session_id, resumes) AS (
             SELECT r.number, r.session_id, r.resumes FROM handoffs h JOIN runs r ON r.handoff_number = h.number
              WHERE h.task_number = $1 AND h.agent_name = $2 AND r.state = 'ended' AND r.session_id IS NOT NULL
         ),
         sessions (id) AS (
             SELECT $3
             UNION
             SELECT own.resumes FROM sessions JOIN own ON own.session_id = sessions.id WHERE own.resumes IS NOT NULL
         )
         SELECT ",
        RunOfSession::COLUMNS,
        " FROM own
          JOIN runs r ON r.number = own.number AND r.started_at IS NOT NULL
          JOIN handoffs h ON h.number = r.handoff_number
         WHERE own.session_id IN (SELECT id FROM sessions)
           AND (r.outcome = 'completed' OR r.usage ->> 'turns' > 0)
         ORDER BY r.number DESC LIMIT $4"
    );
    let arguments = params![task_number, agent_name, session, limit];
    view.rows(OF_SESSION, arguments, RunOfSession::from_row)
}

/// Makes a run start without the session that it should have resumed. Its output is read from the beginning.
pub fn update_fresh(tx: &Tx<'_>, id: &RunId) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE runs SET resumes = NULL, followed_bytes = 0 WHERE id = $1 AND state = 'queued'"
        ),
        params![id],
    )?;
    Ok(())
}

/// Finds the provider's last session of a hand-off.
pub fn find_session_of_handoff(view: &View<'_>, handoff_number: i64) -> Result<Option<String>> {
    view.row(
        sql!(
            "SELECT session_id FROM runs
              WHERE handoff_number = $1 AND session_id IS NOT NULL ORDER BY attempt DESC LIMIT 1"
        ),
        params![handoff_number],
        |row| row.get(0),
    )
}

/// Finds the agent to which the completed run of a hand-off passed control.
pub fn find_successor(view: &View<'_>, handoff_id: &HandoffId) -> Result<Option<AgentName>> {
    view.row(
        sql!(
            "WITH done (number) AS (
                 SELECT h.number FROM handoffs h
                   JOIN runs r ON r.handoff_number = h.number AND r.state = 'ended' AND r.outcome = 'completed'
                  WHERE h.id = $1
             )
             SELECT n.agent_name FROM done JOIN handoffs n ON n.from_number = done.number AND n.mode = 'transfer'
             UNION ALL
             SELECT n.agent_name FROM done
               JOIN handoffs n ON n.from_number = done.number AND n.mode = 'session' AND n.takes_control = 1
             LIMIT 1"
        ),
        params![handoff_id],
        |row| row.get(0),
    )
}

/// Lists the runs that were started and have not ended, oldest first.
pub fn list_running(view: &View<'_>) -> Result<Vec<i64>> {
    // The first condition selects the index `runs_not_ended`; without it, SQLite reads the whole table.
    let mut numbers = view.rows(
        sql!("SELECT number FROM runs WHERE state <> 'ended' AND state = 'running'"),
        params![],
        |row| row.get(0),
    )?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Whether a run of a hand-off is running.
pub fn has_running(view: &View<'_>, handoff_number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM runs WHERE handoff_number = $1 AND state = 'running'"),
        params![handoff_number],
    )
}

pub fn list_running_ids(view: &View<'_>) -> Result<Vec<RunId>> {
    view.rows(
        sql!("SELECT id FROM runs WHERE state <> 'ended' AND state = 'running'"),
        params![],
        |row| row.get(0),
    )
}

pub fn is_running(view: &View<'_>, id: &RunId) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM runs WHERE id = $1 AND state = 'running'"),
        params![id],
    )
}

/// Marks a queued run as started, by a server and with a token.
pub fn update_started(
    tx: &Tx<'_>,
    number: i64,
    claimed_in: &str,
    token_hash: &[u8; 32],
) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE runs SET state = 'running', started_at = $1, token_hash = $2, claimed_in = $3 WHERE number = $4"
        ),
        params![tx.now, token_hash, claimed_in, number],
    )?;
    Ok(())
}

/// Saves the isolation with which a run starts.
pub fn update_isolation(tx: &Tx<'_>, number: i64, isolation: Isolation) -> Result<()> {
    tx.execute(
        sql!("UPDATE runs SET isolation = $1 WHERE number = $2"),
        params![isolation, number],
    )?;
    Ok(())
}

/// Finds the isolation with which a run was started.
pub fn find_isolation(view: &View<'_>, id: &RunId) -> Result<Option<Isolation>> {
    let found = view.row(
        sql!("SELECT isolation FROM runs WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )?;
    Ok(found.flatten())
}

/// Marks a running run as queued again. Returns false if the run was not running.
pub fn update_queued(tx: &Tx<'_>, id: &RunId) -> Result<bool> {
    let updated = tx.execute(
        sql!(
            "UPDATE runs SET state = 'queued', started_at = NULL, token_hash = NULL, launched_at = NULL,
                             max_seconds = NULL, idle_seconds = NULL, failing_since = NULL, last_error = NULL
              WHERE id = $1 AND state = 'running'"
        ),
        params![id],
    )?;
    Ok(updated > 0)
}

/// Counts a start that only the files of a run deny. Returns false if the run was so restarted too often, if its agent has said
/// something, or if the run is not running.
pub fn count_unproven_start(tx: &Tx<'_>, id: &RunId) -> Result<bool> {
    let updated = tx.execute(
        sql!(
            "UPDATE runs SET unproven_starts = unproven_starts + 1
              WHERE id = $1 AND state = 'running' AND followed_bytes = 0 AND unproven_starts < 3"
        ),
        params![id],
    )?;
    Ok(updated > 0)
}

/// Saves that the supervisor of a run was started, with its limits.
pub fn update_launched(
    tx: &Tx<'_>,
    number: i64,
    max_seconds: u64,
    idle_seconds: u64,
) -> Result<()> {
    let limit = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    tx.execute(
        sql!(
            "UPDATE runs SET launched_at = $1, max_seconds = $2, idle_seconds = $3
              WHERE number = $4 AND state <> 'queued'"
        ),
        params![tx.now, limit(max_seconds), limit(idle_seconds), number],
    )?;
    Ok(())
}

/// Saves how many bytes of a run's output were recorded as messages. Returns false if the run has ended, or if the bytes were saved
/// before.
pub fn update_followed_bytes(tx: &Tx<'_>, number: i64, followed_bytes: u64) -> Result<bool> {
    let followed_bytes = i64::try_from(followed_bytes).map_err(StoreError::inconsistent)?;
    let updated = tx.execute(
        sql!("UPDATE runs SET followed_bytes = $1 WHERE number = $2 AND state <> 'ended' AND followed_bytes < $1"),
        params![followed_bytes, number],
    )?;
    Ok(updated > 0)
}

/// Marks a run as ended. Returns false if it had ended before.
pub fn update_ended(tx: &Tx<'_>, number: i64, outcome: Outcome) -> Result<bool> {
    let updated = tx.execute(
        sql!(
            "UPDATE runs SET state = 'ended', outcome = $1, ended_at = $2
              WHERE number = $3 AND state <> 'ended'"
        ),
        params![outcome, tx.now, number],
    )?;
    Ok(updated > 0)
}

/// Marks the open run of a hand-off, if there is one, as ended.
pub fn update_ended_of_handoff(tx: &Tx<'_>, handoff_number: i64, outcome: Outcome) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE runs SET state = 'ended', outcome = $1, ended_at = $2
              WHERE handoff_number = $3 AND state <> 'ended'"
        ),
        params![outcome, tx.now, handoff_number],
    )?;
    Ok(())
}

/// Saves the results of a run's process: its session, usage and cost.
pub fn update_result(
    tx: &Tx<'_>,
    number: i64,
    session_id: Option<&ProviderSession>,
    usage: Option<&Value>,
    cost_usd: Option<f64>,
    denied_tools: &[String],
) -> Result<()> {
    let denied_tools = serde_json::to_string(denied_tools).expect("names are JSON");
    tx.execute(
        sql!(
            "UPDATE runs SET session_id = $1, usage = $2, cost_usd = $3, denied_tools = $4 WHERE number = $5"
        ),
        params![
            session_id,
            usage.map(ToString::to_string),
            cost_usd,
            denied_tools,
            number
        ],
    )?;
    Ok(())
}

/// Saves the last error of a run that prints nothing but errors, or that it continues, and how many bytes of its standard error were
/// read. Returns false if the run has ended.
pub fn update_trouble(
    tx: &Tx<'_>,
    number: i64,
    last_error: Option<&Text>,
    read_to: u64,
) -> Result<bool> {
    let read_to = i64::try_from(read_to).map_err(StoreError::inconsistent)?;
    let updated = tx.execute(
        sql!(
            "UPDATE runs SET last_error = $1,
                             failing_since = CASE WHEN $1 IS NULL THEN NULL ELSE coalesce(failing_since, $2) END,
                             followed_error_bytes = max(followed_error_bytes, $3)
              WHERE number = $4 AND state = 'running'"
        ),
        params![last_error, tx.now, read_to, number],
    )?;
    Ok(updated > 0)
}

/// Returns since when a run prints nothing but errors.
pub fn find_failing_since(view: &View<'_>, number: i64) -> Result<Option<Timestamp>> {
    let found = view.row(
        sql!("SELECT failing_since FROM runs WHERE number = $1"),
        params![number],
        |row| row.get(0),
    )?;
    Ok(found.flatten())
}

/// Postpones the begin of the errors of running runs after the clock was set forward.
pub fn postpone_error_limits(tx: &Tx<'_>, millis: i64) -> Result<()> {
    // The first condition selects the index `runs_not_ended`.
    tx.execute(
        sql!(
            "UPDATE runs SET failing_since = failing_since + $1
              WHERE state <> 'ended' AND failing_since IS NOT NULL AND failing_since < 9223372036854775807 - $1"
        ),
        params![millis],
    )?;
    Ok(())
}
