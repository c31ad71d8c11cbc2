//! A store that counts how often it is read.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use chorus::domain::{
    Actor, Agent, AgentName, Alert, AlertId, Attachment, AttachmentId, Event, Handoff,
    HandoffAnalytics, HandoffId, History, Idempotency, Increment, IncrementId, IncrementState,
    IncrementTasks, Mail, MailId, Message, Mode, NewMessage, NewRequest, NewTask, Outcome,
    PlanningChange, Provider, Queue, QueueMessage, Request, RequestId, RequestState, Route,
    RouteChoice, RunId, RunIdentity, Session, SessionHandoff, SessionId, Status, Task, TaskId,
    TaskSummary, TaskTree, Text, Timestamp, Tool, ToolName, UsageSum,
};
use chorus::store::{
    AddMessage, AgentPut, AlertQuery, Attach, Attached, Briefing, ChangeAgent, ChangeNeeds,
    Circumstances, ClaimRequest, ClaimedRun, DeliverMail, Dispatch, DispatchLists, Due, EndClaim,
    EndHandoff, EndedClaim, Feed, FilesReport, FinishRun, GiveReport, Heartbeat, Import, Imported,
    Job, MailQuery, MarkMail, MessageQuery, MoveSession, Moved, NewIncrement, Page, PutAgent,
    RaiseAlert, ReadyQuery, Reconciled, RequestQuery, Result, Routed, SendMail, Slots, Snapshot,
    SqliteStore, StartHandoff, Store, TaskQuery, TokenHolder, Transfer,
};
use tokio::sync::watch;

/// How often a store was read. A read counts when it has ended.
pub type Reads = Arc<watch::Sender<usize>>;

/// A store that counts how often it is read.
pub struct CountingStore {
    store: SqliteStore,
    reads: Reads,
}

impl CountingStore {
    pub fn new(store: SqliteStore, reads: Reads) -> Self {
        Self { store, reads }
    }

    async fn read<T>(&self, read: impl Future<Output = T>) -> T {
        let result = read.await;
        self.reads.send_modify(|reads| *reads += 1);
        result
    }
}

#[async_trait]
impl Store for CountingStore {
    async fn create_task(&self, new: NewTask, once: Option<Idempotency>) -> Result<Task> {
        self.store.create_task(new, once).await
    }

    async fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.read(self.store.task(id)).await
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>> {
        self.read(self.store.tasks(query)).await
    }

    async fn task_summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>> {
        self.read(self.store.task_summaries(query)).await
    }

    async fn set_status(
        &self,
        id: TaskId,
        status: Status,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.store.set_status(id, status, once).await
    }

    async fn plan_task(
        &self,
        id: TaskId,
        change: PlanningChange,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.store.plan_task(id, change, once).await
    }

    async fn change_needs(&self, change: ChangeNeeds, once: Option<Idempotency>) -> Result<Task> {
        self.store.change_needs(change, once).await
    }

    async fn ready_tasks(&self, query: &ReadyQuery) -> Result<Page<Task>> {
        self.read(self.store.ready_tasks(query)).await
    }

    async fn held_tasks(&self, after: Option<&TaskId>, limit: u32) -> Result<Page<TaskSummary>> {
        self.read(self.store.held_tasks(after, limit)).await
    }

    async fn next_to_route(&self, limit: u32) -> Result<Vec<TaskId>> {
        self.read(self.store.next_to_route(limit)).await
    }

    async fn agent_programs(&self) -> Result<Vec<(Option<String>, Provider)>> {
        self.read(self.store.agent_programs()).await
    }

    async fn ask_again_who_suits(&self) -> Result<()> {
        self.store.ask_again_who_suits().await
    }

    async fn explain_route(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
    ) -> Result<RouteChoice> {
        self.read(self.store.explain_route(task_id, circumstances))
            .await
    }

    async fn route_task(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
        once: Option<Idempotency>,
    ) -> Result<Routed> {
        self.store.route_task(task_id, circumstances, once).await
    }

    async fn give_report(&self, give: GiveReport, once: Option<Idempotency>) -> Result<Task> {
        self.store.give_report(give, once).await
    }

    async fn create_increment(
        &self,
        new: NewIncrement,
        once: Option<Idempotency>,
    ) -> Result<IncrementTasks> {
        self.store.create_increment(new, once).await
    }

    async fn retry_increment(&self, id: IncrementId, once: Option<Idempotency>) -> Result<()> {
        self.store.retry_increment(id, once).await
    }

    async fn increment(&self, id: &IncrementId) -> Result<Option<IncrementTasks>> {
        self.read(self.store.increment(id)).await
    }

