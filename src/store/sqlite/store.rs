//! The store itself: opening, closing, and the operations that every store offers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqliteConnection};

use super::row::Columns;
use super::snapshot::SqliteSnapshot;
use super::sql::{query, sql};
use super::writer::{Tx, Writer};
use super::{
    agent_changes, agents, alerts, analytics, attachments, backup, delegations, dispatch_overview,
    dispatches, events, file_alerts, handoffs, idempotency_keys, import, increment_stages,
    increments, mail, messages, migrations, moves, needs, queue_messages, reports, request_moves,
    request_tags, requests, route_choice, routes, routing, runs, sessions, task_lists, tasks,
    tools, transfers, trees, usage,
};
use crate::clock::Clock;
use crate::domain::{
    Actor, Agent, AgentName, Alert, AlertId, Attachment, AttachmentId, Event, Handoff,
    HandoffAnalytics, HandoffId, History, Idempotency, Increment, IncrementId, IncrementState,
    IncrementTasks, Mail, MailId, Message, Mode, NewMessage, NewRequest, NewTask, Outcome,
    PlanningChange, Provider, Queue, QueueMessage, Request, RequestId, RequestState, Route,
    RouteChoice, RunId, RunIdentity, Session, SessionHandoff, SessionId, Status, Task, TaskId,
    TaskSummary, TaskTree, Text, Timestamp, Tool, ToolName, UsageSum,
};
use crate::store::{
    AddMessage, AgentPut, AlertQuery, Attach, Attached, Briefing, ChangeAgent, ChangeNeeds,
    Circumstances, ClaimRequest, ClaimedRun, DeliverMail, Dispatch, DispatchLists, Due, EndClaim,
    EndHandoff, EndedClaim, Feed, FilesReport, FinishRun, GiveReport, Heartbeat, Import, Imported,
    Job, MailQuery, MarkMail, MessageQuery, MoveSession, Moved, NewIncrement, OpenError, Page,
    PutAgent, RaiseAlert, ReadyQuery, Reconciled, RequestQuery, Result, Routed, Rules, SendMail,
    Slots, Snapshot, StartHandoff, Store, StoreError, TaskQuery, TokenHolder, Transfer,
};

/// How long a connection waits for another one's lock.
const BUSY: Duration = Duration::from_secs(30);

/// How long a read may stand in line.
const LINE_FOR_READERS: Duration = Duration::from_mins(5);

/// How many connections read at the same time.
const READERS: u32 = 4;

/// How many bytes of the file readers map into memory: as many as SQLite can.
const MAPPED: &str = "2147418112";

/// How many messages of earlier tasks an agent is told at most.
const TOLD_MESSAGES: u32 = 200;

/// How many mails an agent is told at most.
const TOLD_MAIL: u32 = 40;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file.
    pub path: PathBuf,
    /// What tells the time.
    pub clock: Clock,
    /// How many writes are committed together at most.
    pub max_batch: usize,
    /// The rules of the house.
    pub rules: Rules,
}

/// The ledger in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    readers: SqlitePool,
    writer: Writer,
    feed: Arc<Feed>,
}

/// Says how every connection is opened: what is committed is on disk, and foreign keys hold.
pub(super) fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY)
}

fn reader_options(path: &Path) -> SqliteConnectOptions {
    connect_options(path)
        .pragma("query_only", "on")
        // The hand-offs of a session lie on as many pages, between those of others. A call to the kernel for each of
        // them took half of the time to read a session.
        .pragma("mmap_size", MAPPED)
}

impl SqliteStore {
    /// Opens the database, after bringing it up to date.
    pub async fn open(options: SqliteOptions) -> std::result::Result<Self, OpenError> {
        migrations::migrate(&options.path).await?;
        let path = options.path.clone();
        Self::connect(options)
            .await
            .map_err(|cause| OpenError::Failed { path, cause })
    }

