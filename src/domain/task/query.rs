//! Which tasks a list shows.

use super::{StatusName, TaskId};
use crate::domain::{AgentName, Role, Skill};

/// Which tasks a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only those with this status.
    pub status: Option<StatusName>,
    /// Only those for this role.
    pub agent_role: Option<Role>,
    /// Only those with at least one of these tags.
    pub tags: Vec<Skill>,
    /// Only those made after this one.
    pub after: Option<TaskId>,
    /// At most so many.
    pub limit: u32,
}

/// Which ready tasks a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyQuery {
    /// Only those that this agent suits.
    pub for_agent: Option<AgentName>,
    /// Only those that come after this one.
    pub after: Option<TaskId>,
    /// At most so many.
    pub limit: u32,
}
