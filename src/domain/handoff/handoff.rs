//! Hand-offs: the work of an agent on a task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::asked::{AskedHandoff, LiveHandoff};
use super::door::Door;
use super::id::HandoffId;
use super::outcome::Outcome;
use super::report::Report;
use super::run::Run;
use super::trace::{SpanId, TraceId};
use crate::domain::{AgentName, TaskId, Text, Timestamp};

/// A hand-off with all its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// The id of the hand-off.
    pub id: HandoffId,
    /// The task.
    pub task_id: TaskId,
    /// The agent that works, or worked.
    pub agent_name: AgentName,
    /// The agent that handed off, or the agent whose work a routed hand-off continues; null if there is none.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// The way in which the hand-off was started.
    pub mode: Door,
    /// The prompt as the caller wrote it.
    pub prompt: Text,
    /// The reason for the hand-off.
    #[schema(required)]
    pub reason: Option<Text>,
    /// The start time.
    pub started_at: Timestamp,
    /// The end time.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// The final message or the error.
    pub output: Text,
    /// The outcome.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// The error.
    #[schema(required)]
    pub error: Option<Text>,
    /// The usage counted by the provider: tokens, turns, duration.
    #[schema(required, value_type = Option<Object>)]
    pub usage: Option<serde_json::Value>,
    /// The cost in US dollars.
    #[schema(required)]
    pub cost_usd: Option<f64>,
    /// The last run.
    #[schema(required)]
    pub run: Option<Run>,
    /// The report of the agent.
    #[serde(default)]
    #[schema(required)]
    pub report: Option<Report>,
    /// The hand-off whose agent handed off, or from which control moved here.
    #[schema(required)]
    pub from_handoff_id: Option<HandoffId>,
    /// The hand-off that continues the work, if control moved before the agent had finished. Wait for its end instead.
    #[schema(required)]
    pub transferred_to: Option<HandoffId>,
    /// The W3C trace id.
    pub trace_id: TraceId,
    /// The parent span, if the caller sent one.
    #[schema(required)]
    pub parent_span_id: Option<SpanId>,
    /// The session of the task.
    #[schema(required)]
    pub session_id: Option<Text>,
    /// The trace id of the harness that leads the conversation, for a hand-off of a session.
    #[schema(required)]
    pub harness_trace_id: Option<Text>,
    /// The present state; null after the end.
    #[serde(default)]
    #[schema(required)]
    pub live: Option<LiveHandoff>,
    /// The hand-offs that the agent asked for, and whose answers it had not got when it ended.
    #[serde(default)]
    #[schema(required)]
    pub unanswered_handoffs: Vec<AskedHandoff>,
}
