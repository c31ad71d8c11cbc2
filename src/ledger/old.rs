//! The operations that are still called one by one.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    agent, alerts, analytics, dispatch_overview, dispatches, file_alerts, idempotency, mail,
    request_moves, request_tags, requests, routes, runs, sessions, task_lists, tool, trees, usage,
};
use crate::domain::{
    Actor, AgentName, Alert, AlertId, HandoffAnalytics, HandoffId, Idempotency, Mode, NewMessage,
    NewRequest, Outcome, Request, RequestId, RequestState, Route, RunId, RunIdentity, Session,
    SessionHandoff, SessionId, Task, TaskId, TaskSummary, TaskTree, Text, Timestamp, UsageSum,
};
use crate::store::tables::messages;
use crate::store::tables::tasks::{self};
use crate::store::{
    AlertQuery, Briefing, ClaimRequest, ClaimedRun, Database, Dispatch, DispatchLists, Due,
    EndClaim, EndedClaim, Feed, FilesReport, FinishRun, Heartbeat, Job, Page, RaiseAlert,
    ReadyQuery, Reconciled, RequestQuery, Result, Slots, TaskQuery, TokenHolder, Tx,
};

/// How many messages of earlier tasks an agent is told at most.
const TOLD_MESSAGES: u32 = 200;

/// How many mails an agent is told at most.
const TOLD_MAIL: u32 = 40;

/// The ledger.
#[derive(Debug, Clone)]
pub struct Store(Database);

impl Store {
    /// Puts the ledger on a database.
    pub const fn new(db: Database) -> Self {
        Self(db)
    }

    /// Returns the database.
    pub const fn db(&self) -> &Database {
        &self.0
    }

    /// Runs a writing operation, unless its key has been answered.
    pub async fn write<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        once: Option<Idempotency>,
        mut run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0
            .write(move |tx| idempotency::once(tx, once.as_ref(), &mut run))
            .await
    }

    /// Returns where committed events are published.
    pub fn feed(&self) -> &Feed {
        self.0.feed()
    }

    /// Finishes what was asked and closes the database.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

impl Store {
    /// See the function that it calls.
    pub async fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>> {
        let query = query.clone();
        self.0
            .read(move |view| task_lists::list(view, &query))
            .await
    }

    /// See the function that it calls.
    pub async fn task_summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>> {
        let query = query.clone();
        self.0
            .read(move |view| task_lists::list_summaries(view, &query))
            .await
    }

    /// See the function that it calls.
    pub async fn ready_tasks(&self, query: &ReadyQuery) -> Result<Page<Task>> {
        let query = query.clone();
        self.0
            .read(move |view| task_lists::ready(view, &query))
            .await
    }

    /// See the function that it calls.
    pub async fn held_tasks(
        &self,
        after: Option<&TaskId>,
        limit: u32,
    ) -> Result<Page<TaskSummary>> {
        let after = after.cloned();
        self.0
            .read(move |view| task_lists::held(view, after.as_ref(), limit))
            .await
    }

    /// See the function that it calls.
    pub async fn claim_run(
        &self,
        max_runs: u32,
        data_dir: String,
        live: Vec<RunId>,
        token_hash: [u8; 32],
    ) -> Result<Option<ClaimedRun>> {
        self.0
            .write(move |tx| runs::claim(tx, max_runs, &data_dir, &live, &token_hash))
            .await
    }

    /// See the function that it calls.
    pub async fn return_run(&self, run_id: RunId) -> Result<()> {
        self.0.write(move |tx| runs::put_back(tx, &run_id)).await
    }

    /// See the function that it calls.
    pub async fn running(&self) -> Result<Vec<ClaimedRun>> {
        self.0.write(|tx| runs::running(tx)).await
    }

    /// See the function that it calls.
    pub async fn run(&self, run_id: RunId) -> Result<Option<ClaimedRun>> {
        self.0.write(move |tx| runs::find(tx, &run_id)).await
    }

    /// See the function that it calls.
    pub async fn record_messages(
        &self,
        run_id: RunId,
        messages: Vec<NewMessage>,
        followed_bytes: u64,
    ) -> Result<()> {
        self.0
            .write(move |tx| runs::record_messages(tx, &run_id, &messages, followed_bytes))
            .await
    }

    /// See the function that it calls.
    pub async fn finish_run(&self, finish: FinishRun) -> Result<bool> {
        self.0.write(move |tx| runs::finish(tx, &finish)).await
    }

    /// See the function that it calls.
    pub async fn token_holder(&self, token_hash: [u8; 32]) -> Result<Option<TokenHolder>> {
        self.0
            .read(move |view| runs::token_holder(view, token_hash))
            .await
    }

