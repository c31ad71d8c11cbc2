//! The columns of the table `tasks` that the router uses.

use serde_json::{Map, Value};

use crate::domain::{AgentName, Door, Needs, Outcome, Role, Skill, Stage, TaskId, Text};
use crate::store::value::to_json;
use crate::store::{FromRow, Result, Statement, Tx, View, columns, params, sql};

/// Lists the tasks to route next, most urgent first, then oldest first.
pub fn next(view: &View<'_>, limit: u32) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT t.id FROM tasks t INDEXED BY tasks_to_route
              WHERE t.status = 'pending' AND t.unmet = 0 AND t.agent_role IS NOT NULL AND t.is_unsuited = 0
                AND t.is_blocked = 0
                AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
              ORDER BY t.priority, t.number LIMIT $1"
        ),
        params![limit],
        |row| row.get(0),
    )
}

/// Finds the role of a ready task that is announced: it has a role or dependencies.
pub fn find_ready(view: &View<'_>, number: i64) -> Result<Option<Option<Role>>> {
    view.row(
        sql!(
            "SELECT t.agent_role FROM tasks t
              WHERE t.number = $1 AND t.status = 'pending' AND t.unmet = 0
                AND (t.agent_role IS NOT NULL
                     OR EXISTS (SELECT 1 FROM task_dependencies d WHERE d.task_number = t.number))"
        ),
        params![number],
        |row| row.get(0),
    )
}

/// Saves the needs of a task, and clears the flag that no agent suits.
pub fn update_needs(tx: &Tx<'_>, number: i64, needs: &Needs) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET agent_role = $1, specialist_tags = $2, estimated_minutes = $3, priority = $4, agent_context = $5,
                              handoff_instructions = $6, is_unsuited = 0,
                              waiting_reason = CASE is_blocked WHEN 1 THEN waiting_reason END,
                              waits_for = CASE is_blocked WHEN 1 THEN waits_for END, updated_at = $7
              WHERE number = $8"
        ),
        params![
            needs.agent_role,
            to_json(&needs.specialist_tags),
            needs.estimated_duration,
            needs.priority,
            to_json(&needs.agent_context),
            to_json(&needs.handoff_instructions),
            tx.now,
            number,
        ],
    )?;
    Ok(())
}

/// Saves the context that agents leave on a task.
pub fn update_agent_context(
    tx: &Tx<'_>,
    number: i64,
    agent_context: &Map<String, Value>,
) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET agent_context = $1, updated_at = $2 WHERE number = $3"),
        params![to_json(agent_context), tx.now, number],
    )?;
    Ok(())
}

/// Records that the active agent has written the context itself.
pub fn mark_context_own(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET is_context_own = 1 WHERE number = $1"),
        params![number],
    )?;
    Ok(())
}

/// Whether the active agent has written the context itself.
pub fn is_context_own(view: &View<'_>, number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM tasks WHERE number = $1 AND is_context_own = 1"),
        params![number],
    )
}

/// Whether the agent was asked again for the report that it owed.
pub fn is_asked_again(view: &View<'_>, number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM tasks WHERE number = $1 AND is_asked_again = 1"),
        params![number],
    )
}

pub fn mark_asked_again(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET is_asked_again = 1 WHERE number = $1"),
        params![number],
    )?;
    Ok(())
}

/// Increments the router's attempts.
pub fn count_attempt(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET route_attempts = route_attempts + 1, is_asked_again = 0, is_context_own = 0 WHERE number = $1"
        ),
        params![number],
    )?;
    Ok(())
}

/// Makes a task wait for the operator.
pub fn block(tx: &Tx<'_>, number: i64, reason: &Text) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_blocked = 1, is_unsuited = 0, waiting_reason = $1, waits_for = 'person' WHERE number = $2"
        ),
        params![reason, number],
    )?;
    Ok(())
}

/// Makes a task wait for a suitable agent.
pub fn hold(tx: &Tx<'_>, number: i64, reason: &Text) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_unsuited = 1, waiting_reason = $1, waits_for = 'agent' WHERE number = $2"
        ),
        params![reason, number],
    )?;
    Ok(())
}

