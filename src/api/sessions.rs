//! `/api/sessions`

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Id, LossyBody, Query, Segment, Trace, find};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    AgentName, Caller, HandoffId, HistoryMessage, Session, SessionHandoff, SessionId, TaskId,
};
use crate::ledger::{self, View, rights, session};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionParameters {
    /// Newest first.
    #[serde(default)]
    newest: bool,
    /// Cursor: `meta.next` of the previous page.
    after: Option<SessionId>,
    /// Maximum number of sessions in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// List sessions, oldest first unless `newest` is true
#[utoipa::path(
    get, path = "/api/sessions", operation_id = "list_sessions", tag = "sessions", params(SessionParameters),
    responses(
        (status = 200, description = "The sessions; `meta.next` is present if there are more", body = Answer<Vec<Session>>),
        (status = 404, description = "The session in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_sessions(
    State(app): State<App>,
    caller: Caller,
    Query(parameters): Query<SessionParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let list = move |view: &View<'_>| {
        let of_task = rights::task_of_readable_sessions(&caller)?;
        let (newest, after) = (parameters.newest, parameters.after.as_ref());
        session::list(view, of_task, newest, after, limit)
    };
    app.read_page(list).await
}

/// Get a session
#[utoipa::path(
    get, path = "/api/sessions/{id}", operation_id = "get_session", tag = "sessions",
    params(("id" = String, Path, description = "The session", example = "sess_abc123")),
    responses(
        (status = 200, description = "The session", body = Answer<Session>),
        (status = 403, description = "The session belongs to another run", body = ErrorAnswer),
        (status = 404, description = "Session not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_session(
    State(app): State<App>,
    Id(id): Id<SessionId>,
    caller: Caller,
) -> Result<Response, Error> {
    let read = readable(caller, id, session::get);
    app.read(read).await
}

/// A hand-off of a session to another agent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "fromAgent": "planner",
    "toAgent": "developer",
    "reason": "The plan is agreed on",
    "userIntent": "Build the parser",
    "conversationHistory": [
        { "role": "user", "content": "Can you plan a parser?" },
        { "role": "assistant", "content": "Here is a plan.", "agentId": "planner" }
    ]
}))]
#[expect(
    dead_code,
    reason = "describes for OpenAPI what the deserializer of a session's hand-off accepts"
)]
pub(super) struct SessionHandoffInput {
    /// The agent that has the conversation.
    #[schema(min_length = 1, pattern = "\\S")]
    from_agent: String,
    /// The agent that takes it over.
    #[schema(min_length = 1, pattern = "\\S")]
    to_agent: String,
    /// The reason for the hand-off.
    #[schema(min_length = 1, pattern = "\\S")]
    reason: String,
    /// The goal of the user.
    #[schema(min_length = 1, pattern = "\\S")]
    user_intent: String,
    /// The whole conversation so far.
    conversation_history: Vec<HistoryMessage>,
    /// The trace id of the harness that runs the conversation.
    #[schema(max_length = 200)]
    harness_trace_id: Option<String>,
    /// Run the target agent; if false, only record the hand-off.
    #[schema(default = true)]
    invoke: Option<bool>,
}

/// A session's hand-off that has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHandoffStarted {
    /// The hand-off; wait for its end with `GET /api/handoffs/{id}?wait=25`.
    pub id: HandoffId,
    #[schema(value_type = String)]
    pub session_id: String,
    /// The task that holds the session's agent chain.
    pub task_id: TaskId,
}

