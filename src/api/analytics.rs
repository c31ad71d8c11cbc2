//! `/api/analytics/handoffs` and `/api/handoffs?trace=`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{AgentName, Handoff, HandoffAnalytics, HandoffId, Page, Timestamp};
use crate::ledger::handoff;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AnalyticsParameters {
    /// Only hand-offs that started then or later, in milliseconds since the epoch.
    #[serde(default, deserialize_with = "millis")]
    since: Option<i64>,
    /// Only hand-offs from or to this agent.
    #[param(value_type = Option<String>)]
    agent: Option<AgentName>,
}

/// Reads a time, and says what one is.
fn millis<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let millis = text.parse().map_err(|_| {
        serde::de::Error::custom(format!(
            "{text:?} is not a number of milliseconds since the epoch"
        ))
    })?;
    Ok(Some(millis))
}

/// Adds up how hand-offs went: by pair of agents, with success, time and cost, and the most common paths.
#[utoipa::path(
    get, path = "/api/analytics/handoffs", operation_id = "get_handoff_analytics", tag = "hand-offs",
    params(AnalyticsParameters),
    responses((status = 200, description = "The figures", body = Answer<HandoffAnalytics>))
)]
pub(super) async fn get_handoff_analytics(
    State(app): State<App>,
    Query(parameters): Query<AnalyticsParameters>,
) -> Result<Response, Error> {
    let since = parameters.since.map(Timestamp::from_millis);
    let figures = app
        .engine
        .read(move |view| handoff::analytics(view, since, parameters.agent.as_ref()))
        .await?;
    Ok(app.ok(figures))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceParameters {
    /// A W3C trace id, or the `harnessTraceId` of a session's hand-off.
    trace: String,
    /// Only hand-offs behind this one: `meta.next` of the answer before.
    #[param(value_type = Option<String>)]
    after: Option<HandoffId>,
    /// At most so many; fewer come if they are large.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// Lists the hand-offs of a trace, oldest first.
#[utoipa::path(
    get, path = "/api/handoffs", operation_id = "list_trace_handoffs", tag = "hand-offs", params(TraceParameters),
    responses(
        (status = 200, description = "The hand-offs; `meta.next` is there when there is more", body = Answer<Vec<Handoff>>),
        (status = 404, description = "The hand-off in `after` is not there", body = ErrorAnswer),
    )
)]
pub(super) async fn list_trace_handoffs(
    State(app): State<App>,
    Query(parameters): Query<TraceParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(parameters.limit)?;
    let Page { items, next } = app
        .engine
        .read(move |view| {
            handoff::of_trace(view, &parameters.trace, parameters.after.as_ref(), limit)
        })
        .await?;
    Ok(app.page(items, next))
}