    async fn increments(
        &self,
        state: Option<IncrementState>,
        after: Option<&IncrementId>,
        limit: u32,
    ) -> Result<Page<Increment>> {
        self.read(self.store.increments(state, after, limit)).await
    }

    async fn start_handoff(&self, start: StartHandoff, once: Option<Idempotency>) -> Result<Task> {
        self.store.start_handoff(start, once).await
    }

    async fn end_handoff(&self, end: EndHandoff, once: Option<Idempotency>) -> Result<Task> {
        self.store.end_handoff(end, once).await
    }

    async fn claim_run(
        &self,
        max_runs: u32,
        data_dir: String,
        live: Vec<RunId>,
        token_hash: [u8; 32],
    ) -> Result<Option<ClaimedRun>> {
        self.store
            .claim_run(max_runs, data_dir, live, token_hash)
            .await
    }

    async fn return_run(&self, run_id: RunId) -> Result<()> {
        self.store.return_run(run_id).await
    }

    async fn running(&self) -> Result<Vec<ClaimedRun>> {
        self.store.running().await
    }

    async fn run(&self, run_id: RunId) -> Result<Option<ClaimedRun>> {
        self.store.run(run_id).await
    }

    async fn record_messages(
        &self,
        run_id: RunId,
        messages: Vec<NewMessage>,
        followed_bytes: u64,
    ) -> Result<()> {
        self.store
            .record_messages(run_id, messages, followed_bytes)
            .await
    }

    async fn finish_run(&self, finish: FinishRun) -> Result<bool> {
        self.store.finish_run(finish).await
    }

    async fn transfer(&self, transfer: Transfer, once: Option<Idempotency>) -> Result<Moved> {
        self.store.transfer(transfer, once).await
    }

    async fn move_session(&self, to: MoveSession, once: Option<Idempotency>) -> Result<Moved> {
        self.store.move_session(to, once).await
    }

    async fn token_holder(&self, token_hash: [u8; 32]) -> Result<Option<TokenHolder>> {
        self.read(self.store.token_holder(token_hash)).await
    }

    async fn handoffs_of_trace(
        &self,
        trace: &str,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<Handoff>> {
        self.read(self.store.handoffs_of_trace(trace, after, limit))
            .await
    }

    async fn analytics(
        &self,
        since: Option<Timestamp>,
        agent: Option<&AgentName>,
    ) -> Result<HandoffAnalytics> {
        self.read(self.store.analytics(since, agent)).await
    }

    async fn briefing(&self, run: &RunIdentity) -> Result<Briefing> {
        self.read(self.store.briefing(run)).await
    }

    async fn tools(&self) -> Result<Vec<Tool>> {
        self.read(self.store.tools()).await
    }

    async fn usable_tools(&self) -> Result<Vec<Tool>> {
        self.read(self.store.usable_tools()).await
    }

    async fn tool(&self, name: &ToolName) -> Result<Option<Tool>> {
        self.read(self.store.tool(name)).await
    }

    async fn create_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        self.store.create_tool(tool, once).await
    }

