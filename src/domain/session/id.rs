//! Ids of sessions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::text::checked_string::checked_string;

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
}

checked_string!(SessionId, IllegalSessionId);
