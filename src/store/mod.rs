//! What a store offers: operations in the language of the domain, one transaction each.
//!
//! Nothing above this folder knows which database is behind it, and nothing outside it has SQL. A lookup returns
//! `Option`; an operation that a rule forbids returns [`StoreError::Refused`] and has changed nothing.
//!
//! # Adding a table
//! 1. A numbered file in `migrations/sqlite/`, never an edit of an old one.
//! 2. One file in `sqlite/` with its statements and its one `from_row`.
//! 3. Operations in [`Store`], and tests of them in `tests/it/store.rs`.

mod error;
mod feed;
mod sqlite;

use std::path::Path;

use async_trait::async_trait;

pub use error::{OpenError, StoreError};
pub use feed::{Feed, Published, TaskWatch};
pub use sqlite::{
    MigrationState, MigrationStatus, SqliteOptions, SqliteStore, migrate, migration_status,
};

use crate::domain::{
    Agent, AgentName, Attachment, AttachmentId, ChainLimits, Event, Filename, Handoff, HandoffId,
    History, Idempotency, NewMessage, NewTask, Outcome, PlanningChange, Queue, QueueMessage, RunId,
    RunIdentity, Status, StatusName, Task, TaskArchive, TaskId, TaskSummary, Text, UsageSum,
};

/// A result of the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Which tasks a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only those with this status.
    pub status: Option<StatusName>,
    /// Only those made after this one.
    pub after: Option<TaskId>,
    /// At most so many.
    pub limit: u32,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, oldest first.
    pub items: Vec<T>,
    /// The last task of this page, if there are more behind it.
    pub next: Option<TaskId>,
}

/// A hand-off to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartHandoff {
    /// The task.
    pub task_id: TaskId,
    /// Whom to ask, as the caller wrote it.
    pub agent_name: String,
    /// What to ask.
    pub prompt: Text,
    /// Why.
    pub reason: Option<Text>,
    /// Whether the agent's last session on this task goes on.
    pub resume: bool,
    /// The run in whose name it is asked, if an agent asks.
    pub caller: Option<RunIdentity>,
    /// How far agents may hand on.
    pub limits: ChainLimits,
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
    /// The session that goes on.
    pub resumes: Option<String>,
    /// The data directory whose server took it.
    pub claimed_in: Option<String>,
    /// How much of its output has become messages.
    pub followed_bytes: u64,
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
}

/// The tasks of an import, read while it goes on; an error ends it, and nothing is imported.
pub type ImportSource = Box<
    dyn Iterator<Item = std::result::Result<TaskArchive, Box<dyn std::error::Error + Send + Sync>>>
        + Send,
>;

