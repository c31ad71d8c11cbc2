//! Messages: the lines of a task's conversation.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AgentName, HandoffId, TaskId, Text, Timestamp};

/// What kind of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageType {
    /// Whoever asks said something.
    UserMessage,
    /// An agent said something.
    AssistantMessage,
    /// An agent thought something.
    Thinking,
    /// An agent called a tool.
    ToolCall,
    /// A tool answered.
    ToolResult,
    /// An agent took up a skill.
    SkillLoad,
    /// An agent asked another one, on a child task.
    SubtaskCreated,
    /// Something went wrong on the way.
    Error,
    /// The status changed.
    StatusChange,
    /// Control moved to another agent.
    Handoff,
}

impl MessageType {
    /// Every type.
    pub const ALL: [Self; 10] = [
        Self::UserMessage,
        Self::AssistantMessage,
        Self::Thinking,
        Self::ToolCall,
        Self::ToolResult,
        Self::SkillLoad,
        Self::SubtaskCreated,
        Self::Error,
        Self::StatusChange,
        Self::Handoff,
    ];

    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserMessage => "user_message",
            Self::AssistantMessage => "assistant_message",
            Self::Thinking => "thinking",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::SkillLoad => "skill_load",
            Self::SubtaskCreated => "subtask_created",
            Self::Error => "error",
            Self::StatusChange => "status_change",
            Self::Handoff => "handoff",
        }
    }

    /// Reads the word that stands for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_the_same_word_in_json_and_sql() {
        for kind in MessageType::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(MessageType::parse(kind.as_str()), Some(kind));
        }
    }
}
