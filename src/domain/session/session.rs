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
    /// The id of the session.
    pub id: SessionId,
    /// The task with the hand-offs of the session.
    pub task_id: TaskId,
    /// The time of the first move.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The number of moves.
    pub handoffs: u64,
    /// The agent that has the conversation, or had it last. A tool may have passed it on since the last move.
    pub agent_name: AgentName,
    /// The agent that works on the session now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
}

/// A move of a conversation to another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHandoff {
    /// The id of the hand-off.
    pub id: HandoffId,
    /// The session.
    pub session_id: SessionId,
    /// The task with the hand-offs of the session.
    pub task_id: TaskId,
    /// The agent that had the conversation.
    pub from_agent: AgentName,
    /// The agent that has the conversation now.
    pub to_agent: AgentName,
    /// The reason for the move.
    pub reason: Text,
    /// The intent of the user.
    pub user_intent: Text,
    /// The history of the conversation, unchanged.
    #[schema(value_type = Vec<HistoryMessage>)]
    pub conversation_history: ConversationHistory,
    /// The trace id of the harness that leads the conversation.
    #[schema(required)]
    pub harness_trace_id: Option<Text>,
    /// The W3C trace id.
    pub trace_id: TraceId,
    /// Whether Chorus runs the agent.
    pub invoked: bool,
    /// The time of the move.
    pub created_at: Timestamp,
    /// The end time of the hand-off.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// The outcome.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// The final message or the error.
    pub output: Text,
}
