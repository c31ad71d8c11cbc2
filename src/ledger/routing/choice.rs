//! Choosing the best agent for a task.

use std::collections::HashMap;

use crate::domain::{
    AgentName, Applicant, Choice, Door, Outcome, Past, Refusal, Role, TaskId, Verdict, WaitReason,
    judge,
};
use crate::ledger::{agent, task};
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::{applicants, task_routing};
use crate::store::{Result, StoreError, View};

/// The conditions outside the ledger that affect the choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// The agent that gets tasks that no agent suits.
    pub fallback: Option<AgentName>,
    /// The programs of agents that are not installed on this machine.
    pub missing_programs: Vec<String>,
}

/// Explains which agent the router would choose for a task, and why.
pub fn explain(view: &View<'_>, task_id: &TaskId, circumstances: &Circumstances) -> Result<Choice> {
    let on = task::load(view, task_id)?;
    choose(view, &on, circumstances)
}

/// Chooses an agent for a task, and explains the verdict on each agent.
pub fn choose(view: &View<'_>, on: &StoredTask, circumstances: &Circumstances) -> Result<Choice> {
    let task = &on.task;
    let waits = wait_reason(view, on)?;
    let Some(role) = &task.needs.agent_role else {
        return Ok(Choice {
            task_id: task.id.clone(),
            agent: None,
            is_fallback: false,
            is_ready: false,
            waits,
            candidates: Vec::new(),
        });
    };
    let tags = &task.needs.specialist_tags;
    let known = list_applicants(view, on, None, &circumstances.missing_programs)?;
    let mut candidates = judge(role, tags, known);
    let best = candidates.iter().find(|each| each.is_chosen());
    let chosen = best.map(|best| best.agent.clone());
    let fallback = match (&chosen, &circumstances.fallback) {
        (None, Some(name)) => find_fallback(view, name)?,
        _ => None,
    };
    if let Some(fallback) = &fallback
        && let Some(candidate) = candidates.iter_mut().find(|each| each.agent == *fallback)
    {
        candidate.verdict = Verdict::Fallback;
    }
    let is_ready = waits.is_none();
    let nobody = (chosen.is_none() && fallback.is_none()).then(|| WaitReason::NobodySuits {
        role: role.clone(),
        tags: tags.clone(),
    });
    Ok(Choice {
        task_id: task.id.clone(),
        is_fallback: fallback.is_some(),
        agent: chosen.or(fallback),
        is_ready,
        waits: waits.or(nobody),
        candidates,
    })
}

/// Finds the fallback agent, unless it does not exist or is not available.
fn find_fallback(view: &View<'_>, name: &AgentName) -> Result<Option<AgentName>> {
    match agent::resolve(view, name.as_str()) {
        Ok(name) => Ok(Some(name)),
        Err(StoreError::Refused(Refusal::UnknownAgent { .. } | Refusal::AgentUnavailable(_))) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the reason why the router holds a task, if it does.
pub fn wait_reason(view: &View<'_>, on: &StoredTask) -> Result<Option<WaitReason>> {
    let unmet = task::unmet(view, on.number)?;
    Ok(WaitReason::of(&on.task, unmet))
}

/// Lists all agents, or those with a role, with everything by which they are ranked.
pub fn list_applicants(
    view: &View<'_>,
    on: &StoredTask,
    role: Option<&Role>,
    missing_programs: &[String],
) -> Result<Vec<Applicant>> {
    let busy: HashMap<AgentName, u32> = task_routing::open_by_agent(view)?.into_iter().collect();
    let past = past_of_agents(view, on)?;
    let applicant = |row: applicants::ApplicantRow| {
        let program = row.program.as_deref().or_else(|| row.provider.binary());
        let is_missing =
            program.is_none_or(|program| missing_programs.iter().any(|each| each == program));
        Applicant {
            available: row.available,
            roles: row.roles.0,
            skills: row.skills.0,
            busy: busy.get(&row.name).copied().unwrap_or_default(),
            past: past.get(&row.name).copied().unwrap_or_default(),
            is_missing,
            name: row.name,
        }
    };
    let rows = applicants::list(view, role)?;
    Ok(rows.into_iter().map(applicant).collect())
}

/// Summarizes the earlier work of each agent on the tasks around a task.
fn past_of_agents(view: &View<'_>, on: &StoredTask) -> Result<HashMap<AgentName, Past>> {
    let mut all: HashMap<AgentName, Past> = HashMap::new();
    for handoff in task_routing::past_handoffs(view, on.root_number, on.number)? {
        let past = all.entry(handoff.agent_name).or_default();
        // Use the stage the task was created with, not a role edited later. Work on a task without a role counts as implementation.
        let makes = match handoff.stage {
            Some(stage) => stage.role().produces_work(),
            None => handoff.role.as_ref().is_none_or(Role::produces_work),
        };
        let has_failed = handoff
            .outcome
            .is_some_and(|outcome| !matches!(outcome, Outcome::Completed | Outcome::Cancelled));
        let is_routed = handoff.mode == Door::Route;
        past.has_worked_here |= handoff.outcome == Some(Outcome::Completed);
        past.produced_work |= !handoff.is_this_task && makes;
        past.has_failed |= handoff.is_this_task && is_routed && has_failed;
    }
    Ok(all)
}
