//! `/api/requests`

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, Id, MayDecide, Once, OptionalBody, Query};
use super::tasks::wait_time;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    Actor, AgentName, Caller, Kind, Page, Priority, Request, RequestId, RequestQuery, RequestState,
    Text,
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
    /// Those that were withdrawn, instead of all others.
    #[serde(default)]
    withdrawn: bool,
    /// The newest first, instead of the oldest.
    #[serde(default)]
    newest: bool,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Only requests that follow this one in the list: `meta.next` of the answer before.
    after: Option<RequestId>,
}

/// Lists requests, oldest first unless `newest` is said.
#[utoipa::path(
    get, path = "/api/requests", operation_id = "list_requests", tag = "requests", params(ListParameters),
    responses(
        (status = 200, description = "The requests; `meta.next` is there when there is more", body = Answer<Vec<Request>>),
        (status = 404, description = "The request in `after` is not there", body = ErrorAnswer),
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
    let page = app.engine.read(move |view| request::list(view, &query));
    let Page { items, next } = page.await?;
    Ok(app.page(items, next))
}

/// Leaves work behind. A person decides what becomes of it.
#[utoipa::path(
    post, path = "/api/requests", operation_id = "create_request", tag = "requests", request_body = RequestInput,
    responses(
        (status = 201, description = "The request, which needs a decision", body = Answer<Request>),
        (status = 403, description = "A run names a task that it has nothing to do with", body = ErrorAnswer),
        (status = 404, description = "The task in `source` is not there", body = ErrorAnswer),
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
    /// How many seconds to wait until the request has come to `state`.
    #[param(minimum = 0, maximum = 600)]
    wait: Option<u64>,
    /// What to wait for; `done` if it is not given. It is also over when that state has been passed, or the request was withdrawn or is stuck.
    #[param(inline)]
    state: Option<RequestState>,
}

/// Shows a request, or waits for it.
#[utoipa::path(
    get, path = "/api/requests/{id}", operation_id = "get_request", tag = "requests",
    params(("id" = String, Path, description = "The request"), WaitParameters),
    responses(
        (status = 200, description = "The request", body = Answer<Request>),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
    )
)]
pub(super) async fn get_request(
    State(app): State<App>,
    Id(id): Id<RequestId>,
    Query(parameters): Query<WaitParameters>,
) -> Result<Response, Error> {
    let request = match (parameters.wait, parameters.state) {
        (None, None) => {
            let found = app.engine.read(move |view| request::get(view, &id));
            found.await?
        }
        (None, Some(_)) => {
            return Err(Error::InvalidQuery(
                "query: state: needs `wait`, the seconds to wait for it".to_owned(),
            ));
        }
        (Some(seconds), state) => {
            let timeout = wait_time(&app, "wait", Some(seconds))?;
            let state = state.unwrap_or(RequestState::Done);
            app.engine.request_when(&id, state, timeout).await?
        }
    };
    Ok(app.ok(request))
}

/// Shows the response of a request as it was written.
#[utoipa::path(
    get, path = "/api/requests/{id}/response", operation_id = "get_response", tag = "requests",
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The response", body = String, content_type = "text/markdown"),
        (status = 404, description = "There is no such request, or it has no response yet", body = ErrorAnswer),
    )
)]
pub(super) async fn get_response(
    State(app): State<App>,
    Id(id): Id<RequestId>,
) -> Result<Response, Error> {
    let shown = id.clone();
    let request = app.engine.read(move |view| request::get(view, &shown));
    let request = request.await?;
    let state = request.state.as_str();
    let response = request.response.ok_or_else(|| {
        Error::NotFound(format!("Request {id} has no response yet: it is {state}"))
    })?;
    let content_type = [(CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((content_type, response.into_string()).into_response())
}

/// Approves a request for the dispatcher. Only the operator's token does.
#[utoipa::path(
    post, path = "/api/requests/{id}/approve", operation_id = "approve_request", tag = "requests",
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request, which is delegated", body = Answer<Request>),
        (status = 401, description = "The operator's token is needed", body = ErrorAnswer),
        (status = 403, description = "A run cannot approve", body = ErrorAnswer),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
        (status = 409, description = "It is not in `needs`; the message names the state", body = ErrorAnswer),
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

/// Leaves a request to whoever starts next on it. Only the operator's token does.
#[utoipa::path(
    post, path = "/api/requests/{id}/next", operation_id = "leave_to_next", tag = "requests",
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request, which is next", body = Answer<Request>),
        (status = 401, description = "The operator's token is needed", body = ErrorAnswer),
        (status = 403, description = "A run cannot approve", body = ErrorAnswer),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
        (status = 409, description = "It is not in `needs`; the message names the state", body = ErrorAnswer),
    )
)]
pub(super) async fn leave_to_next(
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

/// Which requests are approved at once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveInput {
    /// The requests, 1 to 1000.
    #[schema(min_items = 1, max_items = 1000)]
    pub ids: Vec<RequestId>,
}

