//! Hand-offs: the work of an agent on a task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::door::Door;
use super::id::HandoffId;
use super::outcome::Outcome;
use super::report::Report;
use super::run::Run;
use super::trace::{SpanId, TraceId};
use crate::domain::{AgentName, TaskId, Text, Timestamp};

/// A hand-off in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// Its id.
    pub id: HandoffId,
    /// The task that was handed off.
    pub task_id: TaskId,
    /// Who was asked.
    pub agent_name: AgentName,
    /// Who asked, if an agent did.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// Which door it came through.
    pub mode: Door,
    /// The prompt, as the caller wrote it.
    pub prompt: Text,
    /// Why the caller handed off.
    #[schema(required)]
    pub reason: Option<Text>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// The final message, or what went wrong.
    pub output: Text,
    /// How it ended.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// What went wrong.
    #[schema(required)]
    pub error: Option<Text>,
    /// What the provider counted: tokens, turns, duration.
    #[schema(required, value_type = Option<Object>)]
    pub usage: Option<serde_json::Value>,
    /// What it cost, in US dollars.
    #[schema(required)]
    pub cost_usd: Option<f64>,
    /// Its last run.
    #[schema(required)]
    pub run: Option<Run>,
    /// What its agent said of its work.
    #[serde(default)]
    #[schema(required)]
    pub report: Option<Report>,
    /// The hand-off that it came from: the one whose agent asked, or that moved here.
    #[schema(required)]
    pub from_handoff_id: Option<HandoffId>,
    /// The hand-off that goes on, if control moved before the agent had finished. Its end is the one to wait for.
    #[schema(required)]
    pub transferred_to: Option<HandoffId>,
    /// The W3C trace that it belongs to.
    pub trace_id: TraceId,
    /// The span from which it was asked, if whoever asked said so.
    #[schema(required)]
    pub parent_span_id: Option<SpanId>,
    /// The session that its task belongs to.
    #[schema(required)]
    pub session_id: Option<Text>,
    /// The trace of the harness that leads the conversation, if it is one of a session.
    #[schema(required)]
    pub harness_trace_id: Option<Text>,
}
