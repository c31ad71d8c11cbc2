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

/// What the dispatcher does now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchOverview {
    /// Whether approved requests are started.
    pub enabled: bool,
    /// How many agents work at the same time at most.
    pub max_runs: u32,
    /// How many seconds it waits after the last approval.
    pub debounce_seconds: f64,
    /// What is worked on, oldest first.
    pub running: Vec<DispatchedRequest>,
    /// What is approved and waits, in the order in which it will be started; at most 100.
    pub waiting: Vec<WaitingRequest>,
    /// Kinds of which requests wait that nobody will start, and why.
    pub held: Vec<HeldKind>,
    /// Requests that have failed as often as they may, oldest first; at most 100.
    pub stuck: Vec<WaitingRequest>,
}

/// A kind of which requests wait that nobody will start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldKind {
    /// The kind.
    pub kind: Kind,
    /// How many wait.
    pub count: u64,
    /// Why, and what to do.
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

/// Shows what the dispatcher does: what is worked on, what waits and in which order, and what nobody will start.
#[utoipa::path(
    get, path = "/api/dispatch", operation_id = "get_dispatch", tag = "requests",
    responses((status = 200, description = "What the dispatcher does", body = Answer<DispatchOverview>))
)]
pub(super) async fn get_dispatch(State(app): State<App>) -> Result<Response, Error> {
    let status = app.engine.dispatch_overview().await?;
    Ok(app.ok(DispatchOverview::from(status)))
}

/// Lists who gets requests of which kind: first those that are dispatched first.
#[utoipa::path(
    get, path = "/api/dispatch/routes", operation_id = "list_routes", tag = "requests",
    responses((status = 200, description = "The routes", body = Answer<Vec<KindRule>>))
)]
pub(super) async fn list_routes(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.read(kind_rules::list).await?))
}

/// Routes, as a list or as an object with a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutesInput {
    /// The routes.
    pub routes: Vec<KindRule>,
}

/// Reads routes. What `GET` answered as `data` can be sent back as it is.
pub(super) struct RoutesBody(Body<RoutesInput>);

impl FromRequest<App> for RoutesBody {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(request, "body", app.engine.limits().body).await?;
        let value = if bytes.trim_ascii_start().starts_with(b"[") {
            parse(&[b"{\"routes\":", &*bytes, b"}"].concat())?
        } else {
            parse(&bytes)?
        };
        Ok(Self(Body { value, once }))
    }
}

/// Sets who gets requests of which kind: these routes are all that there are. Only the operator's token does.
#[utoipa::path(
    put, path = "/api/dispatch/routes", operation_id = "set_routes", tag = "requests",
    request_body(content = RoutesInput, description = "The routes; also as a list without the object around it"),
    responses(
        (status = 200, description = "The routes", body = Answer<Vec<KindRule>>),
        (status = 400, description = "The body is wrong; `details.problems` names every field, an unknown agent too", body = ErrorAnswer),
        (status = 401, description = "The operator's token is needed", body = ErrorAnswer),
        (status = 403, description = "A run cannot set routes", body = ErrorAnswer),
    )
)]
pub(super) async fn set_routes(
    State(app): State<App>,
    _: MayDecide,
    RoutesBody(body): RoutesBody,
) -> Result<Response, Error> {
    let rules = app.engine.set_kind_rules(body.value.routes, body.once);
    Ok(app.ok(rules.await?))
}
