//! Histories: what was said in a conversation that moves.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

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
