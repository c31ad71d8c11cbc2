//! Summaries: tasks as lists show them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use super::priority::TaskPriority;
use super::status::Status;
use super::task::Task;
use crate::domain::{AgentName, Role, Text, Timestamp};

/// What lists, boards and the index file show of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a summary of a task")]
pub struct TaskSummary {
    /// Its id.
    pub id: TaskId,
    /// What is to be done.
    pub description: Text,
    /// Where it stands.
    pub status: Status,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Who works on it now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
    /// Who is to work on it; absent where no role is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub agent_role: Option<Role>,
    /// How urgent it is; absent where it is as urgent as most.
    #[serde(default, skip_serializing_if = "is_usual")]
    #[schema(required = false)]
    pub priority: TaskPriority,
    /// Why the router does not go on with it; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waiting_reason: Option<Text>,
    /// Whether a person must look before it goes on; absent where nobody must.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub blocked: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "this is how a serialiser asks"
)]
fn is_usual(priority: &TaskPriority) -> bool {
    *priority == TaskPriority::default()
}

impl From<&Task> for TaskSummary {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            description: task.description.clone(),
            status: task.status.clone(),
            created_at: task.created_at,
            updated_at: task.updated_at,
            current_agent: task.current_agent().cloned(),
            agent_role: task.needs.agent_role.clone(),
            priority: task.needs.priority,
            waiting_reason: task.routing.waiting_reason.clone(),
            blocked: task.routing.blocked,
        }
    }
}
