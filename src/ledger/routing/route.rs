//! Routing a task to the best agent.

use serde::{Deserialize, Serialize};

use crate::domain::{
    AgentName, Choice, Door, EventKind, ProviderSession, Task, TaskId, Text, assignment, best,
};
use crate::ledger::handoff::{Begin, Begun, begin};
use crate::ledger::{history, task};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::tables::{task_dependencies, task_routing};
use crate::store::{Result, Tx, View};
use crate::words;

use super::choice::{Circumstances, choose, list_applicants, wait_reason};
use super::mail;
use super::waiting::hold;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Routed {
    /// A hand-off was begun.
    Started(Box<Task>),
    /// The task is held until an agent changes.
    NobodySuits(Choice),
    /// The task must not be routed now.
    NotReady(Choice),
}

/// Lists the tasks to route next, most urgent first, then oldest first.
pub fn next(view: &View<'_>, limit: u32) -> Result<Vec<TaskId>> {
    task_routing::next(view, limit)
}

/// Hands off a task to the best agent, if the task is ready and an agent suits.
pub fn route(tx: &mut Tx<'_>, task_id: &TaskId, circumstances: &Circumstances) -> Result<Routed> {
    let on = task::load(tx, task_id)?;
    let (None, Some(role)) = (wait_reason(tx, &on)?, on.task.needs.agent_role.clone()) else {
        return Ok(Routed::NotReady(choose(tx, &on, circumstances)?));
    };
    let tags = &on.task.needs.specialist_tags;
    let known = list_applicants(tx, &on, Some(&role), &circumstances.missing_programs)?;
    let agent_name = if let Some(best) = best(&role, tags, known) {
        best
    } else {
        let choice = choose(tx, &on, circumstances)?;
        let Some(fallback) = choice.agent.clone() else {
            let all = list_applicants(tx, &on, None, &circumstances.missing_programs)?;
            hold(tx, &on, &role, tags, &all)?;
            return Ok(Routed::NobodySuits(choice));
        };
        let reason = words::nobody_suits(&role, tags);
        history::record(tx, on.on(), None, EventKind::NoSuitableAgent { reason })?;
        fallback
    };
    task_routing::count_attempt(tx, on.number)?;
    let prompt = assignment(&on.task);
    let begun = begin_routed(tx, on, agent_name, &prompt, None)?;
    mail::announce(tx, &begun.on)?;
    let mut task = begun.on.task;
    task.routing.attempts += 1;
    Ok(Routed::Started(Box::new(task)))
}

/// Begins a hand-off that the router has decided on.
pub fn begin_routed(
    tx: &mut Tx<'_>,
    on: StoredTask,
    agent_name: AgentName,
    prompt: &Text,
    resumes: Option<&ProviderSession>,
) -> Result<Begun> {
    let next = Begin {
        from_agent: task_dependencies::find_last_agent(tx, on.number)?,
        resumes,
        counted_from: tasks::find_counted_from(tx, on.number)?,
        ..Begin::new(Door::Route, agent_name, prompt.as_str())
    };
    begin(tx, on, next)
}