    async fn connect(
        options: SqliteOptions,
    ) -> std::result::Result<Self, Box<dyn std::error::Error + Send + Sync + 'static>> {
        let SqliteOptions {
            path,
            clock,
            max_batch,
            rules,
        } = options;
        let feed = Arc::new(Feed::default());
        let writer = Writer::start(
            writing_connection(&path)?,
            clock,
            feed.clone(),
            max_batch,
            rules,
        )?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .test_before_acquire(false)
            // Ten thousand who wake at once stand in line for the readers.
            .acquire_timeout(LINE_FOR_READERS)
            .connect_with(reader_options(&path))
            .await?;
        Ok(Self {
            path,
            readers,
            writer,
            feed,
        })
    }

    /// Opens a connection of its own for a long read.
    async fn long_reader(&self) -> Result<SqliteConnection> {
        Ok(reader_options(&self.path).connect().await?)
    }

    /// Runs a writing operation, unless its key has been answered.
    async fn write<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        once: Option<Idempotency>,
        mut run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer
            .write(move |tx| idempotency_keys::once(tx, once.as_ref(), &mut run))
            .await
    }
}

/// Opens the connection of the writer. The pragmas are those of [`connect_options`].
fn writing_connection(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", "on")?;
    // A checkpoint stands in the way of the next commit; fewer and larger ones cost less.
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    Ok(connection)
}

#[async_trait]
impl Store for SqliteStore {
    async fn create_task(&self, new: NewTask, once: Option<Idempotency>) -> Result<Task> {
        self.write(once, move |tx| Ok(tasks::create(tx, &new)?.task))
            .await
    }

    async fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        tasks::find(&self.readers, id).await
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>> {
        task_lists::list(&self.readers, query).await
    }

    async fn task_summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>> {
        task_lists::list_summaries(&self.readers, query).await
    }

    async fn set_status(
        &self,
        id: TaskId,
        status: Status,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.write(once, move |tx| tasks::set_status(tx, &id, &status))
            .await
    }

    async fn plan_task(
        &self,
        id: TaskId,
        change: PlanningChange,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.write(once, move |tx| tasks::plan(tx, &id, &change))
            .await
    }

    async fn change_needs(&self, change: ChangeNeeds, once: Option<Idempotency>) -> Result<Task> {
        self.write(once, move |tx| needs::change(tx, &change)).await
    }

    async fn ready_tasks(&self, query: &ReadyQuery) -> Result<Page<Task>> {
        task_lists::ready(&self.readers, query).await
    }

    async fn held_tasks(&self, after: Option<&TaskId>, limit: u32) -> Result<Page<TaskSummary>> {
        task_lists::held(&self.readers, after, limit).await
    }

    async fn next_to_route(&self, limit: u32) -> Result<Vec<TaskId>> {
        routing::next(&self.readers, limit).await
    }

    async fn agent_programs(&self) -> Result<Vec<(Option<String>, Provider)>> {
        agents::programs(&self.readers).await
    }

    async fn ask_again_who_suits(&self) -> Result<()> {
        self.writer.write(|tx| agents::ask_again(tx)).await
    }

    async fn explain_route(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
    ) -> Result<RouteChoice> {
        self.writer
            .write(move |tx| route_choice::explain(tx, &task_id, &circumstances))
            .await
    }

    async fn route_task(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
        once: Option<Idempotency>,
    ) -> Result<Routed> {
        self.write(once, move |tx| routing::route(tx, &task_id, &circumstances))
            .await
    }

    async fn give_report(&self, give: GiveReport, once: Option<Idempotency>) -> Result<Task> {
        self.write(once, move |tx| reports::give(tx, &give)).await
    }

    async fn create_increment(
        &self,
        new: NewIncrement,
        once: Option<Idempotency>,
    ) -> Result<IncrementTasks> {
        self.write(once, move |tx| increments::create(tx, &new))
            .await
    }

    async fn retry_increment(&self, id: IncrementId, once: Option<Idempotency>) -> Result<()> {
        self.write(once, move |tx| increment_stages::retry(tx, &id))
            .await
    }

    async fn increment(&self, id: &IncrementId) -> Result<Option<IncrementTasks>> {
        increments::find(&self.readers, id).await
    }

    async fn increments(
        &self,
        state: Option<IncrementState>,
        after: Option<&IncrementId>,
        limit: u32,
    ) -> Result<Page<Increment>> {
        increments::list(&self.readers, state, after, limit).await
    }

    async fn start_handoff(&self, start: StartHandoff, once: Option<Idempotency>) -> Result<Task> {
        self.write(once, move |tx| delegations::start(tx, &start))
            .await
    }

    async fn end_handoff(&self, end: EndHandoff, once: Option<Idempotency>) -> Result<Task> {
        self.write(once, move |tx| handoffs::end(tx, &end)).await
    }

