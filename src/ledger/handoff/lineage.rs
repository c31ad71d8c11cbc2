//! The limits on a chain of hand-offs, across all doors.
//!
//! Depth, hops and bounces count what agents do to each other. A hand-off that no agent asks for starts a new count; every hand-off and
//! task of an agent refers to that start, so that a check reads no more than the limits allow.

use crate::domain::{AgentName, Lineage};
use crate::store::tables::{handoffs, lineage};
use crate::store::{Result, View};

/// A hand-off that a run is about to begin.
pub struct Step<'a> {
    /// The previous hand-off of the chain.
    pub from_number: Option<i64>,
    pub from_agent: Option<&'a AgentName>,
    pub to_agent: &'a AgentName,
    /// The task that is handed off.
    pub task_number: i64,
    /// Whether the work continues on a child of that task.
    pub makes_child: bool,
}

/// Refuses a hand-off that would make its chain too long.
pub fn check(view: &View<'_>, counted_from: i64, step: &Step<'_>) -> Result<()> {
    let mut agents = Lineage::agents_of(&lineage::steps_in_count(
        view,
        step.from_number,
        counted_from,
    )?);
    Lineage::push(&mut agents, step.from_agent);
    agents.push(step.to_agent.clone());
    let lineage = Lineage {
        agents,
        depth: depth(view, counted_from, step.task_number)? + u32::from(step.makes_child),
        hops: lineage::count_hops(view, counted_from)?,
    };
    Ok(lineage.check(view.rules.chain)?)
}

/// Lists the agents of a chain, without the next one, whoever asked for its hand-offs.
pub fn agents_before(
    view: &View<'_>,
    from_number: Option<i64>,
    from_agent: Option<&AgentName>,
) -> Result<Vec<AgentName>> {
    let mut agents = Lineage::agents_of(&lineage::steps_to(view, from_number)?);
    Lineage::push(&mut agents, from_agent);
    Ok(agents)
}

/// Finds the hand-off from which the limits count for what the last agent of a task does. `None` if the task never had an agent.
pub fn start_of_count(view: &View<'_>, task_number: i64) -> Result<Option<i64>> {
    lineage::find_start_of_count(view, task_number)
}

/// Refuses a child task that would make its family too deep. The refusal names the agents of the ancestor tasks.
pub fn check_depth(view: &View<'_>, counted_from: i64, parent_number: i64) -> Result<()> {
    let depth = depth(view, counted_from, parent_number)? + 1;
    if depth <= view.rules.chain.depth {
        return Ok(());
    }
    let open = handoffs::find_open(view, parent_number)?.map(|open| open.number);
    let lineage = Lineage {
        agents: Lineage::agents_of(&lineage::steps_in_count(view, open, counted_from)?),
        depth,
        hops: 0,
    };
    Ok(lineage.check(view.rules.chain)?)
}

/// Counts the tasks from the one where the count starts down to a task, not further than the limit needs.
fn depth(view: &View<'_>, counted_from: i64, task_number: i64) -> Result<u32> {
    let enough = view.rules.chain.depth.saturating_add(1);
    lineage::count_depth(view, task_number, counted_from, enough)
}
