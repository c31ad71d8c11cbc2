//! The agents that have the conversations of sessions.

use crate::domain::{SessionId, TaskId};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql};

/// The hand-off of the agent that has the conversation of the session `s`, or had it last: the last one of the session's task,
/// or wherever tools have passed it since.
pub const HOLDER: &str =
    "(WITH RECURSIVE holders (number) AS (
          SELECT number FROM handoffs
           WHERE task_number = s.task_number
             AND position = (SELECT max(position) FROM handoffs WHERE task_number = s.task_number)
          UNION ALL
          SELECT n.number FROM holders JOIN handoffs n ON n.from_number = holders.number AND n.mode = 'transfer'
      )
      SELECT max(number) FROM holders)";

columns! {
    /// A session, its task, and the hand-off that has its conversation.
    pub struct SessionHolder {
        pub session_number: i64 = "s.number",
        pub session_task_id: TaskId = "t.id",
        pub handoff_number: i64 = "h.number",
        pub task_id: TaskId = "o.id",
        pub waiter_number: Option<i64> = "h.waiter_number",
        pub is_open: bool = "h.completed_at IS NULL",
    }
}

/// Finds the holder of a session's conversation.
pub fn find(view: &View<'_>, id: &SessionId) -> Result<Option<SessionHolder>> {
    const ONE: Statement<1> = sql!(
        "SELECT ",
        SessionHolder::COLUMNS,
        " FROM sessions s
          JOIN tasks t ON t.number = s.task_number
          JOIN handoffs h ON h.number = ",
        HOLDER,
        " JOIN tasks o ON o.number = h.task_number
         WHERE s.id = $1"
    );
    view.row(ONE, params![id], SessionHolder::from_row)
}
