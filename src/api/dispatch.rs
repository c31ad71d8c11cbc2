//! `/api/dispatch`

use axum::extract::{FromRequest, Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, MayDecide, RawBody, parse};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{self, DispatchedRequest, Kind, KindRule, WaitingRequest};
use crate::engine::DispatcherStatus;
use crate::ledger::request::kind_rules;
use crate::words;

/// The state of the dispatcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchOverview {
    /// Whether the dispatcher starts approved requests.
    pub enabled: bool,
    /// Maximum number of agents that work at the same time.
    pub max_runs: u32,
    /// Seconds that the dispatcher waits after the last approval.
    pub debounce_seconds: f64,
    /// Requests in progress, oldest first.
    pub running: Vec<DispatchedRequest>,
    /// Approved requests that wait, in the order in which they will be started; at most 100.
    pub waiting: Vec<WaitingRequest>,
    /// Kinds with waiting requests that will not be started, and the reason.
    pub held: Vec<HeldKind>,
    /// Requests that have used up their attempts, oldest first; at most 100.
    pub stuck: Vec<WaitingRequest>,
    /// Other requests that wait for the operator's decision, oldest first; at most 100.
    #[serde(default)]
    pub undecided: Vec<WaitingRequest>,
    /// Requests in state `next`, which wait for a claim, oldest first; at most 100.
    #[serde(default)]
    pub next: Vec<WaitingRequest>,
}

/// A kind with waiting requests that will not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldKind {
    pub kind: Kind,
    /// Number of waiting requests.
    pub count: u64,
    /// The reason, and what to do about it.
    pub reason: String,
}

impl From<DispatcherStatus> for DispatchOverview {
    fn from(status: DispatcherStatus) -> Self {
        let requests = status.requests;
        Self {
            enabled: status.enabled,
            max_runs: status.max_runs,
            debounce_seconds: status.debounce.as_secs_f64(),
            running: requests.running,
            waiting: requests.waiting,
            held: requests.held.into_iter().map(HeldKind::from).collect(),
            stuck: requests.stuck,
            undecided: requests.undecided,
            next: requests.next,
        }
    }
}

impl From<domain::HeldKind> for HeldKind {
    fn from(held: domain::HeldKind) -> Self {
        let domain::HeldKind {
            kind,
            count,
            reason,
        } = held;
        Self {
            reason: words::held_reason(&kind, &reason),
            kind,
            count,
        }
    }
}

/// Get the state of the dispatcher
///
/// Shows all requests that are not done by the step that they wait for, and the kinds that will not be started.
#[utoipa::path(
    get, path = "/api/dispatch", operation_id = "get_dispatch", tag = "dispatch",
    responses((status = 200, description = "The state of the dispatcher", body = Answer<DispatchOverview>))
)]
pub(super) async fn get_dispatch(State(app): State<App>) -> Result<Response, Error> {
    let status = app.engine.dispatch_overview().await?;
    Ok(app.ok(DispatchOverview::from(status)))
}

/// List the agent for each kind of request, in dispatch order
#[utoipa::path(
    get, path = "/api/dispatch/routes", operation_id = "list_dispatch_routes", tag = "dispatch",
    responses((status = 200, description = "The routes", body = Answer<Vec<KindRule>>))
)]
pub(super) async fn list_dispatch_routes(State(app): State<App>) -> Result<Response, Error> {
    app.read(kind_rules::list).await
}

/// All kind rules.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutesInput {
    #[schema(max_items = 1000)]
    pub routes: Vec<KindRule>,
}

/// Accepts the object, and also the bare list that `GET` answers as `data`.
pub(super) struct RoutesBody(Body<RoutesInput>);

impl FromRequest<App> for RoutesBody {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(app, request, "body", app.engine.limits().body).await?;
        let value = if bytes.trim_ascii_start().starts_with(b"[") {
            parse(&[b"{\"routes\":", &*bytes, b"}"].concat())?
        } else {
            parse(&bytes)?
        };
        Ok(Self(Body { value, once }))
    }
}

/// Replace all kind rules: the agent for each kind of request
///
/// Needs the operator's token.
#[utoipa::path(
    put, path = "/api/dispatch/routes", operation_id = "put_dispatch_routes", tag = "dispatch",
    security(("token" = [])),
    request_body(content = RoutesInput, description = "All routes, as an object or as a bare list"),
    responses(
        (status = 200, description = "The routes", body = Answer<Vec<KindRule>>),
        (status = 400, description = "The body is not valid; `details.problems` lists every fault, including unknown agents", body = ErrorAnswer),
        (status = 401, description = "The operator's token is required", body = ErrorAnswer),
        (status = 403, description = "A run may not set routes", body = ErrorAnswer),
    )
)]
pub(super) async fn put_dispatch_routes(
    State(app): State<App>,
    _: MayDecide,
    RoutesBody(body): RoutesBody,
) -> Result<Response, Error> {
    let rules = app.engine.set_kind_rules(body.value.routes, body.once);
    Ok(app.ok(rules.await?))
}
