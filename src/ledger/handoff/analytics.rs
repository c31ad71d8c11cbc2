//! Statistics over many hand-offs.

use crate::domain::{AgentName, HandoffAnalytics, HandoffSums, Timestamp};
use crate::store::tables::handoff_quality;
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
    let sums = HandoffSums {
        counts: handoff_sums::count_by_time(view, chosen)?,
        moved_on: handoff_sums::count_moved_on(view, chosen)?,
        costs: handoff_sums::sum_costs(view, chosen)?,
        bounces: handoff_sums::count_bounces(view, chosen)?,
        first_messages: handoff_quality::first_messages(view, chosen)?,
        judged_work: handoff_quality::judged_work(view, chosen)?,
        paths: handoff_sums::common_paths(view, chosen, MOST_PATHS)?,
    };
    Ok(HandoffAnalytics::aggregate(sums, agent))
}
