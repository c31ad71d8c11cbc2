//! The table `handoffs`.

use crate::domain::{HandoffId, SpanId, Text, TraceId};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql};

columns! {
    /// How a hand-off hangs together with others.
    pub struct HandoffLink {
        pub number: i64 = "number",
        /// The hand-off whose agent waits for the end of this one.
        pub waiter_number: Option<i64> = "waiter_number",
        pub trace_id: Option<TraceId> = "trace_id",
    }
}

/// Finds how a hand-off hangs together with others.
pub fn find_link(view: &View<'_>, id: &HandoffId) -> Result<Option<HandoffLink>> {
    const LINK: Statement<1> = sql!(
        "SELECT ",
        HandoffLink::COLUMNS,
        " FROM handoffs WHERE id = $1"
    );
    view.row(LINK, params![id], HandoffLink::from_row)
}

columns! {
    /// The open hand-off of a task, with what is told of it when it ends.
    pub struct OpenHandoff {
        pub number: i64 = "h.number",
        pub reason: Option<Text> = "h.reason",
        pub trace_id: Option<TraceId> = "h.trace_id",
        pub parent_span_id: Option<SpanId> = "h.parent_span_id",
        pub harness_trace_id: Option<Text> =
            "(SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number)",
    }
}

/// Finds the open hand-off of a task.
pub fn find_open(view: &View<'_>, task_number: i64) -> Result<Option<OpenHandoff>> {
    const OPEN: Statement<1> = sql!(
        "SELECT ",
        OpenHandoff::COLUMNS,
        " FROM handoffs h WHERE h.task_number = $1 AND h.completed_at IS NULL"
    );
    view.row(OPEN, params![task_number], OpenHandoff::from_row)
}
