//! Messages: the lines of a task's conversation.

use super::{AgentName, HandoffId, RunId, TaskId, Text};

/// What kind of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType {
    /// An agent said something.
    AssistantMessage,
    /// An agent thought something.
    Thinking,
    /// An agent called a tool.
    ToolCall,
    /// A tool answered.
    ToolResult,
    /// Something went wrong on the way.
    Error,
}

impl MessageType {
    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AssistantMessage => "assistant_message",
            Self::Thinking => "thinking",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Error => "error",
        }
    }
}

/// A line to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// What kind of line it is.
    pub message_type: MessageType,
    /// What it says.
    pub content: Text,
}

/// The run in whose name somebody asks: shown by the token that only its process has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// The run.
    pub run_id: RunId,
    /// The hand-off that it executes.
    pub handoff_id: HandoffId,
    /// The task that was handed off.
    pub task_id: TaskId,
    /// The agent that works.
    pub agent_name: AgentName,
}
