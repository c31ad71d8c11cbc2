//! `/api/requests`

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, Id, MayDecide, Once, OptionalBody, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    Actor, AgentName, Caller, Kind, Priority, Request, RequestId, RequestQuery, RequestState, Text,
};
use crate::engine::RequestInput;
use crate::ledger::request;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParameters {
    /// Only requests of this kind.
    kind: Option<Kind>,
    /// Only requests in this state.
    #[param(inline)]
    state: Option<RequestState>,
    /// Only requests of this priority.
    #[param(inline)]
    priority: Option<Priority>,
    /// Only withdrawn requests, which are left out by default.
    #[serde(default)]
    withdrawn: bool,
    /// Newest first.
    #[serde(default)]
    newest: bool,
    /// Maximum number of requests in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<RequestId>,
}

/// List requests, oldest first unless `newest` is true
#[utoipa::path(
    get, path = "/api/requests", operation_id = "list_requests", tag = "requests", params(ListParameters),
    responses(
        (status = 200, description = "The requests; `meta.next` is present if there are more", body = Answer<Vec<Request>>),
        (status = 404, description = "The request in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_requests(
    State(app): State<App>,
    Query(parameters): Query<ListParameters>,
) -> Result<Response, Error> {
    let query = RequestQuery {
        kind: parameters.kind,
        state: parameters.state,
        priority: parameters.priority,
        withdrawn: parameters.withdrawn,
        newest: parameters.newest,
        after: parameters.after,
        limit: app.page_size(parameters.limit)?,
    };
    app.read_page(move |view| request::list(view, &query)).await
}

/// Create a request for the operator to decide on
#[utoipa::path(
    post, path = "/api/requests", operation_id = "create_request", tag = "requests", request_body = RequestInput,
    responses(
        (status = 201, description = "The new request, in state `needs`", body = Answer<Request>),
        (status = 403, description = "A run names a task that is neither its own nor below it", body = ErrorAnswer),
        (status = 404, description = "The task in `source` was not found", body = ErrorAnswer),
        (status = 413, description = "The body is too large", body = ErrorAnswer),
    )
)]
pub(super) async fn create_request(
    State(app): State<App>,
    caller: Caller,
    body: Body<RequestInput>,
) -> Result<Response, Error> {
    Ok(app.created(
        app.engine
            .create_request(body.value, &caller, body.once)
            .await?,
    ))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitParameters {
    /// Maximum number of seconds to wait until the request reaches `state`.
    #[param(minimum = 0, maximum = 600)]
    wait: Option<u64>,
    /// The state to wait for; `done` by default. Waiting also ends when the request has passed that state, is withdrawn, or is stuck.
    #[param(inline)]
    state: Option<RequestState>,
}

/// Get a request, or wait until it reaches a state
#[utoipa::path(
    get, path = "/api/requests/{id}", operation_id = "get_request", tag = "requests",
    params(("id" = String, Path, description = "The request"), WaitParameters),
    responses(
        (status = 200, description = "The request", body = Answer<Request>),
        (status = 404, description = "Request not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_request(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    Query(parameters): Query<WaitParameters>,
) -> Result<Response, Error> {
    let request = match (parameters.wait, parameters.state) {
        (None, None) => {
            return app.read(move |view| request::get(view, &id)).await;
        }
        (None, Some(_)) => {
            return Err(Error::InvalidQuery(
                "query: state: needs wait, the number of seconds to wait".to_owned(),
            ));
        }
        (Some(seconds), state) => {
            let timeout = app.wait_time("wait", Some(seconds))?;
            let state = state.unwrap_or(RequestState::Done);
            app.engine.request_when(&id, state, timeout).await?
        }
    };
    Ok(app.ok(request))
}

/// Get the response to a request as Markdown
#[utoipa::path(
    get, path = "/api/requests/{id}/response", operation_id = "get_request_response", tag = "requests",
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The response", body = String, content_type = "text/markdown"),
        (status = 404, description = "Request not found, or it has no response yet", body = ErrorAnswer),
    )
)]
pub(super) async fn get_request_response(
    State(app): State<App>,
    Id(id): Id<RequestId>,
) -> Result<Response, Error> {
    let shown = id.clone();
    let request = app.engine.read(move |view| request::get(view, &shown));
    let request = request.await?;
    let state = request.state.as_str();
    let response = request.response.ok_or_else(|| {
        Error::NotFound(format!("Request {id} has no response yet: it is {state}; wait for it with GET /api/requests/{id}?wait=25"))
    })?;
    let content_type = [(CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((content_type, response.into_string()).into_response())
}

/// Approve a request for the dispatcher
///
/// Needs the operator's token.
#[utoipa::path(
    post, path = "/api/requests/{id}/approve", operation_id = "approve_request", tag = "requests",
    security(("token" = [])),
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request, in state `delegated`", body = Answer<Request>),
        (status = 401, description = "The operator's token is required", body = ErrorAnswer),
        (status = 403, description = "A run may not approve requests", body = ErrorAnswer),
        (status = 404, description = "Request not found", body = ErrorAnswer),
        (status = 409, description = "The request is not in state `needs`; the message names its state", body = ErrorAnswer),
    )
)]
pub(super) async fn approve_request(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    MayDecide(caller): MayDecide,
    Once(once): Once,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.approve_request(id, &caller, once).await?))
}

