//! Telling of hand-offs that ended, in the log and to a collector.

use super::{Engine, Follower};
use crate::domain::{Event, Handoff, SpanId};
use crate::telemetry::HandoffSpan;

impl Engine {
    /// Tells of every hand-off that ends, from its committed row, until the server stops.
    pub async fn tell_of_handoffs(self, mut follower: Follower) {
        while let Some(event) = follower.next().await {
            self.tell(&event).await;
        }
        for event in follower.rest().await {
            self.tell(&event).await;
        }
    }

    async fn tell(&self, event: &Event) {
        let has_completed = match event.event_type.as_str() {
            "agent_handoff_completed" => true,
            "agent_handoff_failed"
            | "agent_handoff_cancelled"
            | "agent_handoff_timed_out"
            | "agent_handoff_interrupted" => false,
            _ => return,
        };
        if !HandoffSpan::is_wanted(has_completed) {
            return;
        }
        let Some(id) = &event.handoff_id else { return };
        match self.store.handoff(id).await {
            Ok(Some(handoff)) => {
                if let Some(span) = span(handoff) {
                    span.record();
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, handoff_id = %id, "cannot tell of a hand-off"),
        }
    }
}

/// Returns what is told of a hand-off, if it has ended.
fn span(handoff: Handoff) -> Option<HandoffSpan> {
    Some(HandoffSpan {
        span_id: SpanId::from(&handoff.id),
        parent_span_id: handoff.parent_span_id,
        trace_id: handoff.trace_id,
        handoff_id: handoff.id,
        task_id: handoff.task_id,
        session_id: handoff.session_id,
        from_agent: handoff.from_agent,
        to_agent: handoff.agent_name,
        mode: handoff.mode,
        reason: handoff.reason,
        started_at: handoff.started_at,
        completed_at: handoff.completed_at?,
        outcome: handoff.outcome?,
        error: handoff.error,
        harness_trace_id: handoff.harness_trace_id,
    })
}
