//! The limits on a chain of hand-offs, whichever doors its hand-offs came through.

use crate::domain::{AgentName, Lineage};
use crate::store::tables::{handoffs, lineage};
use crate::store::{Result, View};

/// A hand-off that is about to be begun.
pub struct Step<'a> {
    /// The hand-off from which this one comes.
    pub from_number: Option<i64>,
    pub from_agent: Option<&'a AgentName>,
    pub to_agent: &'a AgentName,
    /// The task that is handed off.
    pub task_number: i64,
    /// Whether the work goes on in a child of that task.
    pub makes_child: bool,
}

/// Refuses a hand-off that would make its chain too long. Returns the agents so far, without the one that is asked.
pub fn check(view: &View<'_>, step: &Step<'_>) -> Result<Vec<AgentName>> {
    let mut agents = Lineage::agents_of(&lineage::steps_to(view, step.from_number)?);
    Lineage::push(&mut agents, step.from_agent);
    let mut lineage = Lineage {
        agents: agents.clone(),
        depth: lineage::count_depth(view, step.task_number)? + u32::from(step.makes_child),
        hops: lineage::count_hops(view, step.task_number)?,
    };
    lineage.agents.push(step.to_agent.clone());
    lineage.check(view.rules.chain)?;
    Ok(agents)
}

/// Refuses a child of a task that would make their family too deep. The refusal names the agents that work on the tasks above.
pub fn check_depth(view: &View<'_>, parent_number: i64) -> Result<()> {
    let depth = lineage::count_depth(view, parent_number)? + 1;
    if depth <= view.rules.chain.depth {
        return Ok(());
    }
    let open = handoffs::find_open(view, parent_number)?.map(|open| open.number);
    let lineage = Lineage {
        agents: Lineage::agents_of(&lineage::steps_to(view, open)?),
        depth,
        hops: 0,
    };
    Ok(lineage.check(view.rules.chain)?)
}
