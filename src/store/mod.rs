//! What a store offers: operations in the language of the domain, one transaction each.
//!
//! Nothing above this folder knows which database is behind it, and nothing outside it has SQL. A lookup returns
//! `Option`; an operation that a rule forbids returns [`StoreError::Refused`] and has changed nothing.
//!
//! # Adding a table
//! 1. A numbered file in `migrations/sqlite/`, never an edit of an old one.
//! 2. One file in `sqlite/` with its statements and its one `from_row`.
//! 3. Operations in [`Store`], and tests of them in `tests/it/store.rs`.

mod columns;
mod database;
mod error;
mod feed;
mod mail;
pub mod row;
pub mod sql;
mod sqlite;
pub mod tables;
pub mod tx;
pub mod value;

use serde::{Deserialize, Serialize};

pub use database::{
    Backend, Database, DatabaseOptions, DatabaseUrl, ReadJob, Readers, Sharing, Snapshot, WriteJob,
};
pub use error::{OpenError, StoreError};
pub use feed::{Feed, Published, Watch};
pub use mail::{DeliverMail, MailMark, MarkMail, SendMail, Sender};
pub use row::{FromRow, Item, Json, Row};
pub(crate) use row::{columns, packed};
pub use sql::Statement;
pub(crate) use sql::{sql, text};
pub use sqlite::{MigrationState, MigrationStatus, migrate, migration_status};
pub use tx::{Tx, View};
pub(crate) use value::params;

use crate::domain::{
    Agent, AgentChange, AgentName, Alert, AttachmentId, Filename, Increment, KindRule, Mail,
    MessageType, Outcome, Problems, Request, RunIdentity, Task, TaskArchive, TaskId, Text, Tool,
};
pub use crate::domain::{
    AlertQuery, MailQuery, MessageQuery, Page, ReadyQuery, RequestQuery, Rules, SearchWords,
    TaskQuery,
};

/// A result of the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// An agent to be made or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAgent {
    /// The agent.
    pub agent: Agent,
    /// Whether it must not be there yet.
    pub only_new: bool,
    /// What is wrong with it that the agent itself does not show: its spec.
    pub problems: Problems,
}

/// An agent that was made or replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPut {
    /// The agent.
    pub agent: Agent,
    /// Whether it was made.
    pub is_new: bool,
}

/// A change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAgent {
    /// The agent.
    pub name: AgentName,
    /// What changes.
    pub change: AgentChange,
    /// What would be wrong with it that the agent itself does not show: its spec.
    pub problems: Problems,
    /// The run that says it of itself, if one does.
    pub caller: Option<RunIdentity>,
}

/// A line of a conversation to be recorded from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddMessage {
    /// The task.
    pub task_id: TaskId,
    /// What kind of line it is.
    pub message_type: MessageType,
    /// What it says.
    pub content: Text,
    /// The run that says it, if one does.
    pub caller: Option<RunIdentity>,
}

/// An end of a hand-off to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndHandoff {
    /// The task.
    pub task_id: TaskId,
    /// How it ended.
    pub outcome: Outcome,
    /// The final message, or what went wrong.
    pub output: Text,
}

/// How much an import brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// How many tasks.
    pub tasks: u64,
    /// How many agents.
    pub agents: u64,
    /// How many tools.
    pub tools: u64,
    /// How many requests.
    pub requests: u64,
    /// How many alerts.
    pub alerts: u64,
    /// How many increments.
    pub increments: u64,
    /// How many mails.
    pub mail: u64,
}

/// What may be too much for the memory, read while an import goes on; an error ends it, and nothing is imported.
pub type ImportSource<T> = Box<
    dyn Iterator<Item = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send,
>;

/// What is to be imported.
pub struct Import {
    /// The agents.
    pub agents: Vec<Agent>,
    /// The hand-off tools.
    pub tools: Vec<Tool>,
    /// The routes, in the place of all that there are; none to leave them alone.
    pub routes: Option<Vec<KindRule>>,
    /// The increments, oldest first.
    pub increments: ImportSource<Increment>,
    /// The tasks, a parent before its children.
    pub tasks: ImportSource<TaskArchive>,
    /// The requests, oldest first.
    pub requests: ImportSource<Request>,
    /// The alerts, oldest first.
    pub alerts: ImportSource<Alert>,
    /// The mail, oldest first.
    pub mail: ImportSource<Mail>,
}

impl Default for Import {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            tools: Vec::new(),
            routes: None,
            increments: Box::new(std::iter::empty()),
            tasks: Box::new(std::iter::empty()),
            requests: Box::new(std::iter::empty()),
            alerts: Box::new(std::iter::empty()),
            mail: Box::new(std::iter::empty()),
        }
    }
}

/// An attachment to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attach {
    /// The task.
    pub task_id: TaskId,
    /// The id of the attachment, which names the folder that holds its bytes.
    pub id: AttachmentId,
    /// The name of the file.
    pub filename: Filename,
    /// How many bytes it has.
    pub size: u64,
    /// Its media type.
    pub content_type: Text,
}

/// A task with an attachment that was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    /// The task.
    pub task: Task,
    /// The id under which the bytes are kept; not the one that was given if the request was a repetition.
    pub id: AttachmentId,
}
