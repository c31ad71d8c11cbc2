//! Statistics over many hand-offs.

use crate::domain::{AgentName, DayFigures, DayQuery, HandoffAnalytics, Timestamp};
use crate::ledger::task;
use crate::store::tables::handoff_days;
use crate::store::tables::handoff_sums::{self, Chosen};
use crate::store::{Result, View};

/// Limit for each path length.
const MOST_PATHS: u32 = 10;

/// Summarizes hand-offs since a time, optionally of one agent.
pub fn analytics(
    view: &View<'_>,
    since: Option<Timestamp>,
    agent: Option<&AgentName>,
) -> Result<HandoffAnalytics> {
    let chosen = Chosen { since, agent };
    Ok(HandoffAnalytics::aggregate(
        handoff_sums::count_by_time(view, chosen)?,
        handoff_sums::sum_costs(view, chosen)?,
        handoff_sums::count_bounces(view, chosen)?,
        handoff_sums::common_paths(view, chosen, MOST_PATHS)?,
    ))
}

/// Summarizes hand-offs by day.
pub fn figures_by_day(view: &View<'_>, query: &DayQuery) -> Result<Vec<DayFigures>> {
    let task = query.task.as_ref();
    let task_number = task.map(|id| task::number(view, id)).transpose()?;
    handoff_days::by_day(view, query, task_number)
}