/// Approves many requests for the dispatcher: all of them or none. Only the operator's token does.
#[utoipa::path(
    post, path = "/api/requests/approve", operation_id = "approve_requests", tag = "requests", request_body = ApproveInput,
    responses(
        (status = 200, description = "The requests", body = Answer<Vec<Request>>),
        (status = 401, description = "The operator's token is needed", body = ErrorAnswer),
        (status = 403, description = "A run cannot approve", body = ErrorAnswer),
        (status = 404, description = "The one request is not there", body = ErrorAnswer),
        (status = 409, description = "Nothing was approved; the message says why for each that cannot be", body = ErrorAnswer),
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

/// Who claims a request.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimInput {
    /// The name of whoever works on it. A run claims for itself, whatever it says.
    pub agent: AgentName,
    /// How many seconds the claim lasts without a heartbeat; 900 if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_seconds: Option<u64>,
}

/// Claims a request that is delegated or next. Of any number at once, one wins; the others are told who did.
#[utoipa::path(
    post, path = "/api/requests/{id}/claim", operation_id = "claim_request", tag = "requests", request_body = ClaimInput,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request with its lease", body = Answer<Request>),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
        (status = 409, description = "It cannot be claimed; the message names the state and who has it", body = ErrorAnswer),
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

/// Which claim is to be extended.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatInput {
    /// The number of the claim; whoever shows an old one has lost it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<u32>,
    /// For how many seconds from now; 900 if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_seconds: Option<u64>,
}

/// Extends a claim.
#[utoipa::path(
    post, path = "/api/requests/{id}/heartbeat", operation_id = "heartbeat", tag = "requests", request_body = Option<HeartbeatInput>,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request with its lease", body = Answer<Request>),
        (status = 403, description = "It is not claimed by this run", body = ErrorAnswer),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
        (status = 409, description = "It is not claimed, or by a later claim", body = ErrorAnswer),
    )
)]
pub(super) async fn heartbeat(
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

/// What came of a request.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneInput {
    /// The response.
    #[schema(value_type = String)]
    pub response: Text,
    /// The number of the claim; whoever shows an old one has lost it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<u32>,
}

/// Answers a request that is claimed. The operator may also answer one that needs a decision.
///
/// If the dispatcher's agent works on it and somebody else answers, its hand-off ends with the response, and the agent is stopped.
#[utoipa::path(
    post, path = "/api/requests/{id}/done", operation_id = "finish_request", tag = "requests", request_body = DoneInput,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request", body = Answer<Request>),
        (status = 401, description = "It needs a decision: the operator's token is needed", body = ErrorAnswer),
        (status = 403, description = "It is not claimed by this run", body = ErrorAnswer),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
        (status = 409, description = "It cannot be answered, or the claim is an old one; the message names the state", body = ErrorAnswer),
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

/// Why a request is given up.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequeueInput {
    /// Why.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub reason: Text,
    /// The number of the claim; whoever shows an old one has lost it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<u32>,
}

/// Gives a claimed request up; a person looks again. A hand-off that works on it ends, and its agent is stopped.
#[utoipa::path(
    post, path = "/api/requests/{id}/requeue", operation_id = "requeue_request", tag = "requests", request_body = RequeueInput,
    params(("id" = String, Path, description = "The request")),
    responses(
        (status = 200, description = "The request, which needs a decision", body = Answer<Request>),
        (status = 403, description = "It is not claimed by this run", body = ErrorAnswer),
        (status = 404, description = "There is no such request", body = ErrorAnswer),
        (status = 409, description = "It is not claimed, or by a later claim; the message names the state", body = ErrorAnswer),
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
