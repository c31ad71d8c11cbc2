//! `/api/sessions`

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Id, MendedBody, Query, Segment, Trace, find};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    AgentName, Caller, HandoffId, HistoryMessage, Page, Session, SessionHandoff, SessionId, TaskId,
};
use crate::ledger::session;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionParameters {
    /// Only sessions behind this one: `meta.next` of the answer before.
    #[param(value_type = Option<String>)]
    after: Option<SessionId>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// Lists sessions, oldest first.
#[utoipa::path(
    get, path = "/api/sessions", operation_id = "list_sessions", tag = "sessions", params(SessionParameters),
    responses(
        (status = 200, description = "The sessions; `meta.next` is there when there is more", body = Answer<Vec<Session>>),
        (status = 404, description = "The session in `after` is not there", body = ErrorAnswer),
    )
)]
pub(super) async fn list_sessions(
    State(app): State<App>,
    Query(parameters): Query<SessionParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let Page { items, next } = app
        .engine
        .read(move |view| session::list(view, parameters.after.as_ref(), limit))
        .await?;
    Ok(app.page(items, next))
}

/// Shows a session.
#[utoipa::path(
    get, path = "/api/sessions/{id}", operation_id = "get_session", tag = "sessions",
    params(("id" = String, Path, description = "The session", example = "sess_abc123")),
    responses(
        (status = 200, description = "The session", body = Answer<Session>),
        (status = 404, description = "There is no such session", body = ErrorAnswer),
    )
)]
pub(super) async fn get_session(
    State(app): State<App>,
    Id(id): Id<SessionId>,
) -> Result<Response, Error> {
    let session = app.engine.read(move |view| session::get(view, &id)).await?;
    Ok(app.ok(session))
}

/// What a caller says of a conversation that moves.
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
    reason = "says in the OpenAPI document what the reader of a move accepts"
)]
pub(super) struct SessionHandoffInput {
    /// Who has the conversation.
    from_agent: String,
    /// Who is to have it.
    to_agent: String,
    /// Why it moves.
    reason: String,
    /// What the user wants.
    user_intent: String,
    /// All that was said.
    conversation_history: Vec<HistoryMessage>,
    /// The trace of the harness that leads the conversation.
    harness_trace_id: Option<String>,
    /// Whether Chorus runs the target; if not, the move is only recorded.
    #[schema(default = true)]
    invoke: Option<bool>,
}

/// What became of a conversation that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHandoffStarted {
    /// The hand-off's id; wait for its end on `/api/handoffs/{id}?wait=`.
    pub id: HandoffId,
    /// The session.
    #[schema(value_type = String)]
    pub session_id: String,
    /// The task that has the session's chain.
    pub task_id: TaskId,
}

/// Moves a conversation to another agent, which gets all that was said. The session's hand-off before is closed.
#[utoipa::path(
    post, path = "/api/sessions/{id}/handoffs", operation_id = "move_session", tag = "sessions",
    request_body = SessionHandoffInput, params(("id" = String, Path, description = "The session; a new id makes one")),
    responses(
        (status = 201, description = "The hand-off's id", body = Answer<SessionHandoffStarted>),
        (status = 400, description = "`HANDOFF_ERROR`: `details.problems` has everything that is wrong, `details.context` is `from->to`", body = ErrorAnswer),
        (status = 422, description = "The chain of hand-offs is too long; `details.chain` names it", body = ErrorAnswer),
    )
)]
pub(super) async fn move_session(
    State(app): State<App>,
    Segment(id): Segment,
    caller: Caller,
    Trace(trace): Trace,
    body: MendedBody<BTreeMap<String, Box<RawValue>>>,
) -> Result<Response, Error> {
    let task = app
        .engine
        .move_session(&id, body.value, &caller, trace, body.once)
        .await?;
    let entry = task
        .agent_chain()
        .last()
        .ok_or_else(|| Error::internal("a move without a hand-off"))?;
    Ok(app.created(SessionHandoffStarted {
        id: entry.id.clone(),
        session_id: id,
        task_id: task.id,
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MoveParameters {
    /// Only hand-offs behind this one: `meta.next` of the answer before.
    #[param(value_type = Option<String>)]
    after: Option<HandoffId>,
    /// At most so many; fewer come if their histories are large.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// Lists the hand-offs of a session, oldest first, each with the whole history that it brought; none if it never moved.
#[utoipa::path(
    get, path = "/api/sessions/{id}/handoffs", operation_id = "list_session_handoffs", tag = "sessions",
    params(("id" = String, Path, description = "The session"), MoveParameters),
    responses(
        (status = 200, description = "The hand-offs; `meta.next` is there when there is more", body = Answer<Vec<SessionHandoff>>),
        (status = 404, description = "The hand-off in `after` is not one of the session", body = ErrorAnswer),
    )
)]
pub(super) async fn list_session_handoffs(
    State(app): State<App>,
    Segment(id): Segment,
    Query(parameters): Query<MoveParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let (id, after) = (find(&id)?, parameters.after);
    let Page { items, next } = app
        .engine
        .read(move |view| session::handoffs(view, &id, after.as_ref(), limit))
        .await?;
    Ok(app.page(items, next))
}

/// Shows the last hand-off of a session; null if it never moved.
#[utoipa::path(
    get, path = "/api/sessions/{id}/handoffs/last", operation_id = "get_last_session_handoff", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "The hand-off, or null", body = Answer<Option<SessionHandoff>>))
)]
pub(super) async fn get_last_session_handoff(
    State(app): State<App>,
    Id(id): Id<SessionId>,
) -> Result<Response, Error> {
    let last = app
        .engine
        .read(move |view| session::last_handoff(view, &id))
        .await?;
    Ok(app.ok(last))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CountParameters {
    /// Only those from this agent.
    #[param(value_type = Option<String>)]
    from: Option<AgentName>,
    /// Only those to this agent.
    #[param(value_type = Option<String>)]
    to: Option<AgentName>,
}

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    /// The number.
    pub count: u64,
}

/// Counts the hand-offs of a session.
#[utoipa::path(
    get, path = "/api/sessions/{id}/handoffs/count", operation_id = "count_session_handoffs", tag = "sessions",
    params(("id" = String, Path, description = "The session"), CountParameters),
    responses((status = 200, description = "How many there are", body = Answer<Count>))
)]
pub(super) async fn count_session_handoffs(
    State(app): State<App>,
    Segment(id): Segment,
    Query(parameters): Query<CountParameters>,
) -> Result<Response, Error> {
    let id = find(&id)?;
    let CountParameters { from, to } = parameters;
    let count = app
        .engine
        .read(move |view| session::count_handoffs(view, &id, from.as_ref(), to.as_ref()))
        .await?;
    Ok(app.ok(Count { count }))
}
