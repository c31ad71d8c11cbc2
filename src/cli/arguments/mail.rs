//! Arguments of `chorus mail`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{MailArgument, ServerArguments, TaskArgument, ThreadArgument};
use crate::domain::{MailType, Urgency};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MailCommand {
    /// Send a mail and print its id
    ///
    /// An agent sends in its own name; you send as the operator, with the token in the data directory.
    #[command(alias = "create")]
    Send(Box<SendMailArguments>),
    /// List mail that is unread or waits for an acknowledgement
    #[command(alias = "list")]
    Inbox(InboxArguments),
    /// Show a mail and its recipients without marking it as read
    Show {
        /// Mail to show
        mail: MailArgument,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Acknowledge a mail and mark it as read
    Ack(MarkArguments),
    /// Mark a mail as read
    Read(MarkArguments),
    /// Show the mail of a thread, oldest first
    Thread {
        /// Thread, or a mail of the thread
        thread: ThreadArgument,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SendMailArguments {
    /// Recipients: agents, operator, or role:NAME for everybody in a role
    #[arg(required = true, value_name = "RECIPIENT")]
    pub to: Vec<String>,
    /// Subject, in one line
    #[arg(long, value_name = "TEXT")]
    pub subject: String,
    /// Text of the mail; - reads standard input
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// File with the text of the mail; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    pub body_file: Option<PathBuf>,
    /// Recipient of a copy (repeatable)
    #[arg(long, value_name = "RECIPIENT")]
    pub cc: Vec<String>,
    /// Type of the mail, such as `note`
    ///
    /// One of `task_handoff`, `test_failure_report`, `fix_complete`, `verification_request`, `assignment` or `note`.
    #[arg(long = "type", value_name = "TYPE", value_parser = mail_type)]
    pub mail_type: Option<MailType>,
    /// Task the mail is about [default: the run's task]
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskArgument>,
    /// Thread that the mail continues
    #[arg(long, value_name = "THREAD", conflicts_with = "reply_to")]
    pub thread: Option<ThreadArgument>,
    /// Mail that this one answers
    #[arg(long, value_name = "MAIL")]
    pub reply_to: Option<MailArgument>,
    /// Urgency of the mail
    #[arg(long, value_name = "low|normal|high|urgent", value_parser = urgency)]
    pub urgency: Option<Urgency>,
    /// Ask the recipients to acknowledge the mail
    #[arg(long)]
    pub ack: bool,
    /// Context, a JSON object; - reads standard input
    #[arg(long, value_name = "JSON")]
    pub context: Option<String>,
    /// Kind of hand-off, such as `testing_to_fixing`
    #[arg(long, value_name = "WORD")]
    pub handoff_type: Option<String>,
    /// Send as this agent; unverified without its token
    #[arg(long = "as", alias = "from", value_name = "AGENT")]
    pub from: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct InboxArguments {
    /// Agent or operator whose mail is listed
    #[arg(
        env = "CHORUS_AGENT",
        default_value = "operator",
        value_name = "RECIPIENT"
    )]
    pub name: String,
    /// Include mail that was read and acknowledged
    #[arg(long)]
    pub all: bool,
    /// Only mail with an overdue acknowledgement
    #[arg(long)]
    pub overdue: bool,
    /// Only mail that contains these words
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Maximum number of mails
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
    /// Only mail sent after this one
    #[arg(long, value_name = "MAIL")]
    pub after: Option<MailArgument>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MarkArguments {
    /// Mail to mark
    pub mail: MailArgument,
    /// Recipient to mark it for, if the mail has several
    #[arg(long = "as", value_name = "RECIPIENT")]
    pub recipient: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

fn mail_type(word: &str) -> Result<MailType, String> {
    let all = MailType::ALL.map(MailType::as_str);
    MailType::parse(word).ok_or_else(|| format!("must be one of: {}", all.join(", ")))
}

fn urgency(word: &str) -> Result<Urgency, String> {
    let all = Urgency::ALL.map(Urgency::as_str);
    Urgency::parse(word).ok_or_else(|| format!("must be one of: {}", all.join(", ")))
}
