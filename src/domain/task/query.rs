//! Filters for lists of tasks.

use super::{StatusName, TaskId};
use crate::domain::{AgentName, Role, Skill};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    pub status: Option<StatusName>,
    pub agent_role: Option<Role>,
    /// Selects tasks with at least one of these tags.
    pub tags: Vec<Skill>,
    /// Lists the newest task first; `after` then continues with older ones.
    pub newest: bool,
    /// Whether to list the tasks that were made for delegated hand-offs.
    pub delegated: bool,
    pub after: Option<TaskId>,
    pub limit: u32,
}

/// A filter for lists of ready tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyQuery {
    /// Selects tasks for which this agent qualifies.
    pub for_agent: Option<AgentName>,
    pub after: Option<TaskId>,
    pub limit: u32,
}
