//! The final messages of ended hand-offs, for the prompt of the next agent on the same work.

use crate::domain::{AgentName, HandoffId, Outcome, TaskId, Text, Timestamp};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql};

columns! {
    /// The end of a hand-off whose agent did not pass control on.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct EarlierResult {
        pub agent_name: AgentName = "h.agent_name",
        pub outcome: Outcome = "h.outcome",
        pub output: Text = "h.output",
        pub task_id: TaskId = "t.id",
        pub handoff_id: HandoffId = "h.id",
        pub completed_at: Timestamp = "h.completed_at",
    }
}

/// Lists the newest ends on the work of a hand-off, newest first: on its task, and on all tasks with the same plan. The agent of a routed
/// hand-off starts fresh, from its own task.
pub fn before(view: &View<'_>, id: &HandoffId, limit: u32) -> Result<Vec<EarlierResult>> {
    const BEFORE: Statement<2> = sql!(
        "WITH own (number, holder) AS (
             SELECT t.number, iif(h.mode = 'route', NULL, coalesce(t.plan_number, t.number))
               FROM handoffs h JOIN tasks t ON t.number = h.task_number WHERE h.id = $1
         )
         SELECT ",
        EarlierResult::COLUMNS,
        " FROM handoffs h JOIN tasks t ON t.number = h.task_number
          WHERE h.task_number IN (SELECT number FROM own UNION SELECT holder FROM own WHERE holder IS NOT NULL
                                  UNION SELECT s.number FROM tasks s JOIN own ON s.plan_number = own.holder)
            AND h.completed_at IS NOT NULL AND h.is_invoked = 1
            AND NOT EXISTS (SELECT 1 FROM handoffs n WHERE n.from_number = h.number AND n.takes_control = 1)
          ORDER BY h.completed_at DESC, h.number DESC LIMIT $2"
    );
    view.rows(BEFORE, params![id, limit], EarlierResult::from_row)
}
