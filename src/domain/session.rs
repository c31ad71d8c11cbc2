//! Sessions: conversations that move from one agent to another.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{AgentName, HandoffId, Outcome, TaskId, Text, Timestamp, TraceId};

/// The longest id of a session.
const MAX_ID: usize = 200;

/// The id of a session, as whoever leads the conversation chose it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 200, example = "sess_abc123")]
pub struct SessionId(String);

/// Says why a string cannot be the id of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalSessionId {
    /// It has nothing but white space.
    #[error("must not be empty")]
    Blank,
    /// It has too many bytes.
    #[error("must not be longer than {MAX_ID} bytes")]
    TooLong,
    /// It has characters that cannot be shown.
    #[error("must not have control characters")]
    Control,
    /// It means something else in a path.
    #[error("must not be `.` or `..`, which mean something else in a path")]
    Dots,
}

impl SessionId {
    /// Reads an id, if it has the legal form.
    pub fn parse(id: impl Into<String>) -> Result<Self, IllegalSessionId> {
        let id = id.into();
        if id.trim().is_empty() {
            Err(IllegalSessionId::Blank)
        } else if id.len() > MAX_ID {
            Err(IllegalSessionId::TooLong)
        } else if id.chars().any(char::is_control) {
            Err(IllegalSessionId::Control)
        } else if id == "." || id == ".." {
            Err(IllegalSessionId::Dots)
        } else {
            Ok(Self(id))
        }
    }

    /// Returns the id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = IllegalSessionId;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        Self::parse(id)
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

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

/// What was said in a conversation: a JSON list, kept as it came.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub struct ConversationHistory(Box<RawValue>);

/// Says that a history is something else.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a history must be an array of messages")]
pub struct NoHistory;

impl TryFrom<Box<RawValue>> for ConversationHistory {
    type Error = NoHistory;

    fn try_from(json: Box<RawValue>) -> Result<Self, Self::Error> {
        if json.get().starts_with('[') {
            Ok(Self(json))
        } else {
            Err(NoHistory)
        }
    }
}

impl Default for ConversationHistory {
    fn default() -> Self {
        Self(RawValue::from_string("[]".to_owned()).expect("it is JSON"))
    }
}

impl Serialize for ConversationHistory {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl ConversationHistory {
    /// Takes JSON that is a list of messages.
    pub fn from_json(json: String) -> serde_json::Result<Self> {
        RawValue::from_string(json).map(Self)
    }

    /// Takes JSON that came with a request.
    pub const fn from_raw(json: Box<RawValue>) -> Self {
        Self(json)
    }

    /// Returns the JSON.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Reads the messages.
    pub fn messages(&self) -> Vec<HistoryMessage> {
        serde_json::from_str(self.as_json()).unwrap_or_default()
    }
}

impl PartialEq for ConversationHistory {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for ConversationHistory {}

/// One message of a conversation that moves. Other keys are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// Who spoke: `system`, `user`, `assistant` or `tool`.
    #[schema(pattern = "^(system|user|assistant|tool)$", example = "user")]
    pub role: String,
    /// What was said.
    pub content: String,
    /// The agent that spoke.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// When: milliseconds since the epoch, or text.
    #[serde(default)]
    #[schema(value_type = Option<HistoryTime>)]
    pub timestamp: Option<Value>,
}

/// The two ways to write when something was said.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "says in the OpenAPI document what a history may have"
)]
enum HistoryTime {
    Millis(i64),
    Text(String),
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
