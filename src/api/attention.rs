//! `GET /api/attention`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App};
use crate::Error;
use crate::domain::{Attention, AttentionCursor};
use crate::engine::Snapshot;
use crate::ledger::attention;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AttentionParameters {
    /// Maximum number of items in the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<String>,
}

/// List everything that waits for a person, newest first
///
/// Requests to approve, stuck requests, blocked tasks and increments, alerts, unread mail to the operator, overdue acknowledgements and
/// failed hand-offs. An item leaves the list when a person has decided, or the work goes on.
#[utoipa::path(
    get, path = "/api/attention", operation_id = "list_attention", tag = "service", params(AttentionParameters),
    responses((status = 200, description = "The items; `meta.next` is present if there are more", body = Answer<Attention>))
)]
pub(super) async fn list_attention(
    State(app): State<App>,
    Query(parameters): Query<AttentionParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let after = match parameters.after.as_deref() {
        None => AttentionCursor::default(),
        Some(after) => AttentionCursor::parse(after).ok_or_else(|| {
            Error::InvalidQuery(
                "query: after: is not a cursor; send `meta.next` of the previous page".to_owned(),
            )
        })?,
    };
    let now = app.engine.clock().now();
    let read = app
        .engine
        .read_snapshot(move |view| attention::attention(view, after, now, limit));
    let Snapshot { value, event } = read.await?;
    let (items, next) = value;
    Ok(app.snapshot(items, next, event))
}
