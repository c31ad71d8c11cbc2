//! Finding runs, with everything that starts or follows them.

use crate::domain::{
    Agent, AgentName, Door, HandoffId, JobStart, RunId, RunIdentity, Task, Text, TraceId,
};
use crate::ledger::{request, task};
use crate::store::tables::{agents, runs};
use crate::store::{Result, StoreError, View};

/// A run that the scheduler has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedRun {
    pub identity: RunIdentity,
    /// The task, with its chain.
    pub task: Task,
    /// The agent's configuration, unless the agent was deleted since.
    pub agent: Option<Agent>,
    pub prompt: Text,
    pub reason: Option<Text>,
    pub from_agent: Option<AgentName>,
    pub mode: Door,
    pub trace_id: TraceId,
    /// The job elsewhere that the run only starts, by the command of a kind rule.
    pub job: Option<JobStart>,
    /// The provider's session that is resumed.
    pub resumes: Option<String>,
    /// The data directory whose server claimed the run.
    pub claimed_in: Option<String>,
    /// How many bytes of its output have become messages.
    pub followed_bytes: u64,
    /// How many bytes of the agent context its prompt has room for.
    pub carried_bytes: usize,
}

impl ClaimedRun {
    /// Tells whether the run only starts a job elsewhere, and has not done so yet.
    pub fn starts_job(&self) -> bool {
        self.job.as_ref().is_some_and(|job| !job.is_started)
    }
}

/// Loads a run by its number.
pub(super) fn load(view: &View<'_>, number: i64) -> Result<ClaimedRun> {
    let row = runs::find(view, number)?
        .ok_or_else(|| StoreError::inconsistent(format!("run {number} is not there")))?;
    Ok(ClaimedRun {
        task: task::get(view, &row.task_id)?,
        agent: agents::find(view, &row.agent_name)?,
        job: request::find_job_start(view, row.handoff_number)?,
        carried_bytes: view.rules.carried_bytes,
        trace_id: row.trace_id.unwrap_or_else(|| (&row.handoff_id).into()),
        identity: RunIdentity {
            run_id: row.run_id,
            handoff_id: row.handoff_id,
            task_id: row.task_id,
            agent_name: row.agent_name,
        },
        prompt: row.prompt,
        reason: row.reason,
        from_agent: row.from_agent,
        mode: row.mode,
        resumes: row.resumes,
        claimed_in: row.claimed_in,
        followed_bytes: row.followed_bytes,
    })
}

/// Finds a run, whether or not it has ended.
pub fn find(view: &View<'_>, id: &RunId) -> Result<Option<ClaimedRun>> {
    let number = runs::find_number(view, id)?;
    number.map(|number| load(view, number)).transpose()
}

/// Lists the runs that were started and have not ended, oldest first.
pub fn running(view: &View<'_>) -> Result<Vec<ClaimedRun>> {
    let numbers = runs::list_running(view)?;
    numbers
        .into_iter()
        .map(|number| load(view, number))
        .collect()
}

/// Finds the last run of a hand-off.
pub fn of_handoff(view: &View<'_>, id: &HandoffId) -> Result<Option<RunId>> {
    runs::find_last(view, id)
}

/// Finds the number of a run that must be there.
pub(super) fn number(view: &View<'_>, id: &RunId) -> Result<i64> {
    runs::find_number(view, id)?
        .ok_or_else(|| StoreError::inconsistent(format!("run {id} is not there")))
}

/// Finds the task and the hand-off of a run that must be there.
pub(super) fn place(view: &View<'_>, number: i64) -> Result<runs::RunPlace> {
    runs::find_place(view, number)?
        .ok_or_else(|| StoreError::inconsistent(format!("run {number} has no hand-off")))
}