    async fn transfer(&self, transfer: Transfer, once: Option<Idempotency>) -> Result<Moved> {
        self.write(once, move |tx| transfers::transfer(tx, &transfer))
            .await
    }

    async fn move_session(&self, to: MoveSession, once: Option<Idempotency>) -> Result<Moved> {
        self.write(once, move |tx| moves::move_to(tx, &to)).await
    }

    async fn claim_run(
        &self,
        max_runs: u32,
        data_dir: String,
        live: Vec<RunId>,
        token_hash: [u8; 32],
    ) -> Result<Option<ClaimedRun>> {
        self.writer
            .write(move |tx| runs::claim(tx, max_runs, &data_dir, &live, &token_hash))
            .await
    }

    async fn return_run(&self, run_id: RunId) -> Result<()> {
        self.writer
            .write(move |tx| runs::put_back(tx, &run_id))
            .await
    }

    async fn running(&self) -> Result<Vec<ClaimedRun>> {
        self.writer.write(|tx| runs::running(tx)).await
    }

    async fn run(&self, run_id: RunId) -> Result<Option<ClaimedRun>> {
        self.writer.write(move |tx| runs::find(tx, &run_id)).await
    }

    async fn record_messages(
        &self,
        run_id: RunId,
        messages: Vec<NewMessage>,
        followed_bytes: u64,
    ) -> Result<()> {
        self.writer
            .write(move |tx| runs::record_messages(tx, &run_id, &messages, followed_bytes))
            .await
    }

    async fn finish_run(&self, finish: FinishRun) -> Result<bool> {
        self.writer.write(move |tx| runs::finish(tx, &finish)).await
    }

    async fn token_holder(&self, token_hash: [u8; 32]) -> Result<Option<TokenHolder>> {
        runs::token_holder(&self.readers, token_hash).await
    }

    async fn is_below(&self, task_id: &TaskId, above: &TaskId) -> Result<bool> {
        tasks::is_below(&self.readers, task_id, above).await
    }

    async fn run_of_handoff(&self, id: &HandoffId) -> Result<Option<RunId>> {
        runs::of_handoff(&self.readers, id).await
    }

    async fn task_usage(&self, id: &TaskId) -> Result<Option<UsageSum>> {
        match tasks::find_number(&self.readers, id).await? {
            None => Ok(None),
            Some(number) => usage::of_task(&self.readers, number).await.map(Some),
        }
    }

    async fn agent_usage(&self, name: &AgentName) -> Result<UsageSum> {
        usage::of_agent(&self.readers, name).await
    }

    async fn handoff(&self, id: &HandoffId) -> Result<Option<Handoff>> {
        handoffs::find(&self.readers, id).await
    }

    async fn handoffs(&self, task_id: &TaskId) -> Result<Option<Vec<Handoff>>> {
        handoffs::list(&self.readers, task_id).await
    }

    async fn handoffs_of_trace(
        &self,
        trace: &str,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<Handoff>> {
        handoffs::of_trace(&self.readers, trace, after, limit).await
    }

    async fn analytics(
        &self,
        since: Option<Timestamp>,
        agent: Option<&AgentName>,
    ) -> Result<HandoffAnalytics> {
        analytics::handoffs(&self.readers, since, agent).await
    }

    async fn briefing(&self, run: &RunIdentity) -> Result<Briefing> {
        let number = tasks::find_number(&self.readers, &run.task_id).await?;
        let mut conversation =
            messages::before(&self.readers, number.unwrap_or_default(), TOLD_MESSAGES + 1).await?;
        let has_more_conversation = conversation.len() > TOLD_MESSAGES as usize;
        conversation.truncate(TOLD_MESSAGES as usize);
        conversation.reverse();
        let mut tools = tools::list_usable(&self.readers).await?;
        tools.retain(|tool| tool.may_be_used_by(&run.agent_name));
        let (mail, older_mail) = mail::pending(&self.readers, &run.agent_name, TOLD_MAIL).await?;
        Ok(Briefing {
            agents: agents::list(&self.readers).await?,
            kinds: routes::kinds(&self.readers).await?,
            tools,
            history: sessions::history(&self.readers, &run.handoff_id).await?,
            conversation,
            has_more_conversation,
            mail,
            older_mail,
        })
    }

    async fn tools(&self) -> Result<Vec<Tool>> {
        tools::list(&self.readers).await
    }

    async fn usable_tools(&self) -> Result<Vec<Tool>> {
        tools::list_usable(&self.readers).await
    }

    async fn tool(&self, name: &ToolName) -> Result<Option<Tool>> {
        tools::find(&self.readers, name).await
    }

    async fn create_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        self.write(once, move |tx| tools::create(tx, &tool)).await
    }

