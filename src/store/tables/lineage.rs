//! The lineage of a hand-off or a task: recursive statements over the tables `handoffs` and `tasks`.

use crate::domain::AgentName;
use crate::store::{Result, View, params, sql};

/// Lists the agents of the hand-offs that led to one, oldest first: the sender and the target of each. Hand-offs that were only
/// recorded are skipped.
pub fn steps_to(
    view: &View<'_>,
    handoff_number: Option<i64>,
) -> Result<Vec<(Option<AgentName>, AgentName)>> {
    view.rows(
        sql!(
            "WITH RECURSIVE before (number, distance) AS (
                 SELECT $1, 0
                 UNION ALL
                 SELECT h.from_number, distance + 1 FROM before JOIN handoffs h ON h.number = before.number
                  WHERE h.from_number IS NOT NULL AND distance < 1000
             )
             SELECT h.from_agent, h.agent_name FROM before
               JOIN handoffs h ON h.number = before.number
              WHERE h.is_invoked = 1
              ORDER BY distance DESC"
        ),
        params![handoff_number],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Counts the tasks from the root of a family down to one of its tasks.
pub fn count_depth(view: &View<'_>, task_number: i64) -> Result<u32> {
    view.one(
        sql!(
            "WITH RECURSIVE above (number) AS (
                 SELECT $1
                 UNION ALL
                 SELECT t.parent_number FROM above JOIN tasks t ON t.number = above.number WHERE t.parent_number IS NOT NULL
             )
             SELECT count(*) FROM above"
        ),
        params![task_number],
        |row| row.get(0),
    )
}

/// Counts the hand-offs from agent to agent on all tasks of a task's family.
pub fn count_hops(view: &View<'_>, task_number: i64) -> Result<u32> {
    view.one(
        sql!(
            "WITH master (number) AS (SELECT coalesce(master_number, number) FROM tasks WHERE number = $1),
                  chain (number) AS (SELECT number FROM master
                                     UNION ALL
                                     SELECT t.number FROM tasks t JOIN master ON t.master_number = master.number)
             SELECT count(*) FROM chain
               JOIN handoffs h ON h.task_number = chain.number AND h.from_number IS NOT NULL AND h.is_invoked = 1"
        ),
        params![task_number],
        |row| row.get(0),
    )
}
