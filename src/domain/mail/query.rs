//! Filters for lists of mail.

use super::{Correspondent, MailId, ThreadId};
use crate::domain::{TaskId, Timestamp};

/// Search words that must all occur in a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    pub const MOST: usize = 32;

    /// Splits a search text; `None` if it has no words or too many.
    pub fn parse(text: &str) -> Option<Self> {
        let has_letters = |word: &&str| word.contains(char::is_alphanumeric);
        let words: Vec<_> = text
            .split_whitespace()
            .filter(has_letters)
            .map(str::to_owned)
            .collect();
        (1..=Self::MOST)
            .contains(&words.len())
            .then_some(Self(words))
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

/// A filter for lists of mail. The filters on recipients apply to `to`, or to any recipient if `to` is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailQuery {
    pub to: Option<Correspondent>,
    pub from: Option<Correspondent>,
    /// Selects mail that is not read.
    pub unread: bool,
    /// Selects mail that is not read or not acknowledged as required.
    pub pending: bool,
    /// Selects mail that should have been acknowledged before this time.
    pub overdue_at: Option<Timestamp>,
    pub thread: Option<ThreadId>,
    pub task: Option<TaskId>,
    pub words: Option<SearchWords>,
    pub newest: bool,
    pub after: Option<MailId>,
    pub limit: u32,
}
