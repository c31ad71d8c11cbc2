//! Usage: sums of tokens, turns, time and cost over runs.

use crate::domain::{AgentName, TaskId, UsageSum};
use crate::ledger::{agent, task};
use crate::store::tables::usage;
use crate::store::{Result, View};

pub fn of_task(view: &View<'_>, id: &TaskId) -> Result<UsageSum> {
    usage::of_task(view, task::number(view, id)?)
}

pub fn of_agent(view: &View<'_>, name: &AgentName) -> Result<UsageSum> {
    let agent = agent::get(view, name)?;
    usage::of_agent(view, &agent.name)
}
