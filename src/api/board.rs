//! `GET /api/board`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App};
use crate::Error;
use crate::domain::{
    AgentName, Board, BoardFilter, BoardPlace, BoardQuery, IncrementId, Role, StatusName, Text,
};
use crate::ledger::board;

const DEFAULT_LIMIT: u32 = 50;

/// The most bytes of the text to search for.
const LONGEST_TEXT: usize = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct BoardParameters {
    /// Maximum number of tasks per column.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<u32>,
    /// Only the column with this status.
    #[param(inline)]
    status: Option<StatusName>,
    /// Cursor: `next` of the column in the previous answer. Needs `status`.
    #[param(value_type = Option<String>, pattern = "^-?[0-9]{1,19}\\.-?[0-9]{1,19}$")]
    after: Option<String>,
    /// Only tasks whose description contains this text; the case of ASCII letters does not matter.
    #[param(value_type = Option<String>, max_length = 1000)]
    text: Option<Text>,
    /// Only tasks that this agent has had, or that have a child task delegated to this agent.
    agent: Option<AgentName>,
    /// Only tasks for this role.
    role: Option<Role>,
    /// Only tasks of this session.
    #[param(value_type = Option<String>)]
    session: Option<Text>,
    /// Only tasks of this increment.
    increment: Option<IncrementId>,
}

/// Get the board: tasks in columns by status
///
/// Each column has its last changed tasks first, and pages of its own. Child tasks that were made for delegated hand-offs are left out.
/// A filter looks at the last 10,000 tasks of each column; `next` then continues, and such a page may have few tasks or none.
#[utoipa::path(
    get, path = "/api/board", operation_id = "get_board", tag = "tasks", params(BoardParameters),
    responses((status = 200, description = "The board", body = Answer<Board>))
)]
pub(super) async fn get_board(
    State(app): State<App>,
    Query(parameters): Query<BoardParameters>,
) -> Result<Response, Error> {
    let refuse = |message: &str| Error::InvalidQuery(format!("query: {message}"));
    let after = match parameters.after.as_deref() {
        None => None,
        Some(_) if parameters.status.is_none() => {
            return Err(refuse("after: needs status, the column to continue"));
        }
        Some(after) => Some(
            BoardPlace::parse(after)
                .ok_or_else(|| refuse("after: is not a cursor; send `next` of a column"))?,
        ),
    };
    let text = parameters.text.filter(|text| !text.is_blank());
    if text
        .as_ref()
        .is_some_and(|text| text.as_str().len() > LONGEST_TEXT)
    {
        return Err(refuse("text: must have at most 1000 bytes"));
    }
    let query = BoardQuery {
        filter: BoardFilter {
            text,
            agent: parameters.agent,
            role: parameters.role,
            session_id: parameters.session,
            increment_id: parameters.increment,
        },
        status: parameters.status,
        after,
        limit: app.page_size(parameters.limit.or(Some(DEFAULT_LIMIT)))?,
    };
    let _turn = if query.filter.is_empty() {
        None
    } else {
        Some(app.scans.acquire().await.map_err(Error::internal)?)
    };
    app.read(move |view| board::board(view, &query)).await
}
