//! Histories of conversations that move between agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The history of a conversation: a JSON array, kept byte for byte.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub struct ConversationHistory(Box<RawValue>);

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a history must be an array of messages")]
pub struct NotAnArray;

impl TryFrom<Box<RawValue>> for ConversationHistory {
    type Error = NotAnArray;

    fn try_from(json: Box<RawValue>) -> Result<Self, Self::Error> {
        if json.get().starts_with('[') {
            Ok(Self(json))
        } else {
            Err(NotAnArray)
        }
    }
}

impl Default for ConversationHistory {
    fn default() -> Self {
        Self(RawValue::from_string("[]".to_owned()).expect("an empty array is JSON"))
    }
}

impl Serialize for ConversationHistory {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl ConversationHistory {
    /// Wraps JSON that is known to be an array of messages.
    pub fn from_json(json: String) -> serde_json::Result<Self> {
        RawValue::from_string(json).map(Self)
    }

    /// Wraps JSON that is known to be an array of messages.
    pub const fn from_raw(json: Box<RawValue>) -> Self {
        Self(json)
    }

    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Parses the messages; an invalid history yields none.
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

/// A message of a conversation. Additional keys are kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// The speaker: `system`, `user`, `assistant` or `tool`.
    #[schema(pattern = "^(system|user|assistant|tool)$", example = "user")]
    pub role: String,
    /// The text of the message.
    pub content: String,
    /// The agent that wrote the message.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// The time of the message: milliseconds since the epoch, or text.
    #[serde(default)]
    #[schema(value_type = Option<HistoryTime>)]
    pub timestamp: Option<Value>,
}

/// The two forms of a time.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the field in the OpenAPI document")]
enum HistoryTime {
    Millis(i64),
    Text(String),
}
