//! The sessions of providers that runs had, in the table `runs`: those that can be resumed.

use crate::domain::AgentName;
use crate::store::{Result, View, params, sql};

/// Finds the session that an agent had last on a task.
pub fn find_last(
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

/// Finds the last session of a hand-off.
pub fn of_handoff(view: &View<'_>, handoff_number: i64) -> Result<Option<String>> {
    view.row(
        sql!(
            "SELECT session_id FROM runs
              WHERE handoff_number = $1 AND session_id IS NOT NULL ORDER BY attempt DESC LIMIT 1"
        ),
        params![handoff_number],
        |row| row.get(0),
    )
}
