//! Sessions of agent programs.

use serde::{Deserialize, Serialize};

use crate::domain::text::checked_string::checked_string;

const MAX_ID: usize = 200;

/// The id of a program's own session, which a later run resumes.
///
/// The program printed it, so the agent may have chosen it. The id becomes an argument of the next run, and its form excludes everything
/// that a program could read as an option, a path or several arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderSession(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalProviderSession {
    #[error("must begin with a letter or a digit")]
    Beginning,
    #[error("must consist of letters, digits and `_.:-`")]
    Character,
    #[error("must not be longer than {MAX_ID} bytes")]
    TooLong,
}

impl ProviderSession {
    pub fn parse(id: impl Into<String>) -> Result<Self, IllegalProviderSession> {
        let id = id.into();
        if !id.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            Err(IllegalProviderSession::Beginning)
        } else if id.len() > MAX_ID {
            Err(IllegalProviderSession::TooLong)
        } else if !id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
        {
            Err(IllegalProviderSession::Character)
        } else {
            Ok(Self(id))
        }
    }
}

checked_string!(ProviderSession, IllegalProviderSession);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_real_programs_are_legal() {
        for id in [
            "0198f0a2-7c3e-7d51-9d7e-6f1f0a2b3c4d",
            "ses_5f2e8c1d4ffe",
            "s-1",
            "a.b:c",
            &"x".repeat(MAX_ID),
        ] {
            assert_eq!(ProviderSession::parse(id).unwrap().as_str(), id);
        }
    }

    #[test]
    fn options_paths_and_unprintable_text_are_illegal() {
        use IllegalProviderSession::{Beginning, Character, TooLong};
        for (id, why) in [
            ("", Beginning),
            ("--dangerously-skip-permissions", Beginning),
            ("-c", Beginning),
            ("../../etc/passwd", Beginning),
            ("é", Beginning),
            ("a b", Character),
            ("a/b", Character),
            ("a=b", Character),
            ("a\n", Character),
            ("a\0", Character),
            ("aé", Character),
            (&"x".repeat(MAX_ID + 1), TooLong),
        ] {
            assert_eq!(ProviderSession::parse(id), Err(why), "{id:?}");
        }
    }
}
