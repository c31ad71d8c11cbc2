//! What is asked of a store about mail.

use crate::domain::{Actor, AgentName, Correspondent, HandoffId, MailContent, MailId, Text};

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
