//! Chains of tasks: the tree that they make, and whether all of it is at rest.

use sqlx::SqlitePool;

use super::row::Columns;
use super::sql::{query, sql};
use super::tasks;
use crate::domain::{
    AgentName, HandoffId, Mode, Outcome, TaskId, TaskTree, Timestamp, TreeHandoff,
};
use crate::store::{Result, StoreError};

/// How many tasks of a chain are shown.
const MOST_TASKS: u32 = 1000;

/// A hand-off, as it is packed beside its task.
type PackedHandoff = (
    i64,
    HandoffId,
    AgentName,
    Option<AgentName>,
    Mode,
    Timestamp,
    Option<Timestamp>,
    Option<Outcome>,
    Option<f64>,
);

/// Finds the tree of the chain that a task belongs to; of a large one, the oldest tasks.
pub(super) async fn find(readers: &SqlitePool, id: &TaskId) -> Result<Option<TaskTree>> {
    let Some(place) = tasks::find_place(readers, id).await? else {
        return Ok(None);
    };
    let rows = query!(
        sql!(
            "SELECT t.id, t.description, t.status, t.failure_message, t.created_at,
                    (SELECT p.id FROM tasks p WHERE p.number = t.parent_number),
                    (SELECT json_group_array(json_array(
                                h.position, h.id, h.agent_name, h.from_agent, h.mode, h.started_at, h.completed_at, h.outcome,
                                (SELECT sum(r.cost_usd) FROM runs r WHERE r.handoff_number = h.number)))
                       FROM handoffs h WHERE h.task_number = t.number)
               FROM tasks t
              WHERE t.number = $1 OR t.master_number = $1
              ORDER BY t.number LIMIT $2"
        ),
        place.chain_number,
        MOST_TASKS
    )
    .fetch_all(readers)
    .await?;
    let tasks = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    let shown = tasks.len() as u64;
    let Some(mut tree) = TaskTree::grow(tasks) else {
        return Ok(None);
    };
    if shown == u64::from(MOST_TASKS) {
        let all = query!(
            sql!("SELECT 1 + count(*) FROM tasks WHERE master_number = $1"),
            place.chain_number
        );
        let all = all.fetch_one(readers).await?.integer(0)?;
        tree.omitted += u64::try_from(all).map_err(StoreError::inconsistent)? - shown;
    }
    Ok(Some(tree))
}

fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<(Option<TaskId>, TaskTree)> {
    let mut handoffs: Vec<PackedHandoff> = row.json(6)?;
    handoffs.sort_unstable_by_key(|packed| packed.0);
    let handoffs: Vec<_> = handoffs.into_iter().map(unpack).collect();
    let open = handoffs.last().filter(|last| last.completed_at.is_none());
    let task = TaskTree {
        id: row.parsed(0)?,
        description: row.text(1)?,
        status: tasks::status(row, 2)?,
        created_at: row.timestamp(4)?,
        current_agent: open.map(|open| open.agent_name.clone()),
        handoffs,
        children: Vec::new(),
        omitted: 0,
    };
    Ok((row.optional_parsed(5)?, task))
}

fn unpack(packed: PackedHandoff) -> TreeHandoff {
    let (_, id, agent_name, from_agent, mode, started_at, completed_at, outcome, cost_usd) = packed;
    TreeHandoff {
        id,
        agent_name,
        from_agent,
        mode,
        started_at,
        completed_at,
        outcome,
        cost_usd,
    }
}

/// Tells whether no agent works on a task or on any below it.
pub(super) async fn is_settled(readers: &SqlitePool, id: &TaskId) -> Result<bool> {
    let busy = query!(
        sql!(
            "WITH RECURSIVE below (number) AS (
                 SELECT number FROM tasks WHERE id = $1
                 UNION ALL
                 SELECT t.number FROM tasks t JOIN below ON t.parent_number = below.number
             )
             SELECT 1 FROM below JOIN handoffs h ON h.task_number = below.number AND h.completed_at IS NULL LIMIT 1"
        ),
        id.as_str()
    )
    .fetch_optional(readers)
    .await?;
    Ok(busy.is_none())
}
