//! The limits on a chain of hand-offs, across all doors.

use crate::domain::{AgentName, Lineage};
use crate::store::tables::{handoffs, lineage};
use crate::store::{Result, View};

/// A hand-off that is about to begin.
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

/// Refuses a hand-off that would make its chain too long. Returns the agents so far, without the target.
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

/// Refuses a child task that would make its family too deep. The refusal names the agents of the ancestor tasks.
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
