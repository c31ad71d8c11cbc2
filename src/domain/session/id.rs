//! Ids of sessions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::text::checked_string::checked_string;

const MAX_ID: usize = 200;

/// The id of a session, chosen by the program that leads the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 200, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$", example = "sess_abc123")]
pub struct SessionId(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalSessionId {
    #[error("must not be empty")]
    Blank,
    #[error("must not be longer than {MAX_ID} bytes")]
    TooLong,
    #[error("must not contain control characters")]
    Control,
    /// A URL path segment `.` or `..` has another meaning.
    #[error("must not be `.` or `..`, which have another meaning in a path")]
    Dots,
}

impl SessionId {
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
}

checked_string!(SessionId, IllegalSessionId);
