//! What can be typed after `chorus mail`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ServerArguments;
use crate::domain::{MailType, Urgency};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MailCommand {
    /// Send a mail, and print its id. A run sends as its agent; a person as the operator, whose token is in the data directory
    Send(Box<SendMailArguments>),
    /// List the mail of somebody that is not read, or is to be acknowledged. Reading changes nothing
    Inbox(InboxArguments),
    /// Show a mail, and what became of it. It stays as unread as it was
    Show {
        /// The mail
        mail: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Acknowledge a mail, which is then read too
    Ack(MarkArguments),
    /// Mark a mail as read
    Read(MarkArguments),
    /// Show all mail of a thread, oldest first
    Thread {
        /// The thread, or a mail of it
        thread: String,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SendMailArguments {
    /// Whom it is for: agents, operator, or role:NAME for all that have the role
    #[arg(required = true, value_name = "TO")]
    pub to: Vec<String>,
    /// What it says in one line
    #[arg(long)]
    pub subject: String,
    /// What it says; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// A file with what it says; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    pub body_file: Option<PathBuf>,
    /// Who is to know of it; can be given more than once
    #[arg(long, value_name = "NAME")]
    pub cc: Vec<String>,
    /// What it is about: `task_handoff`, `test_failure_report`, `fix_complete`, `verification_request`, `assignment` or `note`
    #[arg(long = "type", value_name = "TYPE", value_parser = mail_type)]
    pub mail_type: Option<MailType>,
    /// The task that it is about; inside a run, if none is named, the run's own
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// The thread that it goes on with
    #[arg(long, value_name = "THREAD", conflicts_with = "reply_to")]
    pub thread: Option<String>,
    /// The mail that it answers
    #[arg(long, value_name = "MAIL")]
    pub reply_to: Option<String>,
    /// How soon it is to be looked at
    #[arg(long, value_name = "low|normal|high|urgent", value_parser = urgency)]
    pub urgency: Option<Urgency>,
    /// Ask for an acknowledgement
    #[arg(long)]
    pub ack: bool,
    /// What they must know, as a JSON object; - reads it from standard input
    #[arg(long, value_name = "JSON")]
    pub context: Option<String>,
    /// What kind of hand-off, such as `implementation_to_testing`
    #[arg(long, value_name = "WORD")]
    pub handoff_type: Option<String>,
    /// Who sends it, if it is not you: an agent. Without a token it is shown as not verified
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct InboxArguments {
    /// Whose: an agent, or operator; the agent of the run, or operator, if nobody is named
    #[arg(env = "CHORUS_AGENT", default_value = "operator")]
    pub name: String,
    /// All mail, also what is read and acknowledged
    #[arg(long)]
    pub all: bool,
    /// Only what should have been acknowledged by now
    #[arg(long)]
    pub overdue: bool,
    /// Only what has these words
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
    /// Only mail sent after this one
    #[arg(long, value_name = "MAIL")]
    pub after: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MarkArguments {
    /// The mail
    pub mail: String,
    /// For whom, if several get it
    #[arg(long = "as", value_name = "NAME")]
    pub recipient: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Reads what a mail is about.
fn mail_type(word: &str) -> Result<MailType, String> {
    let all = MailType::ALL.map(MailType::as_str);
    MailType::parse(word).ok_or_else(|| format!("must be one of: {}", all.join(", ")))
}

/// Reads how urgent a mail is.
fn urgency(word: &str) -> Result<Urgency, String> {
    let all = Urgency::ALL.map(Urgency::as_str);
    Urgency::parse(word).ok_or_else(|| format!("must be one of: {}", all.join(", ")))
}
