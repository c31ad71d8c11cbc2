//! Why an operation that was understood is not carried out.

use super::{AgentName, Filename, TaskId};

/// A rule that an operation would break. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such task.
    #[error("Task not found: {0}")]
    TaskNotFound(TaskId),
    /// There is no such agent.
    #[error("Unknown agent: {asked}")]
    UnknownAgent {
        /// The name that was asked for.
        asked: String,
        /// The names that there are.
        known: Vec<AgentName>,
    },
    /// A task has at most one open hand-off.
    #[error("Agent already active on task: {0}")]
    AgentActive(AgentName),
    /// A hand-off ends once.
    #[error("No agent is active on task {task_id}: {}", match last {
        None => "it has never been handed off".to_owned(),
        Some(agent) => format!("the last hand-off, to {agent}, has already ended"),
    })]
    NoOpenHandoff {
        /// The task.
        task_id: TaskId,
        /// Who worked on it last.
        last: Option<AgentName>,
    },
    /// A chain of hand-offs is bounded.
    #[error("The chain {} has reached its limit of {limit} {what}; go on without another hand-off, or start a new task", chain.join(" → "))]
    LimitExceeded {
        /// What is limited.
        what: &'static str,
        /// How much of it is allowed.
        limit: u32,
        /// Who handed on to whom.
        chain: Vec<String>,
    },
    /// Only a run that works hands on.
    #[error("The run that asks has ended")]
    RunEnded,
    /// Only a session that is known can be resumed.
    #[error("There is no session of {0} on this task to resume; start without `resume`")]
    NothingToResume(AgentName),
    /// Attachments are not overwritten.
    #[error("Attachment already exists: {0}. Delete it first, or choose another filename")]
    AttachmentExists(Filename),
    /// There is no such file.
    #[error("Attachment not found: {0}")]
    AttachmentNotFound(String),
    /// A key stands for one request.
    #[error("This Idempotency-Key was used for a different request; choose another key")]
    KeyReused,
}