/// Approve a request for a claim by anyone, not for the dispatcher
///
/// Needs the operator's token.
#[utoipa::path(
    post, path = "/api/requests/{id}/next", operation_id = "mark_request_next", tag = "requests",
    security(("token" = [])),
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request, in state `next`", body = Answer<Request>),
        (status = 401, description = "The operator's token is required", body = ErrorAnswer),
        (status = 403, description = "A run may not approve requests", body = ErrorAnswer),
        (status = 404, description = "Request not found", body = ErrorAnswer),
        (status = 409, description = "The request is not in state `needs`; the message names its state", body = ErrorAnswer),
    )
)]
pub(super) async fn mark_request_next(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    MayDecide(caller): MayDecide,
    Once(once): Once,
) -> Result<Response, Error> {
    let by = Actor::from(&caller);
    let left = app
        .engine
        .write(once, move |tx| request::leave_to_next(tx, &id, &by));
    Ok(app.ok(left.await?))
}

/// Requests to approve together.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveInput {
    /// The ids of 1 to 1000 requests.
    #[schema(min_items = 1, max_items = 1000)]
    pub ids: Vec<RequestId>,
}

/// Approve several requests for the dispatcher: all or none
///
/// Needs the operator's token.
#[utoipa::path(
    post, path = "/api/requests/approve", operation_id = "approve_requests", tag = "requests", request_body = ApproveInput,
    security(("token" = [])),
    responses(
        (status = 200, description = "The requests", body = Answer<Vec<Request>>),
        (status = 401, description = "The operator's token is required", body = ErrorAnswer),
        (status = 403, description = "A run may not approve requests", body = ErrorAnswer),
        (status = 404, description = "The only request in the list was not found", body = ErrorAnswer),
        (status = 409, description = "No request was approved; the message gives the reason for each", body = ErrorAnswer),
    )
)]
pub(super) async fn approve_requests(
    State(app): State<App>,
    MayDecide(caller): MayDecide,
    body: Body<ApproveInput>,
) -> Result<Response, Error> {
    Ok(app.ok(app
        .engine
        .approve_requests(body.value.ids, &caller, body.once)
        .await?))
}

/// A claim to a request.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimInput {
    /// The name of the worker. A run always claims in the name of its own agent.
    pub agent: AgentName,
    /// Length of the lease in seconds, until the next heartbeat is due; 900 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_seconds: Option<u64>,
}

