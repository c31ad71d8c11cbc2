//! The table `delegations`: the hand-offs that the agents of other hand-offs asked for.

use crate::domain::{AgentName, HandoffId, Outcome, RunId, RunState, TaskId, Text, Timestamp};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, packed, params, sql, text};

pub struct NewDelegation {
    pub handoff_number: i64,
    /// The hand-off whose agent asked.
    pub caller_number: i64,
    /// The task that the agent named.
    pub task_number: i64,
    pub is_awaited: bool,
}

pub fn insert(tx: &Tx<'_>, new: &NewDelegation) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO delegations (handoff_number, caller_number, task_number, is_awaited) VALUES ($1, $2, $3, $4)"
        ),
        params![
            new.handoff_number,
            new.caller_number,
            new.task_number,
            new.is_awaited
        ],
    )?;
    Ok(())
}

columns! {
    /// A hand-off that a caller asked for before with the same words.
    pub struct Repeated {
        pub number: i64 = "d.handoff_number",
        pub task_id: TaskId = "t.id",
    }
}

/// Finds the newest hand-off with this task, agent and prompt whose answer its caller has not got. Its task has no later hand-off.
pub fn find_undelivered(
    view: &View<'_>,
    caller_number: i64,
    task_number: i64,
    agent_name: &AgentName,
    prompt: &Text,
) -> Result<Option<Repeated>> {
    const UNDELIVERED: Statement<4> = sql!(
        "SELECT ",
        Repeated::COLUMNS,
        " FROM delegations d
          JOIN handoffs h ON h.number = d.handoff_number
          JOIN tasks t ON t.number = h.task_number
         WHERE d.caller_number = $1 AND d.delivered_at IS NULL AND d.task_number = $2
           AND h.agent_name = $3 AND h.prompt = $4
           AND NOT EXISTS (SELECT 1 FROM handoffs l WHERE l.task_number = h.task_number AND l.position > h.position)
         ORDER BY d.handoff_number DESC LIMIT 1"
    );
    let asked = params![caller_number, task_number, agent_name, prompt];
    view.row(UNDELIVERED, asked, Repeated::from_row)
}

columns! {
    /// A hand-off, from the view of the agent that waits for its end.
    pub struct Awaited {
        /// The hand-off that the agent asked for, from which this one may have come.
        pub asked_number: i64 = "coalesce(h.asked_number, h.number)",
        pub waiter_number: i64 = "w.number",
        pub task_number: i64 = "h.task_number",
        pub is_open: bool = "h.completed_at IS NULL",
        pub is_awaited: bool = "coalesce(d.is_awaited, 0)",
        /// Whether the hand-off has an answer that the agent has not got. If control moved from it, another one has the answer.
        pub is_undelivered: bool =
            "h.completed_at IS NOT NULL AND d.delivered_at IS NULL
             AND NOT EXISTS (SELECT 1 FROM handoffs m
                              WHERE m.asked_number = coalesce(h.asked_number, h.number) AND m.number > h.number)",
    }
}

/// Finds a hand-off whose end the agent of another hand-off waits for.
pub fn find_awaited(
    view: &View<'_>,
    id: &HandoffId,
    waiter_id: &HandoffId,
) -> Result<Option<Awaited>> {
    const AWAITED: Statement<2> = sql!(
        "SELECT ",
        Awaited::COLUMNS,
        " FROM handoffs h
          JOIN handoffs w ON w.number = h.waiter_number
          LEFT JOIN delegations d ON d.handoff_number = coalesce(h.asked_number, h.number)
         WHERE h.id = $1 AND w.id = $2"
    );
    view.row(AWAITED, params![id, waiter_id], Awaited::from_row)
}

/// Saves that an agent waits for an answer.
pub fn update_awaited(tx: &Tx<'_>, awaited: &Awaited) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO delegations (handoff_number, caller_number, task_number, is_awaited) VALUES ($1, $2, $3, 1)
             ON CONFLICT (handoff_number) DO UPDATE SET is_awaited = 1"
        ),
        params![
            awaited.asked_number,
            awaited.waiter_number,
            awaited.task_number
        ],
    )?;
    Ok(())
}

/// Saves that an agent waits for the answer of a hand-off that it asked for.
pub fn mark_awaited(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE delegations SET is_awaited = 1 WHERE handoff_number = $1 AND is_awaited = 0"),
        params![number],
    )?;
    Ok(())
}

/// Saves that an agent got its answer.
pub fn update_delivered(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE delegations SET delivered_at = $1 WHERE handoff_number = $2 AND delivered_at IS NULL"
        ),
        params![tx.now, number],
    )?;
    Ok(())
}

/// The condition under which the agent of a hand-off waits for a hand-off `a` with its delegation `d`.
const OPEN_AWAITED: &str = " FROM handoffs a
      JOIN delegations d ON d.handoff_number = coalesce(a.asked_number, a.number) AND d.is_awaited = 1
      JOIN tasks k ON k.number = a.task_number
     WHERE a.completed_at IS NULL AND a.waiter_number = ";

/// The hand-off `a` that answers a delegation `d` in the end, if the answer was wanted and not delivered. A cancelled one has no answer.
const UNDELIVERED: &str = " FROM delegations d
      JOIN handoffs a ON a.number = coalesce((SELECT max(m.number) FROM handoffs m WHERE m.asked_number = d.handoff_number),
                                             d.handoff_number)
      JOIN tasks k ON k.number = a.task_number
     WHERE d.delivered_at IS NULL AND d.is_awaited = 1 AND a.outcome IS NOT 'cancelled' AND d.caller_number = ";