    async fn change_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        self.write(once, move |tx| tools::change(tx, &tool)).await
    }

    async fn delete_tool(&self, name: ToolName, once: Option<Idempotency>) -> Result<Tool> {
        self.write(once, move |tx| tools::delete(tx, &name)).await
    }

    async fn add_message(&self, add: AddMessage, once: Option<Idempotency>) -> Result<Message> {
        self.write(once, move |tx| messages::add(tx, &add)).await
    }

    async fn messages(&self, id: &TaskId, query: MessageQuery) -> Result<Option<Page<Message>>> {
        messages::of_task(&self.readers, id, query).await
    }

    async fn conversation(
        &self,
        id: &TaskId,
        query: MessageQuery,
    ) -> Result<Option<Page<Message>>> {
        messages::of_chain(&self.readers, id, query).await
    }

    async fn task_tree(&self, id: &TaskId) -> Result<Option<TaskTree>> {
        trees::find(&self.readers, id).await
    }

    async fn is_settled(&self, id: &TaskId) -> Result<bool> {
        trees::is_settled(&self.readers, id).await
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: u32) -> Result<Page<Session>> {
        sessions::list(&self.readers, after, limit).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        sessions::find_one(&self.readers, id).await
    }

    async fn session_handoffs(
        &self,
        id: &SessionId,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<SessionHandoff>> {
        sessions::moves(&self.readers, id, after, limit).await
    }

    async fn last_session_handoff(&self, id: &SessionId) -> Result<Option<SessionHandoff>> {
        sessions::last_move(&self.readers, id).await
    }

    async fn count_session_handoffs(
        &self,
        id: &SessionId,
        from: Option<&AgentName>,
        to: Option<&AgentName>,
    ) -> Result<u64> {
        sessions::count(&self.readers, id, from, to).await
    }

    async fn history(&self, task_id: &TaskId) -> Result<Option<History>> {
        match tasks::find_number(&self.readers, task_id).await? {
            None => Ok(None),
            Some(number) => events::of_task(&self.readers, number).await.map(Some),
        }
    }

    async fn events_after(&self, number: i64, limit: u32) -> Result<Vec<Event>> {
        events::after(&self.readers, number, limit).await
    }

    async fn last_event_number(&self) -> Result<i64> {
        events::last_number(&self.readers).await
    }

    async fn queue(&self, task_id: &TaskId) -> Result<Option<Queue>> {
        match tasks::find_number(&self.readers, task_id).await? {
            None => Ok(None),
            Some(number) => queue_messages::list(&self.readers, number).await.map(Some),
        }
    }

    async fn queue_message(
        &self,
        task_id: TaskId,
        content: Text,
        once: Option<Idempotency>,
    ) -> Result<QueueMessage> {
        self.write(once, move |tx| queue_messages::add(tx, &task_id, &content))
            .await
    }

    async fn add_attachment(&self, attach: Attach, once: Option<Idempotency>) -> Result<Attached> {
        self.write(once, move |tx| attachments::add(tx, &attach))
            .await
    }

    async fn attachment(
        &self,
        task_id: &TaskId,
        filename: &str,
    ) -> Result<Option<(AttachmentId, Attachment)>> {
        attachments::find(&self.readers, task_id, filename).await
    }

    async fn remove_attachment(
        &self,
        task_id: TaskId,
        filename: String,
        once: Option<Idempotency>,
    ) -> Result<(Task, AttachmentId)> {
        self.write(once, move |tx| attachments::remove(tx, &task_id, &filename))
            .await
    }

    async fn create_request(
        &self,
        new: NewRequest,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.write(once, move |tx| Ok(requests::create(tx, &new, &by)?.request))
            .await
    }

    async fn request(&self, id: &RequestId) -> Result<Option<Request>> {
        requests::find(&self.readers, id).await
    }

    async fn requests(&self, query: &RequestQuery) -> Result<Page<Request>> {
        requests::list(&self.readers, query).await
    }

    async fn approve_requests(
        &self,
        ids: Vec<RequestId>,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Vec<Request>> {
        self.write(once, move |tx| request_moves::approve(tx, &ids, &by))
            .await
    }

    async fn leave_to_next(
        &self,
        id: RequestId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.write(once, move |tx| request_moves::leave_to_next(tx, &id, &by))
            .await
    }

    async fn claim_request(
        &self,
        claim: ClaimRequest,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.write(once, move |tx| request_moves::claim(tx, &claim))
            .await
    }

    async fn heartbeat(&self, beat: Heartbeat, once: Option<Idempotency>) -> Result<Request> {
        self.write(once, move |tx| request_moves::heartbeat(tx, &beat))
            .await
    }

    async fn finish_request(&self, end: EndClaim, once: Option<Idempotency>) -> Result<EndedClaim> {
        self.write(once, move |tx| request_moves::finish(tx, &end))
            .await
    }

    async fn requeue_request(
        &self,
        end: EndClaim,
        once: Option<Idempotency>,
    ) -> Result<EndedClaim> {
        self.write(once, move |tx| request_moves::requeue(tx, &end))
            .await
    }

    async fn next_requests(&self, limit: u32) -> Result<Vec<Request>> {
        dispatches::choose(&self.readers, limit).await
    }

    async fn dispatch(&self, dispatch: Dispatch) -> Result<Option<Task>> {
        self.writer
            .write(move |tx| dispatches::dispatch(tx, &dispatch))
            .await
    }

    async fn slots(&self, max_runs: u32, mode: Mode) -> Result<Slots> {
        dispatches::slots(&self.readers, max_runs, mode).await
    }

    async fn due(&self) -> Result<Due> {
        dispatches::due(&self.readers).await
    }

    async fn expire_leases(&self) -> Result<u32> {
        self.writer.write(request_moves::expire).await
    }

    async fn renew_leases(&self, lease_millis: i64) -> Result<usize> {
        self.writer
            .write(move |tx| request_moves::renew(tx, lease_millis))
            .await
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        dispatches::jobs(&self.readers).await
    }

    async fn job(&self, id: &RequestId) -> Result<Option<Job>> {
        dispatches::job(&self.readers, id).await
    }

    async fn end_job(&self, job: Job, outcome: Outcome, output: Text) -> Result<bool> {
        self.writer
            .write(move |tx| dispatches::end_job(tx, &job, outcome, &output))
            .await
    }

    async fn dispatch_overview(&self) -> Result<DispatchLists> {
        dispatch_overview::show(&self.readers).await
    }

    async fn routes(&self) -> Result<Vec<Route>> {
        routes::list(&self.readers).await
    }

    async fn set_routes(
        &self,
        routes: Vec<Route>,
        once: Option<Idempotency>,
    ) -> Result<Vec<Route>> {
        self.write(once, move |tx| routes::replace(tx, &routes))
            .await
    }

    async fn routes_are_chosen(&self) -> Result<bool> {
        routes::are_chosen(&self.readers).await
    }

    async fn seed_routes(&self, routes: Vec<Route>) -> Result<()> {
        self.writer.write(move |tx| routes::seed(tx, &routes)).await
    }

    async fn reconcile_files(&self, report: FilesReport) -> Result<Reconciled> {
        self.writer
            .write(move |tx| request_tags::reconcile(tx, &report))
            .await
    }

    async fn tag_written(&self, id: RequestId, state: RequestState, recoveries: u32) -> Result<()> {
        self.writer
            .write(move |tx| request_tags::written(tx, &id, state, recoveries))
            .await
    }

    async fn alert_tag_written(&self, id: AlertId) -> Result<()> {
        self.writer
            .write(move |tx| file_alerts::written(tx, &id))
            .await
    }

    async fn tagged_files(&self, only_stale: bool) -> Result<Vec<Text>> {
        request_tags::files(&self.readers, only_stale).await
    }

    async fn raise_alert(&self, raise: RaiseAlert, once: Option<Idempotency>) -> Result<Alert> {
        self.write(once, move |tx| alerts::raise(tx, &raise)).await
    }

    async fn resolve_alert(
        &self,
        id: AlertId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Alert> {
        self.write(once, move |tx| alerts::resolve(tx, &id, &by))
            .await
    }

    async fn alert(&self, id: &AlertId) -> Result<Option<Alert>> {
        alerts::find(&self.readers, id).await
    }

    async fn alerts(&self, query: &AlertQuery) -> Result<Page<Alert>> {
        alerts::list(&self.readers, query).await
    }

    async fn send_mail(&self, send: SendMail, once: Option<Idempotency>) -> Result<Mail> {
        self.write(once, move |tx| mail::send_asked(tx, &send))
            .await
    }

    async fn mark_mail(&self, mark: MarkMail, once: Option<Idempotency>) -> Result<Mail> {
        self.write(once, move |tx| mail::mark(tx, &mark)).await
    }

    async fn deliver_mail(&self, delivery: DeliverMail) -> Result<()> {
        self.writer
            .write(move |tx| mail::deliver(tx, &delivery))
            .await
    }

    async fn find_mail(&self, id: &MailId) -> Result<Option<Mail>> {
        mail::find(&self.readers, id).await
    }

    async fn list_mail(&self, query: &MailQuery) -> Result<Page<Mail>> {
        mail::list(&self.readers, query).await
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        agents::list(&self.readers).await
    }

    async fn agent(&self, name: &AgentName) -> Result<Option<Agent>> {
        agents::find(&self.readers, name).await
    }

    async fn seed_agents(&self, agents: Vec<Agent>) -> Result<usize> {
        self.writer.write(move |tx| agents::seed(tx, &agents)).await
    }

    async fn seed_specialists(&self, agents: Vec<Agent>) -> Result<usize> {
        self.writer
            .write(move |tx| agents::seed_specialists(tx, &agents))
            .await
    }

    async fn put_agent(&self, put: PutAgent, once: Option<Idempotency>) -> Result<AgentPut> {
        self.write(once, move |tx| agent_changes::put(tx, &put))
            .await
    }

    async fn change_agent(&self, change: ChangeAgent, once: Option<Idempotency>) -> Result<Agent> {
        self.write(once, move |tx| agent_changes::change(tx, &change))
            .await
    }

    async fn delete_agent(&self, name: AgentName, once: Option<Idempotency>) -> Result<Agent> {
        self.write(once, move |tx| agent_changes::delete(tx, &name))
            .await
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(
            SqliteSnapshot::begin(self.long_reader().await?).await?,
        ))
    }

    async fn import(&self, import: Import) -> Result<Imported> {
        self.writer
            .write_alone(move |tx| import::import(tx, import))
            .await
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        // Not a reader: one that may only query may not copy either.
        backup::backup(connect_options(&self.path).connect().await?, to).await
    }

    async fn check_ready(&self) -> Result<()> {
        let write = |tx: &mut Tx<'_>| {
            tx.execute(
                sql!("UPDATE installation SET ready_at = $1"),
                params![tx.now.as_millis()],
            )
        };
        match self.writer.write(write).await? {
            1 => Ok(()),
            rows => Err(StoreError::inconsistent(format!(
                "{rows} rows in the table installation"
            ))),
        }
    }

    async fn problems(&self) -> Result<Vec<String>> {
        let mut reader = self.long_reader().await?;
        let mut problems = Vec::new();
        for row in query!(sql!("PRAGMA integrity_check"))
            .fetch_all(&mut reader)
            .await?
        {
            problems.push(row.string(0)?);
        }
        problems.retain(|problem| problem != "ok");
        for row in query!(sql!("PRAGMA foreign_key_check"))
            .fetch_all(&mut reader)
            .await?
        {
            problems.push(format!(
                "a row of {} refers to a missing row of {}",
                row.string(0)?,
                row.string(2)?
            ));
        }
        Ok(problems)
    }

    async fn earlier_move(&self, once: &Idempotency) -> Result<Option<Moved>> {
        idempotency_keys::find(&self.readers, once).await
    }

    async fn forget_keys_older_than(&self, millis: i64) -> Result<usize> {
        self.writer
            .write(move |tx| idempotency_keys::forget_older_than(tx, millis))
            .await
    }

    fn feed(&self) -> &Feed {
        &self.feed
    }

    async fn close(&self) {
        self.writer.close().await;
        self.feed.close();
        self.readers.close().await;
    }
}
