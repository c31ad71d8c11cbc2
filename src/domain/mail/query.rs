//! Which mail a list shows.

use super::{Correspondent, MailId, ThreadId};
use crate::domain::{TaskId, Timestamp};

/// Words that a mail must have, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// The most words of one search.
    pub const MOST: usize = 32;

    /// Finds the words in what somebody typed: at least one, and not too many.
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

    /// Lists them.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

/// Which mail a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailQuery {
    /// Only what this one gets.
    pub to: Option<Correspondent>,
    /// Only what this one sent.
    pub from: Option<Correspondent>,
    /// Only what has not been read, by `to` or by anybody.
    pub unread: bool,
    /// Only what has not been read, or is to be acknowledged, by `to` or by anybody.
    pub pending: bool,
    /// Only what should have been acknowledged before this time, by `to` or by anybody.
    pub overdue_at: Option<Timestamp>,
    /// Only what belongs to this thread.
    pub thread: Option<ThreadId>,
    /// Only what is about this task.
    pub task: Option<TaskId>,
    /// Only what has these words.
    pub words: Option<SearchWords>,
    /// Only what was sent after this one.
    pub after: Option<MailId>,
    /// At most so many.
    pub limit: u32,
}
