//! Conversations in an archive.

use serde::{Deserialize, Serialize};

use super::number::MOST_NUMBER;
use crate::domain::{AgentName, HandoffId, MessageType, Move, TaskId, Text, Timestamp};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    pub messages: Vec<ArchivedMessage>,
}

/// A message in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a message")]
pub struct ArchivedMessage {
    pub number: i64,
    pub timestamp: Timestamp,
    pub task_id: TaskId,
    pub handoff_id: Option<HandoffId>,
    pub agent_name: Option<AgentName>,
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// Marks the message that repeats the prompt of its hand-off and therefore has no content. Omitted if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_prompt: bool,
    pub content: Text,
    pub data: Option<Move>,
}

impl ArchivedMessage {
    /// Checks the number, and that a message marked as a prompt is a user message of a hand-off without content.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_NUMBER).contains(&self.number) {
            return Err(format!(
                "message number {} is not between 1 and {MOST_NUMBER}",
                self.number
            ));
        }
        if !self.is_prompt || self.looks_like_prompt() {
            return Ok(());
        }
        Err(format!(
            "message {} has `isPrompt`; it must be a `user_message` with a `handoffId` and empty `content`",
            self.number
        ))
    }

    fn looks_like_prompt(&self) -> bool {
        self.handoff_id.is_some()
            && self.message_type == MessageType::UserMessage
            && self.content.as_str().is_empty()
    }
}

impl Conversation {
    /// Recognises the prompts in an archive from before the key `isPrompt` existed.
    pub fn mark_prompts(&mut self) {
        if self.messages.iter().any(|message| message.is_prompt) {
            return;
        }
        for message in &mut self.messages {
            message.is_prompt = message.looks_like_prompt();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const HANDOFF: &str = "01890000-0000-7000-8000-000000000001";

    fn message(changes: &Value) -> ArchivedMessage {
        let mut message = json!({
            "number": 1, "timestamp": 1, "taskId": HANDOFF, "handoffId": HANDOFF,
            "agentName": null, "type": "user_message", "content": "", "data": null,
        });
        for (key, value) in changes.as_object().unwrap() {
            message[key] = value.clone();
        }
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn only_an_empty_user_message_of_a_handoff_can_be_a_prompt() {
        for (changes, is_prompt) in [
            (json!({}), true),
            (json!({ "content": "Do it" }), false),
            (json!({ "handoffId": null }), false),
            (json!({ "type": "assistant_message" }), false),
        ] {
            let old = message(&changes);
            assert_eq!(old.check(), Ok(()));
            let mut conversation = Conversation {
                messages: vec![old.clone()],
            };
            conversation.mark_prompts();
            assert_eq!(conversation.messages[0].is_prompt, is_prompt, "{changes}");
            let marked = ArchivedMessage {
                is_prompt: true,
                ..old
            };
            assert_eq!(marked.check().is_ok(), is_prompt, "{changes}");
        }
    }

    #[test]
    fn a_conversation_with_the_key_is_not_changed() {
        let messages = vec![message(&json!({ "isPrompt": true })), message(&json!({}))];
        let mut conversation = Conversation {
            messages: messages.clone(),
        };
        conversation.mark_prompts();
        assert_eq!(conversation.messages, messages);
    }

    #[test]
    fn only_prompts_have_the_key() {
        let prompt = serde_json::to_value(message(&json!({ "isPrompt": true }))).unwrap();
        assert_eq!(prompt["isPrompt"], true);
        let other = serde_json::to_value(message(&json!({}))).unwrap();
        assert_eq!(other.get("isPrompt"), None);
    }
}
