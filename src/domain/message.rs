//! Messages: the lines of a task's conversation.

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

/// A line to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// What kind of line it is.
    pub message_type: MessageType,
    /// What it says.
    pub content: Text,
    /// What it says for programs.
    pub data: Option<Move>,
}

/// One line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a message")]
pub struct Message {
    /// Its place among all messages; `after` takes it.
    pub number: i64,
    /// When it was said.
    pub timestamp: Timestamp,
    /// The task on which it was said.
    pub task_id: TaskId,
    /// The hand-off during which it was said.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// The agent that said it; null for a person.
    #[schema(required)]
    pub agent_name: Option<AgentName>,
    /// What kind of line it is.
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// What it says.
    pub content: Text,
    /// Where control moved, for `handoff` and `subtask_created`.
    #[schema(required)]
    pub data: Option<Move>,
}

/// Where control moved, and what was passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "where control moved")]
pub struct Move {
    /// Who had it, if an agent did.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// Who has it.
    pub to_agent: AgentName,
    /// The task on which it goes on.
    pub task_id: TaskId,
    /// The tool by which it moved; absent where none was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub tool: Option<Text>,
    /// The variables that were passed; absent where none can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub variables: Option<serde_json::Map<String, serde_json::Value>>,
    /// Why it moved; absent where nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub reason: Option<Text>,
}

/// Which messages a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageQuery {
    /// Only those behind this number.
    pub after: i64,
    /// At most so many.
    pub limit: u32,
}
