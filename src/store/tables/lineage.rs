//! The lineage of a hand-off or a task: statements over the tables `handoffs` and `tasks`.

use crate::domain::AgentName;
use crate::store::{Result, Row, View, params, sql};

/// A hand-off of a chain: the sender and the target. A routed hand-off has no sender: the agent before it did not ask.
type Step = (Option<AgentName>, AgentName);

fn step(row: &Row<'_>) -> Result<Step> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Lists the agents of the hand-offs that led to one, oldest first. Hand-offs that were only recorded are skipped.
pub fn steps_to(view: &View<'_>, handoff_number: Option<i64>) -> Result<Vec<Step>> {
    view.rows(
        sql!(
            "WITH RECURSIVE before (number, distance) AS (
                 SELECT $1, 0
                 UNION ALL
                 SELECT h.from_number, distance + 1 FROM before JOIN handoffs h ON h.number = before.number
                  WHERE h.from_number IS NOT NULL AND distance < 1000
             )
             SELECT iif(h.mode = 'route', NULL, h.from_agent), h.agent_name FROM before
               JOIN handoffs h ON h.number = before.number
              WHERE h.is_invoked = 1
              ORDER BY distance DESC"
        ),
        params![handoff_number],
        step,
    )
}

/// Lists the agents of the hand-offs that led to one, from the start of a count on, oldest first. The first one has no sender, because
/// no agent asked for it.
pub fn steps_in_count(
    view: &View<'_>,
    handoff_number: Option<i64>,
    counted_from: i64,
) -> Result<Vec<Step>> {
    view.rows(
        sql!(
            "WITH RECURSIVE before (number, distance) AS (
                 SELECT number, 0 FROM handoffs WHERE number = $1 AND coalesce(counted_from_number, number) = $2
                 UNION ALL
                 SELECT p.number, distance + 1 FROM before
                   JOIN handoffs h ON h.number = before.number
                   JOIN handoffs p ON p.number = h.from_number AND coalesce(p.counted_from_number, p.number) = $2
                  WHERE distance < 1000
             )
             SELECT iif(h.number = $2 OR h.mode = 'route', NULL, h.from_agent), h.agent_name FROM before
               JOIN handoffs h ON h.number = before.number
              WHERE h.is_invoked = 1
              ORDER BY distance DESC"
        ),
        params![handoff_number, counted_from],
        step,
    )
}

/// Counts the tasks from one up to the task of the hand-off where the count starts, or to the root. Stops at `enough`.
pub fn count_depth(
    view: &View<'_>,
    task_number: i64,
    counted_from: i64,
    enough: u32,
) -> Result<u32> {
    view.one(
        sql!(
            "WITH RECURSIVE first (number) AS (SELECT task_number FROM handoffs WHERE number = $1),
                  above (number, depth) AS (
                 SELECT $2, 1
                 UNION ALL
                 SELECT t.parent_number, depth + 1 FROM above JOIN tasks t ON t.number = above.number
                  WHERE t.parent_number IS NOT NULL AND depth < $3 AND above.number <> (SELECT number FROM first)
             )
             SELECT max(depth) FROM above"
        ),
        params![counted_from, task_number, enough],
        |row| row.get(0),
    )
}

/// Counts the hand-offs from agent to agent since the start of a count.
pub fn count_hops(view: &View<'_>, counted_from: i64) -> Result<u32> {
    view.one(
        sql!(
            "SELECT count(*) FROM handoffs
              WHERE counted_from_number = $1 AND from_number IS NOT NULL AND is_invoked = 1"
        ),
        params![counted_from],
        |row| row.get(0),
    )
}

/// Finds the hand-off where the count of the last hand-off of a task starts.
pub fn find_start_of_count(view: &View<'_>, task_number: i64) -> Result<Option<i64>> {
    view.row(
        sql!(
            "SELECT coalesce(counted_from_number, number) FROM handoffs
              WHERE task_number = $1 ORDER BY position DESC LIMIT 1"
        ),
        params![task_number],
        |row| row.get(0),
    )
}
