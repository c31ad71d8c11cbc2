//! What a store offers: operations in the language of the domain, one transaction each.
//!
//! Nothing above this folder knows which database is behind it, and nothing outside it has SQL. A lookup returns
//! `Option`; an operation that a rule forbids returns [`StoreError::Refused`] and has changed nothing.
//!
//! # Adding a table
//! 1. A numbered file in `migrations/sqlite/`, never an edit of an old one.
//! 2. One file in `tables/` with its statements and its row struct.
//! 3. Operations on it in `src/ledger`, and tests of them in `tests/it`.

mod columns;
mod database;
mod error;
mod feed;
mod requests;
mod routing;
pub mod row;
pub mod sql;
mod sqlite;
pub mod tables;
pub mod tx;
pub mod value;

pub use database::{
    Backend, Database, DatabaseOptions, DatabaseUrl, ReadJob, Readers, Sharing, Snapshot, WriteJob,
};
pub use error::{OpenError, StoreError};
pub use feed::{Feed, Published, Watch};
pub use requests::{
    AlertTagChange, ClaimRequest, Dispatch, DispatchLists, Due, EndClaim, EndedClaim, FileReport,
    FilesReport, Heartbeat, Job, RaiseAlert, Reconciled, Slots, TagChange,
};
pub use routing::Rules;
pub use row::{FromRow, Item, Json, Row};
pub(crate) use row::{columns, packed};
pub use sql::Statement;
pub(crate) use sql::{sql, text};
pub use sqlite::{MigrationState, MigrationStatus, migrate, migration_status};
pub use tx::{Tx, View};
pub(crate) use value::params;

use crate::domain::{
    Agent, AgentName, ConversationHistory, Kind, Mail, Message, Mode, Outcome, RunId, RunIdentity,
    Task, Text, Tool, TraceId,
};
pub use crate::domain::{
    AlertQuery, MailQuery, MessageQuery, Page, ReadyQuery, RequestQuery, SearchWords, TaskQuery,
};

/// A result of the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// What an agent is told beside its task and its prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Briefing {
    /// The agents.
    pub agents: Vec<Agent>,
    /// The kinds of requests that somebody takes, the most pressing first.
    pub kinds: Vec<Kind>,
    /// The hand-off tools that it may use, by name.
    pub tools: Vec<Tool>,
    /// The conversation that was moved to it.
    pub history: Option<ConversationHistory>,
    /// What was said before on the tasks that led to its own, oldest first; at most so much as a prompt has room for.
    pub conversation: Vec<Message>,
    /// Whether there was more.
    pub has_more_conversation: bool,
    /// The newest mail that it has not read or is to acknowledge, oldest first.
    pub mail: Vec<Mail>,
    /// How much older mail of that kind there is.
    pub older_mail: usize,
}

/// Who has a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenHolder {
    /// A run that works.
    Working(RunIdentity),
    /// A run that has passed control on, and to whom.
    MovedOn {
        /// The run.
        run: RunIdentity,
        /// Who has control.
        agent_name: AgentName,
    },
}

/// A run that the scheduler has taken, with all that is needed to start it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedRun {
    /// The run.
    pub identity: RunIdentity,
    /// The task, with its chain.
    pub task: Task,
    /// The agent's configuration, unless it was deleted since.
    pub agent: Option<Agent>,
    /// What is asked.
    pub prompt: Text,
    /// Why.
    pub reason: Option<Text>,
    /// Who asked, if an agent did.
    pub from_agent: Option<AgentName>,
    /// Which door it came through.
    pub mode: Mode,
    /// The trace that it belongs to.
    pub trace_id: TraceId,
    /// Whether it only starts a job elsewhere, by the command of a route.
    pub starts_job: bool,
    /// The session that goes on.
    pub resumes: Option<String>,
    /// The data directory whose server took it.
    pub claimed_in: Option<String>,
    /// How much of its output has become messages.
    pub followed_bytes: u64,
    /// How many bytes of what others left behind it is told.
    pub carried_bytes: usize,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishRun {
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub outcome: Outcome,
    /// The final message, or what went wrong.
    pub output: Text,
    /// The session that can be continued.
    pub session_id: Option<String>,
    /// What was counted.
    pub usage: Option<serde_json::Value>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
}
