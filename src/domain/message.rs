//! Messages of a task's conversation.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::wire_enum::wire_enum;
use super::{AgentName, HandoffId, TaskId, Text, Timestamp};

wire_enum! {
    /// The type of a message in a conversation.
    pub enum MessageType {
        /// A message to the agent.
        UserMessage = "user_message",
        /// A message from an agent.
        AssistantMessage = "assistant_message",
        /// A thought of an agent.
        Thinking = "thinking",
        /// A call of a tool by an agent.
        ToolCall = "tool_call",
        /// The result of a tool call.
        ToolResult = "tool_result",
        /// A skill that an agent loaded.
        SkillLoad = "skill_load",
        /// A hand-off to another agent on a child task.
        SubtaskCreated = "subtask_created",
        /// An error during the run.
        Error = "error",
        /// A change of the status.
        StatusChange = "status_change",
        /// A move of control to another agent.
        Handoff = "handoff",
    }
}

/// A message to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub message_type: MessageType,
    pub content: Text,
    pub data: Option<Move>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a message")]
pub struct Message {
    /// The position among all messages; pass it as `after` to continue a list.
    pub number: i64,
    /// The time of the message.
    pub timestamp: Timestamp,
    /// The task of the conversation.
    pub task_id: TaskId,
    /// The hand-off during which the message was recorded.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// The agent that wrote the message; null if no agent did.
    #[schema(required)]
    pub agent_name: Option<AgentName>,
    /// The type of the message.
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// The text of the message.
    pub content: Text,
    /// The move of control, for `handoff` and `subtask_created`.
    #[schema(required)]
    pub data: Option<Move>,
}

/// A move of control from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a move of control")]
pub struct Move {
    /// The agent that had control; null if no agent had it.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// The agent that has control now.
    pub to_agent: AgentName,
    /// The task on which the work continues.
    pub task_id: TaskId,
    /// The hand-off tool that was called; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub tool: Option<Text>,
    /// The variables passed by the tool; absent if there was no tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub variables: Option<serde_json::Map<String, serde_json::Value>>,
    /// The reason for the move; absent if none was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub reason: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageQuery {
    /// Excludes messages up to this number.
    pub after: i64,
    pub limit: u32,
}
