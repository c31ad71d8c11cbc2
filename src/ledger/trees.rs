//! Chains of tasks: the tree that they make, and whether all of it is at rest.

use crate::domain::{
    AgentName, HandoffId, Mode, Outcome, TaskId, TaskTree, Timestamp, TreeHandoff,
};
use crate::store::tables::tasks::{self};
use crate::store::{Result, Row, View, params, sql};

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
pub(crate) fn find(view: &View<'_>, id: &TaskId) -> Result<Option<TaskTree>> {
    let Some(place) = tasks::find_keys(view, id)? else {
        return Ok(None);
    };
    let tasks = view.rows(sql!(
            "SELECT t.id, t.description, t.status, t.failure_message, t.created_at,
                    (SELECT p.id FROM tasks p WHERE p.number = t.parent_number),
                    (SELECT json_group_array(json_array(
                                h.position, h.id, h.agent_name, h.from_agent, h.mode, h.started_at, h.completed_at, h.outcome,
                                (SELECT sum(r.cost_usd) FROM runs r WHERE r.handoff_number = h.number)))
                       FROM handoffs h WHERE h.task_number = t.number)
               FROM tasks t
              WHERE t.number = $1 OR t.master_number = $1
              ORDER BY t.number LIMIT $2"
        ), params![place.root_number,
        MOST_TASKS], from_row)?;
    let shown = tasks.len() as u64;
    let Some(mut tree) = TaskTree::grow(tasks) else {
        return Ok(None);
    };
    if shown == u64::from(MOST_TASKS) {
        let all: u64 = view.one(
            sql!("SELECT 1 + count(*) FROM tasks WHERE master_number = $1"),
            params![place.root_number],
            |row| row.get(0),
        )?;
        tree.omitted += all - shown;
    }
    Ok(Some(tree))
}

fn from_row(row: &Row<'_>) -> Result<(Option<TaskId>, TaskTree)> {
    let mut handoffs: Vec<PackedHandoff> = row.json(6)?;
    handoffs.sort_unstable_by_key(|packed| packed.0);
    let handoffs: Vec<_> = handoffs.into_iter().map(unpack).collect();
    let open = handoffs.last().filter(|last| last.completed_at.is_none());
    let task = TaskTree {
        id: row.parsed(0)?,
        description: row.text(1)?,
        status: tasks::status(row.get(2)?, row.get(3)?)?,
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
pub(crate) fn is_settled(view: &View<'_>, id: &TaskId) -> Result<bool> {
    let busy = view.has(sql!(
            "WITH RECURSIVE below (number) AS (
                 SELECT number FROM tasks WHERE id = $1
                 UNION ALL
                 SELECT t.number FROM tasks t JOIN below ON t.parent_number = below.number
             )
             SELECT 1 FROM below JOIN handoffs h ON h.task_number = below.number AND h.completed_at IS NULL LIMIT 1"
        ), params![id.as_str()])?;
    Ok(!busy)
}
