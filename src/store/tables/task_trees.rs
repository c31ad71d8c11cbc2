//! Families of tasks: statements over the tables `tasks` and `handoffs`.

use super::delegations::{self, PackedAsked};
use super::{handoffs, tasks};
use crate::domain::{
    AgentName, Door, HandoffId, LiveHandoff, Outcome, RunState, StatusName, TaskId, TaskTree, Text,
    Timestamp, TreeHandoff,
};
use crate::store::{
    FromRow, Json, Result, Statement, StoreError, View, columns, packed, params, sql, text,
};

packed! {
    /// A chain entry with its cost, without its output, which may be large.
    struct PackedHandoff {
        position: i64 = "h.position",
        id: HandoffId = "h.id",
        agent_name: AgentName = "h.agent_name",
        from_agent: Option<AgentName> = "h.from_agent",
        mode: Door = "h.mode",
        started_at: Timestamp = "h.started_at",
        completed_at: Option<Timestamp> = "h.completed_at",
        outcome: Option<Outcome> = "h.outcome",
        cost_usd: Option<f64> = "(SELECT sum(r.cost_usd) FROM runs r WHERE r.handoff_number = h.number)",
        run_state: Option<RunState> =
            "(SELECT r.state FROM runs r WHERE r.handoff_number = h.number AND r.state <> 'ended')",
        last_progress_at: Option<Timestamp> =
            "(SELECT e.occurred_at FROM events e
               WHERE e.task_number = h.task_number AND h.completed_at IS NULL ORDER BY e.number DESC LIMIT 1)",
        waits_for: Vec<PackedAsked> = text!("json(", delegations::WAITS_FOR, ")"),
        unanswered: Vec<PackedAsked> = text!("json(", delegations::UNANSWERED, ")"),
    }
}

columns! {
    struct TreeRow {
        id: TaskId = "t.id",
        description: Text = "t.description",
        status: StatusName = "t.status",
        failure_message: Option<Text> = "t.failure_message",
        created_at: Timestamp = "t.created_at",
        parent_id: Option<TaskId> = "(SELECT p.id FROM tasks p WHERE p.number = t.parent_number)",
        handoffs: Json<Vec<PackedHandoff>> = text!(
            "(SELECT ", PackedHandoff::PACKED, " FROM handoffs h WHERE h.task_number = t.number)"
        ),
    }
}

impl TryFrom<TreeRow> for TaskTree {
    type Error = StoreError;

    fn try_from(row: TreeRow) -> Result<Self> {
        let Json(mut handoffs) = row.handoffs;
        handoffs.sort_unstable_by_key(|handoff| handoff.position);
        let handoffs: Vec<_> = handoffs.into_iter().map(TreeHandoff::from).collect();
        let open = handoffs.last().filter(|last| last.completed_at.is_none());
        Ok(Self {
            id: row.id,
            description: row.description,
            status: tasks::status(row.status, row.failure_message)?,
            created_at: row.created_at,
            current_agent: open.map(|open| open.agent_name.clone()),
            handoffs,
            children: Vec::new(),
            omitted: 0,
        })
    }
}

impl From<PackedHandoff> for TreeHandoff {
    fn from(packed: PackedHandoff) -> Self {
        Self {
            id: packed.id,
            agent_name: packed.agent_name,
            from_agent: packed.from_agent,
            mode: packed.mode,
            started_at: packed.started_at,
            completed_at: packed.completed_at,
            outcome: packed.outcome,
            cost_usd: packed.cost_usd,
            live: packed.last_progress_at.map(|last_progress_at| LiveHandoff {
                run_state: packed.run_state,
                last_progress_at,
                waits_for: handoffs::asked(packed.waits_for),
            }),
            unanswered_handoffs: handoffs::asked(packed.unanswered),
        }
    }
}

/// Lists the tasks of a family with their parents, oldest first.
pub fn of_family(
    view: &View<'_>,
    root_number: i64,
    limit: u32,
) -> Result<Vec<(Option<TaskId>, TaskTree)>> {
    const FAMILY: Statement<2> = sql!(
        "SELECT ",
        TreeRow::COLUMNS,
        " FROM tasks t WHERE t.number = $1 OR t.master_number = $1 ORDER BY t.number LIMIT $2"
    );
    view.rows(FAMILY, params![root_number, limit], |row| {
        let mut row = TreeRow::from_row(row)?;
        Ok((row.parent_id.take(), row.try_into()?))
    })
}

pub fn count_family(view: &View<'_>, root_number: i64) -> Result<u64> {
    view.one(
        sql!("SELECT 1 + count(*) FROM tasks WHERE master_number = $1"),
        params![root_number],
        |row| row.get(0),
    )
}

/// Whether a task or any task below it has an open hand-off.
pub fn has_open_handoff(view: &View<'_>, id: &TaskId) -> Result<bool> {
    view.has(
        sql!(
            "WITH RECURSIVE below (number) AS (
                 SELECT number FROM tasks WHERE id = $1
                 UNION ALL
                 SELECT t.number FROM tasks t JOIN below ON t.parent_number = below.number
             )
             SELECT 1 FROM below JOIN handoffs h ON h.task_number = below.number AND h.completed_at IS NULL LIMIT 1"
        ),
        params![id],
    )
}
