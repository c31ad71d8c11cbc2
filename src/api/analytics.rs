//! `/api/analytics`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{AgentName, Day, DayFigures, DayQuery, HandoffAnalytics, TaskId, Timestamp};
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

/// The days of an answer without `from`.
const USUAL_DAYS: i64 = 30;

const MOST_DAYS: i64 = 366;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DayParameters {
    /// First day in UTC; by default 30 days up to the last day.
    #[param(value_type = Option<String>, example = "2026-01-01", pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    from: Option<String>,
    /// Last day in UTC; today by default.
    #[param(value_type = Option<String>, example = "2026-01-31", pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    to: Option<String>,
    /// Only hand-offs to this agent.
    agent: Option<AgentName>,
    /// Only hand-offs of this task and of all tasks below it.
    task: Option<TaskId>,
}

impl DayParameters {
    fn query(self, today: Day) -> Result<DayQuery, Error> {
        let refuse = |name: &str, problem: &dyn std::fmt::Display| {
            Error::InvalidQuery(format!("query: {name}: {problem}"))
        };
        let day = |name: &str, text: Option<&str>, default: Day| match text {
            None => Ok(default),
            Some(text) => Day::parse(text).map_err(|error| refuse(name, &error)),
        };
        let to = day("to", self.to.as_deref(), today)?;
        let from = day("from", self.from.as_deref(), to.plus(1 - USUAL_DAYS))?;
        match to.since(from) {
            ..0 => Err(refuse("from", &"must not be after the last day")),
            MOST_DAYS.. => Err(refuse(
                "from",
                &format!("must be within {MOST_DAYS} days of the last day"),
            )),
            _ => Ok(DayQuery {
                from,
                to,
                agent: self.agent,
                task: self.task,
            }),
        }
    }
}

/// Get the figures of hand-offs by day
///
/// A hand-off counts on the day on which it started, in UTC. Days without hand-offs are left out.
#[utoipa::path(
    get, path = "/api/analytics/days", operation_id = "list_days", tag = "hand-offs", params(DayParameters),
    responses(
        (status = 200, description = "The figures, oldest day first", body = Answer<Vec<DayFigures>>),
        (status = 404, description = "The task was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_days(
    State(app): State<App>,
    Query(parameters): Query<DayParameters>,
) -> Result<Response, Error> {
    let query = parameters.query(Day::of(app.engine.clock().now()))?;
    let _turn = app.scans.acquire().await.map_err(Error::internal)?;
    app.read(move |view| handoff::figures_by_day(view, &query))
        .await
}