/// Hand a session to another agent with its whole conversation
///
/// Closes the session's previous hand-off.
#[utoipa::path(
    post, path = "/api/sessions/{id}/handoffs", operation_id = "start_session_handoff", tag = "sessions",
    request_body = SessionHandoffInput, params(("id" = String, Path, description = "The session; an unknown id creates a new session")),
    responses(
        (status = 201, description = "The new hand-off", body = Answer<SessionHandoffStarted>),
        (status = 400, description = "`HANDOFF_ERROR`: `details.problems` lists every fault, `details.context` is `from->to`", body = ErrorAnswer),
        (status = 422, description = "The chain of hand-offs is too long; `details.chain` names it", body = ErrorAnswer),
    )
)]
pub(super) async fn start_session_handoff(
    State(app): State<App>,
    Segment(id): Segment,
    caller: Caller,
    Trace(trace): Trace,
    body: LossyBody<BTreeMap<String, Box<RawValue>>>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .move_session(&id, body.value, &caller, trace, body.once)
        .await?;
    let entry = task
        .agent_chain()
        .last()
        .ok_or_else(|| Error::internal("a session's hand-off is missing in its task"))?;
    Ok(app.created(SessionHandoffStarted {
        id: entry.id.clone(),
        session_id: id,
        task_id: task.id,
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HandoffParameters {
    /// Cursor: `meta.next` of the previous page.
    after: Option<HandoffId>,
    /// Maximum number of hand-offs in the page. Large conversations make it shorter.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// List the hand-offs of a session, oldest first
///
/// Each has the whole conversation that it passed on. The list of an unknown session is empty.
#[utoipa::path(
    get, path = "/api/sessions/{id}/handoffs", operation_id = "list_session_handoffs", tag = "sessions",
    params(("id" = String, Path, description = "The session"), HandoffParameters),
    responses(
        (status = 200, description = "The hand-offs; `meta.next` is present if there are more", body = Answer<Vec<SessionHandoff>>),
        (status = 403, description = "The session belongs to another run", body = ErrorAnswer),
        (status = 404, description = "The hand-off in `after` does not belong to the session", body = ErrorAnswer),
    )
)]
pub(super) async fn list_session_handoffs(
    State(app): State<App>,
    Segment(id): Segment,
    caller: Caller,
    Query(parameters): Query<HandoffParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let (id, after) = (find(&id)?, parameters.after);
    let read = readable(caller, id, move |view, id| {
        session::handoffs(view, id, after.as_ref(), limit)
    });
    app.read_page(read).await
}

/// Get the last hand-off of a session, or null if there is none
#[utoipa::path(
    get, path = "/api/sessions/{id}/handoffs/last", operation_id = "get_last_session_handoff", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The hand-off, or null", body = Answer<Option<SessionHandoff>>),
        (status = 403, description = "The session belongs to another run", body = ErrorAnswer),
        (status = 404, description = "The id is not a valid session id", body = ErrorAnswer),
    )
)]
pub(super) async fn get_last_session_handoff(
    State(app): State<App>,
    Id(id): Id<SessionId>,
    caller: Caller,
) -> Result<Response, Error> {
    let read = readable(caller, id, session::last_handoff);
    app.read(read).await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CountParameters {
    /// Only hand-offs from this agent.
    from: Option<AgentName>,
    /// Only hand-offs to this agent.
    to: Option<AgentName>,
}

/// A number of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    pub count: u64,
}

/// Count the hand-offs of a session
#[utoipa::path(
    get, path = "/api/sessions/{id}/handoffs/count", operation_id = "count_session_handoffs", tag = "sessions",
    params(("id" = String, Path, description = "The session"), CountParameters),
    responses(
        (status = 200, description = "The number of hand-offs; 0 for an unknown session", body = Answer<Count>),
        (status = 403, description = "The session belongs to another run", body = ErrorAnswer),
        (status = 404, description = "The id is not a valid session id", body = ErrorAnswer),
    )
)]
pub(super) async fn count_session_handoffs(
    State(app): State<App>,
    Segment(id): Segment,
    caller: Caller,
    Query(parameters): Query<CountParameters>,
) -> Result<Response, Error> {
    let id = find(&id)?;
    let CountParameters { from, to } = parameters;
    let read = readable(caller, id, move |view, id| {
        let count = session::count_handoffs(view, id, from.as_ref(), to.as_ref())?;
        Ok(Count { count })
    });
    app.read(read).await
}

/// Wraps a reading of a session, which is refused to a run of another session.
fn readable<T>(
    caller: Caller,
    id: SessionId,
    read: impl Fn(&View<'_>, &SessionId) -> ledger::Result<T>,
) -> impl Fn(&View<'_>) -> ledger::Result<T> {
    move |view| {
        rights::may_read_session(view, &caller, &id)?;
        read(view, &id)
    }
}
