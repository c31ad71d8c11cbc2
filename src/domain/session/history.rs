//! Histories of conversations that move between agents.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
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
    /// The content of the message: a text, a list of parts, or null.
    #[schema(value_type = Option<HistoryContent>, required)]
    pub content: Content,
    /// The agent that wrote the message.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// The time of the message: milliseconds since the epoch, or text.
    #[serde(default)]
    #[schema(value_type = Option<HistoryTime>)]
    pub timestamp: Option<Value>,
}

/// The content of a message: a text, a list of parts, or nothing, for instance beside a call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Map<String, Value>>),
    Nothing(()),
}

/// The two forms of a content.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the field in the OpenAPI document")]
enum HistoryContent {
    Text(String),
    Parts(Vec<HistoryPart>),
}

/// A part of a message. Additional keys are kept.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the field in the OpenAPI document")]
struct HistoryPart {
    /// The type of the part, for instance `text` or `image`.
    #[schema(min_length = 1, max_length = 100, example = "text")]
    r#type: String,
    /// The text, for the type `text`.
    #[schema(nullable = false)]
    text: Option<String>,
}

/// The type of the parts that have a text.
pub const TEXT_PART: &str = "text";

impl Content {
    /// Returns the text of the message, with a line in brackets for each part that is not a text.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                Cow::Owned(parts.iter().map(shown).collect::<Vec<_>>().join("\n"))
            }
            Self::Nothing(()) => Cow::Borrowed("[no content]"),
        }
    }
}

/// Shows a part: a text as it is, another part by its type and its name, if it has one.
fn shown(part: &Map<String, Value>) -> String {
    let field = |key: &str| part.get(key).and_then(Value::as_str);
    let kind = field("type").unwrap_or("part");
    match field(TEXT_PART) {
        Some(text) if kind == TEXT_PART => text.to_owned(),
        _ => match NAMES.iter().filter_map(|key| field(key)).find(is_name) {
            Some(name) => format!("[{kind}: {name}]"),
            None => format!("[{kind}]"),
        },
    }
}

/// Whether a value can name a part; the address of an image may be the whole image.
fn is_name(value: &&str) -> bool {
    value.len() <= 200 && !value.chars().any(char::is_control)
}

/// The keys by which programs name a part that is not a text.
const NAMES: [&str; 5] = ["name", "filename", "title", "url", "id"];

/// The two forms of a time.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the field in the OpenAPI document")]
enum HistoryTime {
    Millis(i64),
    Text(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_that_are_not_texts_are_named() {
        let shown = |content: Value| {
            let content: Content = serde_json::from_value(content).unwrap();
            content.to_text().into_owned()
        };
        assert_eq!(shown(json!("a\nb")), "a\nb");
        assert_eq!(shown(json!(null)), "[no content]");
        assert_eq!(shown(json!([])), "");
        let parts = json!([
            { "type": "text", "text": "Look:" },
            { "type": "image", "source": { "data": "AAAA" } },
            { "type": "tool_use", "id": "t1", "name": "search", "input": {} },
            { "type": "text", "text": 1 },
        ]);
        assert_eq!(shown(parts), "Look:\n[image]\n[tool_use: search]\n[text]");
    }
}
