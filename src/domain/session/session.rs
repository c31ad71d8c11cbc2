//! Sessions and their hand-offs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::history::{ConversationHistory, HistoryMessage};
use super::id::SessionId;
use crate::domain::{AgentName, HandoffId, Outcome, TaskId, Text, Timestamp, TraceId};

/// A conversation that moves between agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The task that has its chain.
    pub task_id: TaskId,
    /// When it first moved.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How often it has moved.
    pub handoffs: u64,
    /// The agent that has it, or had it last; a tool may have passed it on since it moved.
    pub agent_name: AgentName,
    /// Who works on it now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
}

/// A move of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHandoff {
    /// The hand-off's id.
    pub id: HandoffId,
    /// The session.
    pub session_id: SessionId,
    /// The task that has the session's chain.
    pub task_id: TaskId,
    /// Who had the conversation.
    pub from_agent: AgentName,
    /// Who has it.
    pub to_agent: AgentName,
    /// Why it moved.
    pub reason: Text,
    /// What the user wants.
    pub user_intent: Text,
    /// All that was said, as it came.
    #[schema(value_type = Vec<HistoryMessage>)]
    pub conversation_history: ConversationHistory,
    /// The trace of the harness that leads the conversation.
    #[schema(required)]
    pub harness_trace_id: Option<Text>,
    /// The W3C trace.
    pub trace_id: TraceId,
    /// Whether Chorus runs the agent.
    pub invoked: bool,
    /// When it moved.
    pub created_at: Timestamp,
    /// When the agent had finished.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// How it ended.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// The final message, or what went wrong.
    pub output: Text,
}
