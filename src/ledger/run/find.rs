//! Finding runs, with everything needed to start or follow them.

use crate::domain::{
    Agent, AgentName, AttachmentFolder, Door, HandoffId, Isolation, JobStart, RunId, RunIdentity,
    Task, Text, TraceId,
};
use crate::ledger::{request, task};
use crate::store::tables::{agents, runs};
use crate::store::{Result, StoreError, View};

use super::limits::{Launch, Limits};

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedRun {
    pub identity: RunIdentity,
    /// With its chain.
    pub task: Task,
    /// The folders of the task's attachments.
    pub folders: Vec<AttachmentFolder>,
    /// `None` if the agent was deleted since.
    pub agent: Option<Agent>,
    pub prompt: Text,
    pub reason: Option<Text>,
    pub from_agent: Option<AgentName>,
    pub mode: Door,
    /// Whether a person continues a conversation with the agent.
    pub is_chat: bool,
    pub trace_id: TraceId,
    /// The external job, if the run only starts one.
    pub job: Option<JobStart>,
    /// The provider's session to resume.
    pub resumes: Option<String>,
    /// The installation of the claiming server: the path of its data directory and the identity of that directory.
    pub claimed_in: Option<String>,
    /// The bytes of its output that were already recorded as messages.
    pub followed_bytes: u64,
    /// The bytes of its standard error whose errors were already recorded as messages.
    pub followed_error_bytes: u64,
    /// The isolation of its processes.
    pub isolation: Isolation,
    /// `None` while no supervisor was started.
    pub launch: Option<Launch>,
    /// The byte budget for the agent context in its prompt.
    pub carried_bytes: usize,
}

impl ClaimedRun {
    /// Whether the run only starts an external job, and has not started it yet.
    pub fn starts_job(&self) -> bool {
        self.job.as_ref().is_some_and(|job| !job.is_started)
    }
}

pub(super) fn load(view: &View<'_>, number: i64) -> Result<ClaimedRun> {
    let row = runs::find(view, number)?
        .ok_or_else(|| StoreError::inconsistent(format!("run {number} does not exist")))?;
    let on = task::load(view, &row.task_id)?;
    Ok(ClaimedRun {
        task: on.task,
        folders: on.folders,
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
        is_chat: row.is_chat,
        resumes: row.resumes,
        claimed_in: row.claimed_in,
        followed_bytes: row.followed_bytes,
        followed_error_bytes: row.followed_error_bytes,
        isolation: row.isolation.unwrap_or_default(),
        launch: row.launched_at.map(|_| Launch {
            limits: Limits {
                max_seconds: row.max_seconds.unwrap_or(u64::MAX),
                idle_seconds: row.idle_seconds.unwrap_or(u64::MAX),
            },
        }),
    })
}

/// Finds a run, ended or not.
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

/// Lists the ids of the runs that were started and have not ended.
pub fn running_ids(view: &View<'_>) -> Result<Vec<RunId>> {
    runs::list_running_ids(view)
}

/// Finds the last run of a hand-off.
pub fn of_handoff(view: &View<'_>, id: &HandoffId) -> Result<Option<RunId>> {
    runs::find_last(view, id)
}

pub(super) fn number(view: &View<'_>, id: &RunId) -> Result<i64> {
    runs::find_number(view, id)?
        .ok_or_else(|| StoreError::inconsistent(format!("run {id} does not exist")))
}

pub(super) fn place(view: &View<'_>, number: i64) -> Result<runs::RunPlace> {
    runs::find_place(view, number)?
        .ok_or_else(|| StoreError::inconsistent(format!("run {number} has no hand-off")))
}