/// Clears the waiting reason of a task.
pub fn release(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_blocked = 0, is_unsuited = 0, waiting_reason = NULL, waits_for = NULL WHERE number = $1"
        ),
        params![number],
    )?;
    Ok(())
}

/// Whether a task waits for a suitable agent.
pub fn waits_for_agent(view: &View<'_>, number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM tasks WHERE number = $1 AND waits_for = 'agent'"),
        params![number],
    )
}

/// Holds tasks with the same needs again that were held before.
pub fn hold_again(tx: &Tx<'_>, role: &Role, tags: &[Skill]) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks INDEXED BY tasks_to_route SET is_unsuited = 1
              WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1 AND specialist_tags = $2
                AND is_unsuited = 0 AND is_blocked = 0 AND waits_for = 'agent'"
        ),
        params![role, to_json(&tags)],
    )?;
    Ok(())
}

/// Lists other tasks with the same needs that are to be routed.
pub fn with_same_needs(
    view: &View<'_>,
    number: i64,
    role: &Role,
    tags: &[Skill],
    limit: u32,
) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT id FROM tasks INDEXED BY tasks_to_route
              WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1 AND specialist_tags = $2
                AND is_unsuited = 0 AND is_blocked = 0 AND number <> $3
              ORDER BY priority, number LIMIT $4"
        ),
        params![role, to_json(&tags), number, limit],
        |row| row.get(0),
    )
}

/// Counts the open hand-offs of each agent that Chorus runs.
pub fn open_by_agent(view: &View<'_>) -> Result<Vec<(AgentName, u32)>> {
    view.rows(
        sql!(
            "SELECT agent_name, count(*) FROM handoffs WHERE completed_at IS NULL AND is_invoked = 1 GROUP BY agent_name"
        ),
        params![],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

columns! {
    /// An earlier hand-off that counts in the choice of an agent.
    pub struct PastHandoff {
        pub agent_name: AgentName = "h.agent_name",
        pub outcome: Option<Outcome> = "h.outcome",
        pub stage: Option<Stage> = "coalesce(t.stage, o.stage)",
        pub role: Option<Role> = "coalesce(t.agent_role, o.agent_role)",
        pub is_this_task: bool = "t.number = $2",
        pub mode: Door = "h.mode",
    }
}

/// Lists the hand-offs on the increment of a task, or on its family if it has none, on its dependencies, and on all tasks below
/// those.
pub fn past_handoffs(
    view: &View<'_>,
    root_number: i64,
    task_number: i64,
) -> Result<Vec<PastHandoff>> {
    const PAST: Statement<2> = sql!(
        "WITH first (number) AS (
             SELECT CASE WHEN increment_number IS NULL THEN $1 ELSE number END FROM tasks WHERE number = $2 UNION
             SELECT s.number FROM tasks t JOIN tasks s ON s.increment_number = t.increment_number WHERE t.number = $2 UNION
             SELECT depends_on_number FROM task_dependencies WHERE task_number = $2
         ),
         related (number, root) AS (
             SELECT number, number FROM first UNION
             SELECT c.number, f.number FROM first f JOIN tasks c ON c.master_number = f.number
         )
         SELECT ",
        PastHandoff::COLUMNS,
        " FROM related r
          JOIN tasks t ON t.number = r.number
          JOIN tasks o ON o.number = r.root
          JOIN handoffs h ON h.task_number = t.number"
    );
    view.rows(
        PAST,
        params![root_number, task_number],
        PastHandoff::from_row,
    )
}

/// Clears the flag that no agent suits on all tasks.
pub fn clear_unsuited(tx: &Tx<'_>) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_unsuited = 0 WHERE waiting_reason IS NOT NULL AND is_unsuited = 1"
        ),
        params![],
    )?;
    Ok(())
}

/// Clears the flag that no agent suits on the tasks that ask for one of these roles.
pub fn clear_unsuited_of_roles(tx: &Tx<'_>, roles: &[Role]) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_unsuited = 0
              WHERE waiting_reason IS NOT NULL AND is_unsuited = 1 AND agent_role IN (SELECT value FROM json_each($1))"
        ),
        params![to_json(&roles)],
    )?;
    Ok(())
}
