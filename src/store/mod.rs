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
mod mail;
mod requests;
mod routing;
mod sqlite;

use std::path::Path;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use error::{OpenError, StoreError};
pub use feed::{Feed, Published, Watch};
pub use mail::{DeliverMail, MailMark, MailQuery, MarkMail, SearchWords, SendMail, Sender};
pub use requests::{
    AlertQuery, AlertTagChange, ClaimRequest, Dispatch, DispatchLists, Due, EndClaim, EndedClaim,
    FileReport, FilesReport, Heartbeat, Job, RaiseAlert, Reconciled, RequestQuery, Slots,
    TagChange,
};
pub use routing::{
    ChangeNeeds, Circumstances, GiveReport, NewIncrement, ReadyQuery, Routed, Rules,
};
pub use sqlite::{
    MigrationState, MigrationStatus, SqliteOptions, SqliteStore, migrate, migration_status,
};

use crate::domain::{
    Actor, Agent, AgentChange, AgentName, Alert, AlertId, Attachment, AttachmentId, ChainLimits,
    ConversationHistory, Event, Filename, Handoff, HandoffAnalytics, HandoffId, History,
    Idempotency, Increment, IncrementId, IncrementState, IncrementTasks, Kind, Mail, MailId,
    Message, MessageType, Mode, NewMessage, NewRequest, NewTask, Outcome, PlanningChange, Problems,
    Provider, Queue, QueueMessage, Request, RequestId, RequestState, Role, Route, RouteChoice,
    RunId, RunIdentity, Session, SessionHandoff, SessionId, SessionMove, Skill, Status, StatusName,
    Task, TaskArchive, TaskId, TaskSummary, TaskTree, Text, Timestamp, Tool, ToolName, TraceId,
    TraceParent, UsageSum,
};

/// A result of the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Which tasks a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only those with this status.
    pub status: Option<StatusName>,
    /// Only those for this role.
    pub agent_role: Option<Role>,
    /// Only those with at least one of these tags.
    pub tags: Vec<Skill>,
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
    /// What names the last item of this page, if there are more behind it.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Cuts off the one item more that was asked for to see whether there is more.
    fn cut(mut items: Vec<T>, limit: u32, name: fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(name);
        Self { items, next }
    }
}

/// Which messages a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageQuery {
    /// Only those behind this number.
    pub after: i64,
    /// At most so many.
    pub limit: u32,
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
    /// The trace in which it is asked, if the caller said so.
    pub trace: Option<TraceParent>,
    /// How far agents may hand on.
    pub limits: ChainLimits,
}

/// A call of a hand-off tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// The task whose control is to move.
    pub task_id: TaskId,
    /// The tool, as the caller wrote it.
    pub tool: String,
    /// What is passed on.
    pub arguments: Map<String, Value>,
    /// The run in whose name it is asked, if an agent asks.
    pub caller: Option<RunIdentity>,
    /// The trace in which it is asked, if the caller said so.
    pub trace: Option<TraceParent>,
    /// How far agents may hand on.
    pub limits: ChainLimits,
    /// How many bytes the context may have.
    pub largest_context: usize,
}

/// What became of control that moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The task on which it goes on; its last hand-off is the new one.
    pub task: Task,
    /// The run that had control, and is no longer needed.
    pub left: Option<LeftRun>,
}

/// A run that lost control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRun {
    /// Which.
    pub run_id: RunId,
    /// Whether it passed control itself, and so may finish what it says.
    pub by_itself: bool,
}

