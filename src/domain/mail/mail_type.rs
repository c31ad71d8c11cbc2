//! Types of mail.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a mail is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailType {
    /// Work goes on with somebody else.
    TaskHandoff,
    /// A test failed.
    TestFailureReport,
    /// What failed is mended.
    FixComplete,
    /// Somebody is to say whether it is what was asked for.
    VerificationRequest,
    /// A task was given to somebody.
    Assignment,
    /// Anything else.
    #[default]
    Note,
}

impl MailType {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self::TaskHandoff,
        Self::TestFailureReport,
        Self::FixComplete,
        Self::VerificationRequest,
        Self::Assignment,
        Self::Note,
    ];

    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskHandoff => "task_handoff",
            Self::TestFailureReport => "test_failure_report",
            Self::FixComplete => "fix_complete",
            Self::VerificationRequest => "verification_request",
            Self::Assignment => "assignment",
            Self::Note => "note",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_the_same_in_json_and_sql() {
        for each in MailType::ALL {
            assert_eq!(serde_json::to_value(each).unwrap(), each.as_str());
            assert_eq!(MailType::parse(each.as_str()), Some(each));
        }
    }
}
