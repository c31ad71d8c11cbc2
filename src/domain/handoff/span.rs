//! Spans: hand-offs that have ended, for logs and collectors of traces.

use super::door::Door;
use super::id::HandoffId;
use super::outcome::Outcome;
use super::trace::{SpanId, TraceId};
use crate::domain::{AgentName, TaskId, Text, Timestamp};

/// A hand-off that has ended, as it is reported. Prompts, final messages and error output are not part of it: they may have
/// secrets.
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
    /// The trace id of the harness that asked.
    pub harness_trace_id: Option<Text>,
}

impl HandoffSpan {
    /// Tells whether the hand-off did not complete.
    pub const fn has_failed(&self) -> bool {
        !matches!(self.outcome, Outcome::Completed)
    }

    /// Returns the duration; 0 if the clock was set back meanwhile.
    pub fn duration_ms(&self) -> i64 {
        let (start, end) = (self.started_at.as_millis(), self.completed_at.as_millis());
        end.saturating_sub(start).max(0)
    }
}