/// Claim a request that is `delegated` or `next`
///
/// Of several callers at the same time, one wins; the others get 409 with the name of the winner.
#[utoipa::path(
    post, path = "/api/requests/{id}/claim", operation_id = "claim_request", tag = "requests", request_body = ClaimInput,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request with its new lease", body = Answer<Request>),
        (status = 404, description = "Request not found", body = ErrorAnswer),
        (status = 409, description = "The request cannot be claimed; the message names its state and its worker", body = ErrorAnswer),
    )
)]
pub(super) async fn claim_request(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    caller: Caller,
    body: Body<ClaimInput>,
) -> Result<Response, Error> {
    let ClaimInput {
        agent,
        lease_seconds,
    } = body.value;
    Ok(app.ok(app
        .engine
        .claim_request(id, agent, lease_seconds, &caller, body.once)
        .await?))
}

/// A lease to renew.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatInput {
    /// The fencing token of the claim; an old token is refused, because the claim was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<u32>,
    /// New length of the lease in seconds from now; 900 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_seconds: Option<u64>,
}

/// Renew the lease of a claimed request
#[utoipa::path(
    post, path = "/api/requests/{id}/heartbeat", operation_id = "renew_request_lease", tag = "requests", request_body = Option<HeartbeatInput>,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request with its new lease", body = Answer<Request>),
        (status = 403, description = "The request is not claimed by this run", body = ErrorAnswer),
        (status = 404, description = "Request not found", body = ErrorAnswer),
        (status = 409, description = "The request is not claimed, or a later claim holds it", body = ErrorAnswer),
    )
)]
pub(super) async fn renew_request_lease(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    caller: Caller,
    body: OptionalBody<HeartbeatInput>,
) -> Result<Response, Error> {
    let HeartbeatInput {
        fencing,
        lease_seconds,
    } = body.value;
    Ok(app.ok(app
        .engine
        .heartbeat(id, fencing, lease_seconds, &caller, body.once)
        .await?))
}

/// The response to a request.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneInput {
    #[schema(value_type = String)]
    pub response: Text,
    /// The fencing token of the claim; an old token is refused, because the claim was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<u32>,
}

/// Finish a claimed request with its response
///
/// The operator may also finish a request in state `needs`. If the dispatcher's agent is still working on it, its hand-off
/// ends with this response and its run is stopped.
#[utoipa::path(
    post, path = "/api/requests/{id}/done", operation_id = "finish_request", tag = "requests", request_body = DoneInput,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request", body = Answer<Request>),
        (status = 401, description = "The request is in state `needs`: the operator's token is required", body = ErrorAnswer),
        (status = 403, description = "The request is not claimed by this run", body = ErrorAnswer),
        (status = 404, description = "Request not found", body = ErrorAnswer),
        (status = 409, description = "The request cannot be finished now, or a later claim holds it; the message names its state", body = ErrorAnswer),
    )
)]
pub(super) async fn finish_request(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    caller: Caller,
    body: Body<DoneInput>,
) -> Result<Response, Error> {
    let DoneInput { response, fencing } = body.value;
    Ok(app.ok(app
        .engine
        .finish_request(id, response, fencing, &caller, body.once)
        .await?))
}

/// The reason to give a request back.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequeueInput {
    /// The reason, shown to the operator.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub reason: Text,
    /// The fencing token of the claim; an old token is refused, because the claim was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<u32>,
}

/// Return a claimed request to the operator
///
/// Ends the hand-off that works on it, and stops its run.
#[utoipa::path(
    post, path = "/api/requests/{id}/requeue", operation_id = "requeue_request", tag = "requests", request_body = RequeueInput,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request, in state `needs`", body = Answer<Request>),
        (status = 403, description = "The request is not claimed by this run", body = ErrorAnswer),
        (status = 404, description = "Request not found", body = ErrorAnswer),
        (status = 409, description = "The request is not claimed, or a later claim holds it; the message names its state", body = ErrorAnswer),
    )
)]
pub(super) async fn requeue_request(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    caller: Caller,
    body: Body<RequeueInput>,
) -> Result<Response, Error> {
    let RequeueInput { reason, fencing } = body.value;
    Ok(app.ok(app
        .engine
        .requeue_request(id, reason, fencing, &caller, body.once)
        .await?))
}