/// A move of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveSession {
    /// What was asked.
    pub asked: SessionMove,
    /// The task to make if the session is new, and its working directory.
    pub new_task: (TaskId, Text),
    /// The run in whose name it is asked, if an agent asks.
    pub caller: Option<RunIdentity>,
    /// The trace in which it is asked, if the caller said so.
    pub trace: Option<TraceParent>,
    /// How far agents may hand on.
    pub limits: ChainLimits,
}

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
    pub routes: Option<Vec<Route>>,
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

    /// Sets what a task needs.
    async fn change_needs(&self, change: ChangeNeeds, once: Option<Idempotency>) -> Result<Task>;
    /// Lists the tasks that are ready, the most urgent first, then the oldest.
    async fn ready_tasks(&self, query: &ReadyQuery) -> Result<Page<Task>>;
    /// Lists the tasks that the router does not go on with: nobody suits, or a person must look. Oldest first.
    async fn held_tasks(&self, after: Option<&TaskId>, limit: u32) -> Result<Page<TaskSummary>>;
    /// Finds the tasks that are to be given to agents next, at most so many.
    async fn next_to_route(&self, limit: u32) -> Result<Vec<TaskId>>;
    /// Lists the programs that agents name, and the providers of those that name none.
    async fn agent_programs(&self) -> Result<Vec<(Option<String>, Provider)>>;
    /// Lets it be asked again who suits the tasks for which there was nobody.
    async fn ask_again_who_suits(&self) -> Result<()>;
    /// Says whom a task would be given to, and why.
    async fn explain_route(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
    ) -> Result<RouteChoice>;
    /// Gives a task to the agent that suits best, in one transaction.
    async fn route_task(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
        once: Option<Idempotency>,
    ) -> Result<Routed>;
    /// Takes the report of a run.
    async fn give_report(&self, give: GiveReport, once: Option<Idempotency>) -> Result<Task>;
    /// Makes an increment and its first tasks.
    async fn create_increment(
        &self,
        new: NewIncrement,
        once: Option<Idempotency>,
    ) -> Result<IncrementTasks>;
    /// Lets a blocked increment go on.
    async fn retry_increment(&self, id: IncrementId, once: Option<Idempotency>) -> Result<()>;
    /// Finds an increment.
    async fn increment(&self, id: &IncrementId) -> Result<Option<IncrementTasks>>;
    /// Lists increments, oldest first.
    async fn increments(
        &self,
        state: Option<IncrementState>,
        after: Option<&IncrementId>,
        limit: u32,
    ) -> Result<Page<Increment>>;

    /// Hands a task to an agent: the hand-off is open and its run is queued.
    async fn start_handoff(&self, start: StartHandoff, once: Option<Idempotency>) -> Result<Task>;
    /// Ends the open hand-off of a task, and the run that has not ended.
    async fn end_handoff(&self, end: EndHandoff, once: Option<Idempotency>) -> Result<Task>;
    /// Passes control by a tool: the task completes, and a child task goes on.
    async fn transfer(&self, transfer: Transfer, once: Option<Idempotency>) -> Result<Moved>;
    /// Moves a conversation to another agent; its task is made if the session is new.
    async fn move_session(&self, to: MoveSession, once: Option<Idempotency>) -> Result<Moved>;
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
    /// Finds who has a token. That of a run that has ended is nobody's, unless the run passed control on.
    async fn token_holder(&self, token_hash: [u8; 32]) -> Result<Option<TokenHolder>>;
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
    /// Lists the hand-offs of a trace, W3C's or a harness's, oldest first.
    async fn handoffs_of_trace(
        &self,
        trace: &str,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<Handoff>>;
    /// Adds up how hand-offs went, since a time and with an agent.
    async fn analytics(
        &self,
        since: Option<Timestamp>,
        agent: Option<&AgentName>,
    ) -> Result<HandoffAnalytics>;
    /// Finds what an agent is told beside its task and its prompt.
    async fn briefing(&self, run: &RunIdentity) -> Result<Briefing>;

    /// Lists the hand-off tools by name.
    async fn tools(&self) -> Result<Vec<Tool>>;
    /// Lists the hand-off tools whose targets are available, by name.
    async fn usable_tools(&self) -> Result<Vec<Tool>>;
    /// Finds a tool.
    async fn tool(&self, name: &ToolName) -> Result<Option<Tool>>;
    /// Makes a tool.
    async fn create_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool>;
    /// Changes a tool.
    async fn change_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool>;
    /// Deletes a tool. What it did stays.
    async fn delete_tool(&self, name: ToolName, once: Option<Idempotency>) -> Result<Tool>;

    /// Adds a line to a conversation.
    async fn add_message(&self, add: AddMessage, once: Option<Idempotency>) -> Result<Message>;
    /// Lists what was said on one task.
    async fn messages(&self, id: &TaskId, query: MessageQuery) -> Result<Option<Page<Message>>>;
    /// Lists what was said on all tasks of a task's chain, in one order.
    async fn conversation(&self, id: &TaskId, query: MessageQuery)
    -> Result<Option<Page<Message>>>;
    /// Finds the tree of the chain that a task belongs to.
    async fn task_tree(&self, id: &TaskId) -> Result<Option<TaskTree>>;
    /// Tells whether no agent works on a task or on any below it.
    async fn is_settled(&self, id: &TaskId) -> Result<bool>;

    /// Lists sessions, oldest first.
    async fn sessions(&self, after: Option<&SessionId>, limit: u32) -> Result<Page<Session>>;
    /// Finds a session.
    async fn session(&self, id: &SessionId) -> Result<Option<Session>>;
    /// Lists the moves of a session, oldest first.
    async fn session_handoffs(
        &self,
        id: &SessionId,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<SessionHandoff>>;
    /// Finds the last move of a session.
    async fn last_session_handoff(&self, id: &SessionId) -> Result<Option<SessionHandoff>>;
    /// Counts the moves of a session, from an agent and to one.
    async fn count_session_handoffs(
        &self,
        id: &SessionId,
        from: Option<&AgentName>,
        to: Option<&AgentName>,
    ) -> Result<u64>;

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

    /// Makes a request.
    async fn create_request(
        &self,
        new: NewRequest,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request>;
    /// Finds a request.
    async fn request(&self, id: &RequestId) -> Result<Option<Request>>;
    /// Lists requests.
    async fn requests(&self, query: &RequestQuery) -> Result<Page<Request>>;
    /// Approves requests for the dispatcher: all of them or none.
    async fn approve_requests(
        &self,
        ids: Vec<RequestId>,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Vec<Request>>;
    /// Leaves a request to whoever starts next on it.
    async fn leave_to_next(
        &self,
        id: RequestId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request>;
    /// Claims a request: of any number at once, one wins.
    async fn claim_request(
        &self,
        claim: ClaimRequest,
        once: Option<Idempotency>,
    ) -> Result<Request>;
    /// Extends a claim.
    async fn heartbeat(&self, beat: Heartbeat, once: Option<Idempotency>) -> Result<Request>;
    /// Answers a request. The hand-off that worked on it, if any, ends too, unless its own agent answered.
    async fn finish_request(&self, end: EndClaim, once: Option<Idempotency>) -> Result<EndedClaim>;
    /// Gives a request up; a person looks again. The hand-off that worked on it ends too.
    async fn requeue_request(&self, end: EndClaim, once: Option<Idempotency>)
    -> Result<EndedClaim>;

    /// Finds the requests that are to be started next, in order, at most so many.
    async fn next_requests(&self, limit: u32) -> Result<Vec<Request>>;
    /// Claims requests and hands them to the agent of their route, in one transaction. Nothing if one of them is not there any more.
    async fn dispatch(&self, dispatch: Dispatch) -> Result<Option<Task>>;
    /// Counts how much can be started, and how much of what came through a door stands in line.
    async fn slots(&self, max_runs: u32, mode: Mode) -> Result<Slots>;
    /// Finds when the dispatcher has something to do.
    async fn due(&self) -> Result<Due>;
    /// Takes requests back from those whose lease ran out. Returns how many.
    async fn expire_leases(&self) -> Result<u32>;
    /// Extends the leases of agents that the server itself runs.
    async fn renew_leases(&self, lease_millis: i64) -> Result<usize>;
    /// Lists the jobs elsewhere that have not ended.
    async fn jobs(&self) -> Result<Vec<Job>>;
    /// Finds the job of a request, if it has not ended.
    async fn job(&self, id: &RequestId) -> Result<Option<Job>>;
    /// Ends the hand-off of a job, unless it has ended. Returns whether it had not.
    async fn end_job(&self, job: Job, outcome: Outcome, output: Text) -> Result<bool>;
    /// Shows what is worked on, what waits, and what will not be started.
    async fn dispatch_overview(&self) -> Result<DispatchLists>;
    /// Lists the routes: first those that are dispatched first.
    async fn routes(&self) -> Result<Vec<Route>>;
    /// Replaces all routes.
    async fn set_routes(&self, routes: Vec<Route>, once: Option<Idempotency>)
    -> Result<Vec<Route>>;
    /// Tells whether somebody has set the routes since the default ones were planted.
    async fn routes_are_chosen(&self) -> Result<bool>;
    /// Plants the default routes, if that has never been done and there are none.
    async fn seed_routes(&self, routes: Vec<Route>) -> Result<()>;

    /// Brings requests and alerts into agreement with what files say now.
    async fn reconcile_files(&self, report: FilesReport) -> Result<Reconciled>;
    /// Records that the tag of a request says where it stands, and tells of so many recoveries.
    async fn tag_written(&self, id: RequestId, state: RequestState, recoveries: u32) -> Result<()>;
    /// Records that the tag of an alert says that it is done.
    async fn alert_tag_written(&self, id: AlertId) -> Result<()>;
    /// Lists the files with tags, or only those that do not say yet what became of their requests and alerts.
    async fn tagged_files(&self, only_stale: bool) -> Result<Vec<Text>>;

    /// Raises an alert.
    async fn raise_alert(&self, raise: RaiseAlert, once: Option<Idempotency>) -> Result<Alert>;
    /// Resolves an alert.
    async fn resolve_alert(
        &self,
        id: AlertId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Alert>;
    /// Finds an alert.
    async fn alert(&self, id: &AlertId) -> Result<Option<Alert>>;
    /// Lists alerts, oldest first.
    async fn alerts(&self, query: &AlertQuery) -> Result<Page<Alert>>;

    /// Sends a mail. A role in its addresses stands for those who have it now.
    async fn send_mail(&self, send: SendMail, once: Option<Idempotency>) -> Result<Mail>;
    /// Marks a mail as read or acknowledged for one who gets it. What was said before stays.
    async fn mark_mail(&self, mark: MarkMail, once: Option<Idempotency>) -> Result<Mail>;
    /// Records that mail was put into the prompt of a hand-off. It is read when that is completed.
    async fn deliver_mail(&self, delivery: DeliverMail) -> Result<()>;
    /// Finds a mail.
    async fn find_mail(&self, id: &MailId) -> Result<Option<Mail>>;
    /// Lists mail, oldest first.
    async fn list_mail(&self, query: &MailQuery) -> Result<Page<Mail>>;

    /// Lists the agents by name.
    async fn agents(&self) -> Result<Vec<Agent>>;
    /// Finds an agent.
    async fn agent(&self, name: &AgentName) -> Result<Option<Agent>>;
    /// Plants the default agents, if that has never been done and there are none. Returns how many.
    async fn seed_agents(&self, agents: Vec<Agent>) -> Result<usize>;
    /// Plants the specialists beside the agents that are there, if that has never been done. Returns how many.
    async fn seed_specialists(&self, agents: Vec<Agent>) -> Result<usize>;
    /// Makes an agent, or puts it in the place of the one that has its name.
    async fn put_agent(&self, put: PutAgent, once: Option<Idempotency>) -> Result<AgentPut>;
    /// Changes an agent.
    async fn change_agent(&self, change: ChangeAgent, once: Option<Idempotency>) -> Result<Agent>;
    /// Deletes an agent that nothing needs. What it did stays.
    async fn delete_agent(&self, name: AgentName, once: Option<Idempotency>) -> Result<Agent>;

    /// Opens a view of the whole ledger at one moment.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>>;
    /// Takes in what was exported, all of it or nothing. What refers to something that is not there refers to nothing.
    async fn import(&self, import: Import) -> Result<Imported>;
    /// Writes a consistent copy of the database to a file that does not exist yet.
    async fn backup(&self, to: &Path) -> Result<()>;

    /// Writes, and so shows that writing works.
    async fn check_ready(&self) -> Result<()>;
    /// Lists what breaks the database's own rules; empty if all is well.
    async fn problems(&self) -> Result<Vec<String>>;
    /// Finds what was answered to a request that moved a conversation, if it was carried out before.
    async fn earlier_move(&self, once: &Idempotency) -> Result<Option<Moved>>;
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Lists the hand-off tools by name.
    async fn tools(&mut self) -> Result<Vec<Tool>>;
    /// Lists the routes: first those that are dispatched first.
    async fn routes(&mut self) -> Result<Vec<Route>>;
    /// Returns the next requests, oldest first; none at the end.
    async fn next_requests(&mut self) -> Result<Vec<Request>>;
    /// Returns the next alerts, oldest first; none at the end.
    async fn next_alerts(&mut self) -> Result<Vec<Alert>>;
    /// Returns the next increments, oldest first; none at the end.
    async fn next_increments(&mut self) -> Result<Vec<Increment>>;
    /// Returns the next mail, oldest first; none at the end.
    async fn next_mail(&mut self) -> Result<Vec<Mail>>;
}
