//! Spans: ended hand-offs for logs and trace collectors.

use super::door::Door;
use super::id::HandoffId;
use super::outcome::Outcome;
use super::trace::{SpanId, TraceId};
use crate::domain::{AgentName, TaskId, Text, Timestamp};

/// An ended hand-off for telemetry. It excludes prompts, final messages and error output, which may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffSpan {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    pub parent_span_id: Option<SpanId>,
    pub handoff_id: HandoffId,
    pub task_id: TaskId,
    pub session_id: Option<Text>,
    pub from_agent: Option<AgentName>,
    pub to_agent: AgentName,
    pub mode: Door,
    pub reason: Option<Text>,
    pub started_at: Timestamp,
    pub completed_at: Timestamp,
    pub outcome: Outcome,
    /// The trace id of the calling harness.
    pub harness_trace_id: Option<Text>,
}

impl HandoffSpan {
    pub const fn has_failed(&self) -> bool {
        !matches!(self.outcome, Outcome::Completed)
    }

    /// Returns 0 if the clock was set back during the hand-off.
    pub fn duration_ms(&self) -> i64 {
        let (start, end) = (self.started_at.as_millis(), self.completed_at.as_millis());
        end.saturating_sub(start).max(0)
    }
}
