//! The operations that are still called one by one.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    alerts, dispatch_overview, dispatches, file_alerts, idempotency, request_moves, request_tags,
    requests, routes,
};
use crate::domain::{
    Actor, Alert, AlertId, Idempotency, Mode, NewRequest, Outcome, Request, RequestId,
    RequestState, Route, Task, Text,
};
use crate::store::{
    AlertQuery, ClaimRequest, Database, Dispatch, DispatchLists, Due, EndClaim, EndedClaim, Feed,
    FilesReport, Heartbeat, Job, Page, RaiseAlert, Reconciled, RequestQuery, Result, Slots, Tx,
};

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