/// The ledger. When a writing operation returns, what it did is on disk.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Makes a task.
    async fn create_task(&self, new: NewTask, once: Option<Idempotency>) -> Result<Task>;
    /// Finds a task.
    async fn task(&self, id: &TaskId) -> Result<Option<Task>>;
    /// Lists tasks in full.
    async fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>>;
    /// Lists tasks in short.
    async fn task_summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>>;
    /// Sets a task's status.
    async fn set_status(
        &self,
        id: TaskId,
        status: Status,
        once: Option<Idempotency>,
    ) -> Result<Task>;
    /// Sets planning fields of a task.
    async fn plan_task(
        &self,
        id: TaskId,
        change: PlanningChange,
        once: Option<Idempotency>,
    ) -> Result<Task>;

    /// Hands a task to an agent: the hand-off is open and its run is queued.
    async fn start_handoff(&self, start: StartHandoff, once: Option<Idempotency>) -> Result<Task>;
    /// Ends the open hand-off of a task, and the run that has not ended.
    async fn end_handoff(&self, end: EndHandoff, once: Option<Idempotency>) -> Result<Task>;
    /// Takes the next run for which there is a free slot: lower priority number first, then oldest. A run whose agent
    /// waits for a child does not occupy a slot. A live run is one whose process may not be gone: it occupies its slot
    /// even if it was ended from outside, and its task is passed over.
    async fn claim_run(
        &self,
        max_runs: u32,
        data_dir: String,
        live: Vec<RunId>,
        token_hash: [u8; 32],
    ) -> Result<Option<ClaimedRun>>;
    /// Puts a run back that was taken and never started.
    async fn return_run(&self, run_id: RunId) -> Result<()>;
    /// Lists the runs that were started and have not ended.
    async fn running(&self) -> Result<Vec<ClaimedRun>>;
    /// Finds a run, whatever became of it.
    async fn run(&self, run_id: RunId) -> Result<Option<ClaimedRun>>;
    /// Records what an agent said, and up to where its output was read, unless the run was ended from outside.
    async fn record_messages(
        &self,
        run_id: RunId,
        messages: Vec<NewMessage>,
        followed_bytes: u64,
    ) -> Result<()>;
    /// Ends a run and, if it is still open, its hand-off. Returns whether it was.
    async fn finish_run(&self, finish: FinishRun) -> Result<bool>;
    /// Finds the run that has a token, while it has not ended.
    async fn run_with_token(&self, token_hash: [u8; 32]) -> Result<Option<RunIdentity>>;
    /// Tells whether a task is another one, or was handed on from it.
    async fn is_below(&self, task_id: &TaskId, above: &TaskId) -> Result<bool>;
    /// Finds the last run of a hand-off.
    async fn run_of_handoff(&self, id: &HandoffId) -> Result<Option<RunId>>;

    /// Adds up what the runs of a task used.
    async fn task_usage(&self, id: &TaskId) -> Result<Option<UsageSum>>;
    /// Adds up what the runs of an agent used.
    async fn agent_usage(&self, name: &AgentName) -> Result<UsageSum>;

    /// Finds a hand-off.
    async fn handoff(&self, id: &HandoffId) -> Result<Option<Handoff>>;
    /// Lists the hand-offs of a task, in the order of its chain.
    async fn handoffs(&self, task_id: &TaskId) -> Result<Option<Vec<Handoff>>>;

    /// Finds the history of a task.
    async fn history(&self, task_id: &TaskId) -> Result<Option<History>>;
    /// Lists the events behind a number.
    async fn events_after(&self, number: i64, limit: u32) -> Result<Vec<Event>>;
    /// Finds the number of the newest event, 0 if there is none.
    async fn last_event_number(&self) -> Result<i64>;

    /// Finds the queue of a task.
    async fn queue(&self, task_id: &TaskId) -> Result<Option<Queue>>;
    /// Adds a message to the queue of a task.
    async fn queue_message(
        &self,
        task_id: TaskId,
        content: Text,
        once: Option<Idempotency>,
    ) -> Result<QueueMessage>;

    /// Adds an attachment whose bytes are already in place.
    async fn add_attachment(&self, attach: Attach, once: Option<Idempotency>) -> Result<Attached>;
    /// Finds an attachment of a task.
    async fn attachment(
        &self,
        task_id: &TaskId,
        filename: &str,
    ) -> Result<Option<(AttachmentId, Attachment)>>;
    /// Removes an attachment; its bytes are the caller's to remove.
    async fn remove_attachment(
        &self,
        task_id: TaskId,
        filename: String,
        once: Option<Idempotency>,
    ) -> Result<(Task, AttachmentId)>;

    /// Lists the agents by name.
    async fn agents(&self) -> Result<Vec<Agent>>;
    /// Finds an agent.
    async fn agent(&self, name: &AgentName) -> Result<Option<Agent>>;
    /// Plants the default agents, if that has never been done and there are none. Returns how many.
    async fn seed_agents(&self, agents: Vec<Agent>) -> Result<usize>;

    /// Opens a view of the whole ledger at one moment.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>>;
    /// Takes in tasks and agents, all of them or none.
    async fn import(&self, agents: Vec<Agent>, tasks: ImportSource) -> Result<Imported>;
    /// Writes a consistent copy of the database to a file that does not exist yet.
    async fn backup(&self, to: &Path) -> Result<()>;

    /// Writes, and so shows that writing works.
    async fn check_ready(&self) -> Result<()>;
    /// Lists what breaks the database's own rules; empty if all is well.
    async fn problems(&self) -> Result<Vec<String>>;
    /// Forgets idempotency keys that are older than so many milliseconds. Returns how many.
    async fn forget_keys_older_than(&self, millis: i64) -> Result<usize>;
    /// Gives what was committed to those who wait for it.
    fn feed(&self) -> &Feed;
    /// Finishes what was asked and closes the database.
    async fn close(&self);
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
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Attached {
    /// The task.
    pub task: Task,
    /// The id under which the bytes are kept; not the one that was given if the request was a repetition.
    pub id: AttachmentId,
}

/// A view of the ledger at one moment.
#[async_trait]
pub trait Snapshot: Send {
    /// Counts the tasks.
    async fn count_tasks(&mut self) -> Result<u64>;
    /// Returns the next tasks, oldest first; none at the end.
    async fn next_tasks(&mut self) -> Result<Vec<TaskArchive>>;
    /// Lists the agents by name.
    async fn agents(&mut self) -> Result<Vec<Agent>>;
}
