//! Figures over many hand-offs.

use crate::domain::{AgentName, HandoffAnalytics, Timestamp};
use crate::store::tables::handoff_sums::{self, Chosen};
use crate::store::{Result, View};

/// How many paths of each length are shown.
const MOST_PATHS: u32 = 10;

/// Adds up how hand-offs went, since a time and with an agent.
pub fn analytics(
    view: &View<'_>,
    since: Option<Timestamp>,
    agent: Option<&AgentName>,
) -> Result<HandoffAnalytics> {
    let chosen = Chosen { since, agent };
    Ok(HandoffAnalytics::add_up(
        handoff_sums::count_by_time(view, chosen)?,
        handoff_sums::sum_costs(view, chosen)?,
        handoff_sums::count_bounces(view, chosen)?,
        handoff_sums::common_paths(view, chosen, MOST_PATHS)?,
    ))
}