packed! {
    /// A hand-off that an agent asked for, inside the row of the agent's own hand-off.
    pub struct PackedAsked {
        pub id: HandoffId = "a.id",
        pub task_id: TaskId = "k.id",
        pub agent_name: AgentName = "a.agent_name",
        pub started_at: Timestamp = "a.started_at",
        pub outcome: Option<Outcome> = "a.outcome",
    }
}

/// The column with the open hand-offs that the agent of a hand-off `h` waits for.
pub const WAITS_FOR: &str = text!("(SELECT ", PackedAsked::PACKED, OPEN_AWAITED, "h.number)");

/// The column with the hand-offs whose answers the agent of a hand-off `h` has not got.
pub const UNANSWERED: &str = text!(
    "(SELECT ",
    PackedAsked::PACKED,
    UNDELIVERED,
    "h.number AND h.completed_at IS NOT NULL)"
);

/// Lists the tasks of the open hand-offs that the agent of a hand-off waits for, oldest first.
pub fn tasks_awaited_by(view: &View<'_>, number: i64) -> Result<Vec<TaskId>> {
    view.rows(
        sql!("SELECT k.id", OPEN_AWAITED, "$1 ORDER BY a.number"),
        params![number],
        |row| row.get(0),
    )
}

columns! {
    /// A hand-off whose answer an agent has not got.
    pub struct MissedRow {
        pub id: HandoffId = "a.id",
        pub task_id: TaskId = "k.id",
        pub agent_name: AgentName = "a.agent_name",
    }
}

/// Lists the hand-offs whose answers the agent of a hand-off has not got, oldest first.
pub fn missed_by(view: &View<'_>, number: i64) -> Result<Vec<MissedRow>> {
    const MISSED: Statement<1> = sql!(
        "SELECT ",
        MissedRow::COLUMNS,
        UNDELIVERED,
        "$1 ORDER BY a.number"
    );
    view.rows(MISSED, params![number], MissedRow::from_row)
}

columns! {
    /// A running run whose agent waits for a hand-off.
    pub struct WaitRow {
        pub run_id: RunId = "w.id",
        /// The unended run of the hand-off that it waits for; `None` while the work runs elsewhere.
        pub awaited_run: Option<RunId> = "r.id",
        pub awaited_state: Option<RunState> = "r.state",
        /// Whether the supervisor of that run was started.
        pub is_launched: bool = "r.launched_at IS NOT NULL",
    }
}

/// Lists who waits for whom.
pub fn waits(view: &View<'_>) -> Result<Vec<WaitRow>> {
    const WAITS: Statement<0> = sql!(
        "SELECT ",
        WaitRow::COLUMNS,
        " FROM handoffs a
          JOIN delegations d ON d.handoff_number = coalesce(a.asked_number, a.number) AND d.is_awaited = 1
          JOIN runs w ON w.handoff_number = a.waiter_number AND w.state <> 'ended' AND w.state = 'running'
          LEFT JOIN runs r ON r.handoff_number = a.number AND r.state <> 'ended'
         WHERE a.waiter_number IS NOT NULL AND a.completed_at IS NULL
         ORDER BY w.number, a.number"
    );
    view.rows(WAITS, params![], WaitRow::from_row)
}

/// Lists the times from which and up to which a run's agent waited for others, oldest first; the end of a present wait is `None`.
pub fn waits_of(view: &View<'_>, run_id: &RunId) -> Result<Vec<(Timestamp, Option<Timestamp>)>> {
    view.rows(
        sql!(
            "SELECT h.started_at, a.completed_at
               FROM runs r
               JOIN delegations d ON d.caller_number = r.handoff_number AND d.is_awaited = 1
               JOIN handoffs h ON h.number = d.handoff_number
               JOIN handoffs a ON a.number = coalesce((SELECT max(m.number) FROM handoffs m
                                                        WHERE m.asked_number = d.handoff_number), d.handoff_number)
              WHERE r.id = $1
              ORDER BY h.started_at"
        ),
        params![run_id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Lists the cancelled runs of a hand-off and of all that its agent and theirs asked for.
pub fn cancelled_runs_below(view: &View<'_>, id: &HandoffId) -> Result<Vec<RunId>> {
    view.rows(
        sql!(
            "WITH RECURSIVE below (number) AS (
                 SELECT number FROM handoffs WHERE id = $1
                 UNION
                 SELECT coalesce((SELECT max(m.number) FROM handoffs m WHERE m.asked_number = d.handoff_number),
                                 d.handoff_number)
                   FROM below JOIN delegations d ON d.caller_number = below.number
             )
             SELECT r.id FROM below JOIN runs r ON r.handoff_number = below.number AND r.outcome = 'cancelled'
              ORDER BY r.number"
        ),
        params![id],
        |row| row.get(0),
    )
}

/// Lists which of the given runs were ended on request.
pub fn cancelled_of(view: &View<'_>, runs: &[RunId]) -> Result<Vec<RunId>> {
    let runs = crate::store::value::to_json(&runs);
    view.rows(
        sql!(
            "SELECT r.id FROM json_each($1) live JOIN runs r ON r.id = live.value
              WHERE r.state = 'ended' AND r.outcome = 'cancelled'"
        ),
        params![runs],
        |row| row.get(0),
    )
}
