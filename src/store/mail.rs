//! What is asked of a store about mail.

use crate::domain::{
    Actor, AgentName, Correspondent, HandoffId, MailContent, MailId, TaskId, Text, ThreadId,
    Timestamp,
};

/// Who sends a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// Somebody who is what they say, or says nothing.
    Known(Correspondent),
    /// The agent that is meant by what a caller wrote.
    Agent(Text),
}

/// A mail to be sent, as it was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SendMail {
    /// Its id.
    pub id: MailId,
    /// Who sends it.
    pub from: Sender,
    /// Whether that is certain.
    pub from_verified: bool,
    /// Whom it is for, as the caller wrote it.
    pub to: Vec<Text>,
    /// Who is to know of it, as the caller wrote it.
    pub cc: Vec<Text>,
    /// What it says.
    pub content: MailContent,
    /// The mail that it answers, whose thread it goes on with.
    pub in_reply_to: Option<MailId>,
    /// How many may get it.
    pub most_recipients: usize,
}

/// What somebody says of a mail that they got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailMark {
    /// They have read it.
    Read,
    /// They have read it, and say so.
    Acknowledged,
}

/// A mail to be marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkMail {
    /// The mail.
    pub id: MailId,
    /// What is said of it.
    pub mark: MailMark,
    /// For whom; a run always speaks for its own agent.
    pub recipient: Option<Correspondent>,
    /// Who asks.
    pub by: Actor,
}

/// Mail that was put into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverMail {
    /// The hand-off whose prompt it is.
    pub handoff_id: HandoffId,
    /// Whom it was for.
    pub agent_name: AgentName,
    /// Which mail.
    pub ids: Vec<MailId>,
}

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