    async fn change_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        self.store.change_tool(tool, once).await
    }

    async fn delete_tool(&self, name: ToolName, once: Option<Idempotency>) -> Result<Tool> {
        self.store.delete_tool(name, once).await
    }

    async fn add_message(&self, add: AddMessage, once: Option<Idempotency>) -> Result<Message> {
        self.store.add_message(add, once).await
    }

    async fn messages(&self, id: &TaskId, query: MessageQuery) -> Result<Option<Page<Message>>> {
        self.read(self.store.messages(id, query)).await
    }

    async fn conversation(
        &self,
        id: &TaskId,
        query: MessageQuery,
    ) -> Result<Option<Page<Message>>> {
        self.read(self.store.conversation(id, query)).await
    }

    async fn task_tree(&self, id: &TaskId) -> Result<Option<TaskTree>> {
        self.read(self.store.task_tree(id)).await
    }

    async fn is_settled(&self, id: &TaskId) -> Result<bool> {
        self.read(self.store.is_settled(id)).await
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: u32) -> Result<Page<Session>> {
        self.read(self.store.sessions(after, limit)).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.read(self.store.session(id)).await
    }

    async fn session_handoffs(
        &self,
        id: &SessionId,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<SessionHandoff>> {
        self.read(self.store.session_handoffs(id, after, limit))
            .await
    }

    async fn last_session_handoff(&self, id: &SessionId) -> Result<Option<SessionHandoff>> {
        self.read(self.store.last_session_handoff(id)).await
    }

    async fn count_session_handoffs(
        &self,
        id: &SessionId,
        from: Option<&AgentName>,
        to: Option<&AgentName>,
    ) -> Result<u64> {
        self.read(self.store.count_session_handoffs(id, from, to))
            .await
    }

    async fn is_below(&self, task_id: &TaskId, above: &TaskId) -> Result<bool> {
        self.read(self.store.is_below(task_id, above)).await
    }

    async fn run_of_handoff(&self, id: &HandoffId) -> Result<Option<RunId>> {
        self.read(self.store.run_of_handoff(id)).await
    }

    async fn task_usage(&self, id: &TaskId) -> Result<Option<UsageSum>> {
        self.read(self.store.task_usage(id)).await
    }

    async fn agent_usage(&self, name: &AgentName) -> Result<UsageSum> {
        self.read(self.store.agent_usage(name)).await
    }

    async fn handoff(&self, id: &HandoffId) -> Result<Option<Handoff>> {
        self.read(self.store.handoff(id)).await
    }

    async fn handoffs(&self, task_id: &TaskId) -> Result<Option<Vec<Handoff>>> {
        self.read(self.store.handoffs(task_id)).await
    }

    async fn history(&self, task_id: &TaskId) -> Result<Option<History>> {
        self.read(self.store.history(task_id)).await
    }

    async fn events_after(&self, number: i64, limit: u32) -> Result<Vec<Event>> {
        self.read(self.store.events_after(number, limit)).await
    }

    async fn last_event_number(&self) -> Result<i64> {
        self.read(self.store.last_event_number()).await
    }

    async fn queue(&self, task_id: &TaskId) -> Result<Option<Queue>> {
        self.read(self.store.queue(task_id)).await
    }

    async fn queue_message(
        &self,
        task_id: TaskId,
        content: Text,
        once: Option<Idempotency>,
    ) -> Result<QueueMessage> {
        self.store.queue_message(task_id, content, once).await
    }

    async fn add_attachment(&self, attach: Attach, once: Option<Idempotency>) -> Result<Attached> {
        self.store.add_attachment(attach, once).await
    }

    async fn attachment(
        &self,
        task_id: &TaskId,
        filename: &str,
    ) -> Result<Option<(AttachmentId, Attachment)>> {
        self.read(self.store.attachment(task_id, filename)).await
    }

    async fn remove_attachment(
        &self,
        task_id: TaskId,
        filename: String,
        once: Option<Idempotency>,
    ) -> Result<(Task, AttachmentId)> {
        self.store.remove_attachment(task_id, filename, once).await
    }

    async fn create_request(
        &self,
        new: NewRequest,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.store.create_request(new, by, once).await
    }

    async fn request(&self, id: &RequestId) -> Result<Option<Request>> {
        self.read(self.store.request(id)).await
    }

    async fn requests(&self, query: &RequestQuery) -> Result<Page<Request>> {
        self.read(self.store.requests(query)).await
    }

    async fn approve_requests(
        &self,
        ids: Vec<RequestId>,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Vec<Request>> {
        self.store.approve_requests(ids, by, once).await
    }

    async fn leave_to_next(
        &self,
        id: RequestId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.store.leave_to_next(id, by, once).await
    }

    async fn claim_request(
        &self,
        claim: ClaimRequest,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.store.claim_request(claim, once).await
    }

    async fn heartbeat(&self, beat: Heartbeat, once: Option<Idempotency>) -> Result<Request> {
        self.store.heartbeat(beat, once).await
    }

    async fn finish_request(&self, end: EndClaim, once: Option<Idempotency>) -> Result<EndedClaim> {
        self.store.finish_request(end, once).await
    }

    async fn requeue_request(
        &self,
        end: EndClaim,
        once: Option<Idempotency>,
    ) -> Result<EndedClaim> {
        self.store.requeue_request(end, once).await
    }

    async fn next_requests(&self, limit: u32) -> Result<Vec<Request>> {
        self.read(self.store.next_requests(limit)).await
    }

    async fn dispatch(&self, dispatch: Dispatch) -> Result<Option<Task>> {
        self.store.dispatch(dispatch).await
    }

    async fn slots(&self, max_runs: u32, mode: Mode) -> Result<Slots> {
        self.read(self.store.slots(max_runs, mode)).await
    }

    async fn due(&self) -> Result<Due> {
        self.read(self.store.due()).await
    }

    async fn expire_leases(&self) -> Result<u32> {
        self.store.expire_leases().await
    }

    async fn renew_leases(&self, lease_millis: i64) -> Result<usize> {
        self.store.renew_leases(lease_millis).await
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        self.read(self.store.jobs()).await
    }

    async fn job(&self, id: &RequestId) -> Result<Option<Job>> {
        self.read(self.store.job(id)).await
    }

    async fn end_job(&self, job: Job, outcome: Outcome, output: Text) -> Result<bool> {
        self.store.end_job(job, outcome, output).await
    }

    async fn dispatch_overview(&self) -> Result<DispatchLists> {
        self.read(self.store.dispatch_overview()).await
    }

    async fn routes(&self) -> Result<Vec<Route>> {
        self.read(self.store.routes()).await
    }

    async fn set_routes(
        &self,
        routes: Vec<Route>,
        once: Option<Idempotency>,
    ) -> Result<Vec<Route>> {
        self.store.set_routes(routes, once).await
    }

    async fn routes_are_chosen(&self) -> Result<bool> {
        self.read(self.store.routes_are_chosen()).await
    }

    async fn seed_routes(&self, routes: Vec<Route>) -> Result<()> {
        self.store.seed_routes(routes).await
    }

    async fn reconcile_files(&self, report: FilesReport) -> Result<Reconciled> {
        self.store.reconcile_files(report).await
    }

    async fn tag_written(&self, id: RequestId, state: RequestState, recoveries: u32) -> Result<()> {
        self.store.tag_written(id, state, recoveries).await
    }

    async fn alert_tag_written(&self, id: AlertId) -> Result<()> {
        self.store.alert_tag_written(id).await
    }

    async fn tagged_files(&self, only_stale: bool) -> Result<Vec<Text>> {
        self.read(self.store.tagged_files(only_stale)).await
    }

    async fn raise_alert(&self, raise: RaiseAlert, once: Option<Idempotency>) -> Result<Alert> {
        self.store.raise_alert(raise, once).await
    }

    async fn resolve_alert(
        &self,
        id: AlertId,
        by: Actor,
        once: Option<Idempotency>,
    ) -> Result<Alert> {
        self.store.resolve_alert(id, by, once).await
    }

    async fn alert(&self, id: &AlertId) -> Result<Option<Alert>> {
        self.read(self.store.alert(id)).await
    }

    async fn alerts(&self, query: &AlertQuery) -> Result<Page<Alert>> {
        self.read(self.store.alerts(query)).await
    }

    async fn send_mail(&self, send: SendMail, once: Option<Idempotency>) -> Result<Mail> {
        self.store.send_mail(send, once).await
    }

    async fn mark_mail(&self, mark: MarkMail, once: Option<Idempotency>) -> Result<Mail> {
        self.store.mark_mail(mark, once).await
    }

    async fn deliver_mail(&self, delivery: DeliverMail) -> Result<()> {
        self.store.deliver_mail(delivery).await
    }

    async fn find_mail(&self, id: &MailId) -> Result<Option<Mail>> {
        self.read(self.store.find_mail(id)).await
    }

    async fn list_mail(&self, query: &MailQuery) -> Result<Page<Mail>> {
        self.read(self.store.list_mail(query)).await
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        self.read(self.store.agents()).await
    }

    async fn agent(&self, name: &AgentName) -> Result<Option<Agent>> {
        self.read(self.store.agent(name)).await
    }

    async fn seed_agents(&self, agents: Vec<Agent>) -> Result<usize> {
        self.store.seed_agents(agents).await
    }

    async fn seed_specialists(&self, agents: Vec<Agent>) -> Result<usize> {
        self.store.seed_specialists(agents).await
    }

    async fn put_agent(&self, put: PutAgent, once: Option<Idempotency>) -> Result<AgentPut> {
        self.store.put_agent(put, once).await
    }

    async fn change_agent(&self, change: ChangeAgent, once: Option<Idempotency>) -> Result<Agent> {
        self.store.change_agent(change, once).await
    }

    async fn delete_agent(&self, name: AgentName, once: Option<Idempotency>) -> Result<Agent> {
        self.store.delete_agent(name, once).await
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.read(self.store.snapshot()).await
    }

    async fn import(&self, import: Import) -> Result<Imported> {
        self.store.import(import).await
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        self.store.backup(to).await
    }

    async fn check_ready(&self) -> Result<()> {
        self.store.check_ready().await
    }

    async fn problems(&self) -> Result<Vec<String>> {
        self.read(self.store.problems()).await
    }

    async fn earlier_move(&self, once: &Idempotency) -> Result<Option<Moved>> {
        self.read(self.store.earlier_move(once)).await
    }

    async fn forget_keys_older_than(&self, millis: i64) -> Result<usize> {
        self.store.forget_keys_older_than(millis).await
    }

    fn feed(&self) -> &Feed {
        self.store.feed()
    }

    async fn close(&self) {
        self.store.close().await;
    }
}
