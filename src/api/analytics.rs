//! `/api/analytics/handoffs`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App};
use crate::Error;
use crate::domain::{AgentName, HandoffAnalytics, Timestamp};
use crate::ledger::handoff;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AnalyticsParameters {
    /// Only hand-offs that started at or after this time, in milliseconds since the epoch.
    #[serde(default, deserialize_with = "millis")]
    since: Option<i64>,
    /// Only hand-offs from or to this agent.
    agent: Option<AgentName>,
}

/// Parses a time; the error message explains the unit.
fn millis<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let millis = text.parse().map_err(|_| {
        serde::de::Error::custom(format!(
            "{text:?} is not a number of milliseconds since the epoch"
        ))
    })?;
    Ok(Some(millis))
}

/// Get success rates, times and costs of hand-offs
///
/// Gives the figures for each pair of agents, and the most common paths.
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
    let _turn = app.scans.acquire().await.map_err(Error::internal)?;
    app.read(move |view| handoff::analytics(view, since, parameters.agent.as_ref()))
        .await
}