    /// See the function that it calls.
    pub async fn run_of_handoff(&self, id: &HandoffId) -> Result<Option<RunId>> {
        let id = id.clone();
        self.0.read(move |view| runs::of_handoff(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn task_usage(&self, id: &TaskId) -> Result<Option<UsageSum>> {
        let id = id.clone();
        self.0
            .read(move |view| match tasks::find_number(view, &id)? {
                None => Ok(None),
                Some(number) => usage::of_task(view, number).map(Some),
            })
            .await
    }

    /// See the function that it calls.
    pub async fn agent_usage(&self, name: &AgentName) -> Result<UsageSum> {
        let name = name.clone();
        self.0.read(move |view| usage::of_agent(view, &name)).await
    }

    /// See the function that it calls.
    pub async fn analytics(
        &self,
        since: Option<Timestamp>,
        agent: Option<&AgentName>,
    ) -> Result<HandoffAnalytics> {
        let agent = agent.cloned();
        self.0
            .read(move |view| analytics::handoffs(view, since, agent.as_ref()))
            .await
    }

    /// See the function that it calls.
    pub async fn briefing(&self, run: &RunIdentity) -> Result<Briefing> {
        let run = run.clone();
        self.0
            .read(move |view| {
                let number = tasks::find_number(view, &run.task_id)?;
                let mut conversation =
                    messages::of_ancestors(view, number.unwrap_or_default(), TOLD_MESSAGES + 1)?;
                let has_more_conversation = conversation.len() > TOLD_MESSAGES as usize;
                conversation.truncate(TOLD_MESSAGES as usize);
                conversation.reverse();
                let (mail, older_mail) = mail::list_pending(view, &run.agent_name, TOLD_MAIL)?;
                Ok(Briefing {
                    agents: agent::list(view)?,
                    kinds: routes::kinds(view)?,
                    tools: tool::list_usable_by(view, &run.agent_name)?,
                    history: sessions::history(view, &run.handoff_id)?,
                    conversation,
                    has_more_conversation,
                    mail,
                    older_mail,
                })
            })
            .await
    }

    /// See the function that it calls.
    pub async fn task_tree(&self, id: &TaskId) -> Result<Option<TaskTree>> {
        let id = id.clone();
        self.0.read(move |view| trees::find(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn is_settled(&self, id: &TaskId) -> Result<bool> {
        let id = id.clone();
        self.0.read(move |view| trees::is_settled(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn sessions(&self, after: Option<&SessionId>, limit: u32) -> Result<Page<Session>> {
        let after = after.cloned();
        self.0
            .read(move |view| sessions::list(view, after.as_ref(), limit))
            .await
    }

    /// See the function that it calls.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        let id = id.clone();
        self.0.read(move |view| sessions::find_one(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn session_handoffs(
        &self,
        id: &SessionId,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<SessionHandoff>> {
        let id = id.clone();
        let after = after.cloned();
        self.0
            .read(move |view| sessions::moves(view, &id, after.as_ref(), limit))
            .await
    }

    /// See the function that it calls.
    pub async fn last_session_handoff(&self, id: &SessionId) -> Result<Option<SessionHandoff>> {
        let id = id.clone();
        self.0
            .read(move |view| sessions::last_move(view, &id))
            .await
    }

    /// See the function that it calls.
    pub async fn count_session_handoffs(
        &self,
        id: &SessionId,
        from: Option<&AgentName>,
        to: Option<&AgentName>,
    ) -> Result<u64> {
        let id = id.clone();
        let from = from.cloned();
        let to = to.cloned();
        self.0
            .read(move |view| sessions::count(view, &id, from.as_ref(), to.as_ref()))
            .await
    }

    /// See the function that it calls.
    pub async fn create_request(
        &self,
        new: NewRequest,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.write(once, move |tx| Ok(requests::create(tx, &new, &by)?.request))
            .await
    }

    /// See the function that it calls.
    pub async fn request(&self, id: &RequestId) -> Result<Option<Request>> {
        let id = id.clone();
        self.0.read(move |view| requests::find(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn requests(&self, query: &RequestQuery) -> Result<Page<Request>> {
        let query = query.clone();
        self.0.read(move |view| requests::list(view, &query)).await
    }

    /// See the function that it calls.
    pub async fn approve_requests(
        &self,
        ids: Vec<RequestId>,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Vec<Request>> {
        self.write(once, move |tx| request_moves::approve(tx, &ids, &by))
            .await
    }

    /// See the function that it calls.
    pub async fn leave_to_next(
        &self,
        id: RequestId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.write(once, move |tx| request_moves::leave_to_next(tx, &id, &by))
            .await
    }

    /// See the function that it calls.
    pub async fn claim_request(
        &self,
        claim: ClaimRequest,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.write(once, move |tx| request_moves::claim(tx, &claim))
            .await
    }

    /// See the function that it calls.
    pub async fn heartbeat(&self, beat: Heartbeat, once: Option<Idempotency>) -> Result<Request> {
        self.write(once, move |tx| request_moves::heartbeat(tx, &beat))
            .await
    }

    /// See the function that it calls.
    pub async fn finish_request(
        &self,
        end: EndClaim,
        once: Option<Idempotency>,
    ) -> Result<EndedClaim> {
        self.write(once, move |tx| request_moves::finish(tx, &end))
            .await
    }

    /// See the function that it calls.
    pub async fn requeue_request(
        &self,
        end: EndClaim,
        once: Option<Idempotency>,
    ) -> Result<EndedClaim> {
        self.write(once, move |tx| request_moves::requeue(tx, &end))
            .await
    }

    /// See the function that it calls.
    pub async fn next_requests(&self, limit: u32) -> Result<Vec<Request>> {
        self.0
            .read(move |view| dispatches::choose(view, limit))
            .await
    }

    /// See the function that it calls.
    pub async fn dispatch(&self, dispatch: Dispatch) -> Result<Option<Task>> {
        self.0
            .write(move |tx| dispatches::dispatch(tx, &dispatch))
            .await
    }

    /// See the function that it calls.
    pub async fn slots(&self, max_runs: u32, mode: Mode) -> Result<Slots> {
        self.0
            .read(move |view| dispatches::slots(view, max_runs, mode))
            .await
    }

    /// See the function that it calls.
    pub async fn due(&self) -> Result<Due> {
        self.0.read(move |view| dispatches::due(view)).await
    }

    /// See the function that it calls.
    pub async fn expire_leases(&self) -> Result<u32> {
        self.0.write(request_moves::expire).await
    }

    /// See the function that it calls.
    pub async fn renew_leases(&self, lease_millis: i64) -> Result<usize> {
        self.0
            .write(move |tx| request_moves::renew(tx, lease_millis))
            .await
    }

    /// See the function that it calls.
    pub async fn jobs(&self) -> Result<Vec<Job>> {
        self.0.read(move |view| dispatches::jobs(view)).await
    }

    /// See the function that it calls.
    pub async fn job(&self, id: &RequestId) -> Result<Option<Job>> {
        let id = id.clone();
        self.0.read(move |view| dispatches::job(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn end_job(&self, job: Job, outcome: Outcome, output: Text) -> Result<bool> {
        self.0
            .write(move |tx| dispatches::end_job(tx, &job, outcome, &output))
            .await
    }

    /// See the function that it calls.
    pub async fn dispatch_overview(&self) -> Result<DispatchLists> {
        self.0.read(move |view| dispatch_overview::show(view)).await
    }

    /// See the function that it calls.
    pub async fn routes(&self) -> Result<Vec<Route>> {
        self.0.read(move |view| routes::list(view)).await
    }

    /// See the function that it calls.
    pub async fn set_routes(
        &self,
        routes: Vec<Route>,
        once: Option<Idempotency>,
    ) -> Result<Vec<Route>> {
        self.write(once, move |tx| routes::replace(tx, &routes))
            .await
    }

    /// See the function that it calls.
    pub async fn routes_are_chosen(&self) -> Result<bool> {
        self.0.read(move |view| routes::are_chosen(view)).await
    }

    /// See the function that it calls.
    pub async fn seed_routes(&self, routes: Vec<Route>) -> Result<()> {
        self.0.write(move |tx| routes::seed(tx, &routes)).await
    }

    /// See the function that it calls.
    pub async fn reconcile_files(&self, report: FilesReport) -> Result<Reconciled> {
        self.0
            .write(move |tx| request_tags::reconcile(tx, &report))
            .await
    }

    /// See the function that it calls.
    pub async fn tag_written(
        &self,
        id: RequestId,
        state: RequestState,
        recoveries: u32,
    ) -> Result<()> {
        self.0
            .write(move |tx| request_tags::written(tx, &id, state, recoveries))
            .await
    }

    /// See the function that it calls.
    pub async fn alert_tag_written(&self, id: AlertId) -> Result<()> {
        self.0.write(move |tx| file_alerts::written(tx, &id)).await
    }

    /// See the function that it calls.
    pub async fn tagged_files(&self, only_stale: bool) -> Result<Vec<Text>> {
        self.0
            .read(move |view| request_tags::files(view, only_stale))
            .await
    }

    /// See the function that it calls.
    pub async fn raise_alert(&self, raise: RaiseAlert, once: Option<Idempotency>) -> Result<Alert> {
        self.write(once, move |tx| alerts::raise(tx, &raise)).await
    }

    /// See the function that it calls.
    pub async fn resolve_alert(
        &self,
        id: AlertId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Alert> {
        self.write(once, move |tx| alerts::resolve(tx, &id, &by))
            .await
    }

    /// See the function that it calls.
    pub async fn alert(&self, id: &AlertId) -> Result<Option<Alert>> {
        let id = id.clone();
        self.0.read(move |view| alerts::find(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn alerts(&self, query: &AlertQuery) -> Result<Page<Alert>> {
        let query = query.clone();
        self.0.read(move |view| alerts::list(view, &query)).await
    }
}
