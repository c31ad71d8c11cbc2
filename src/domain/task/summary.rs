//! Summaries of tasks for lists.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use super::priority::TaskPriority;
use super::status::Status;
use super::task::Task;
use crate::domain::{AgentName, Role, Text, Timestamp};

/// A task as shown in lists, on boards and in the index file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a summary of a task")]
pub struct TaskSummary {
    /// The id of the task.
    pub id: TaskId,
    /// The description of the task.
    pub description: Text,
    /// The status of the task.
    pub status: Status,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The agent that works on the task now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
    /// The role of the agent; absent if the task has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub agent_role: Option<Role>,
    /// The urgency of the task; absent if it is the default.
    #[serde(default, skip_serializing_if = "is_usual")]
    #[schema(required = false)]
    pub priority: TaskPriority,
    /// The reason why the router does not assign the task; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waiting_reason: Option<Text>,
    /// Whether the operator must decide before the work continues; absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub blocked: bool,
    /// The task whose agent handed it on; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent_id: Option<TaskId>,
    /// Whether the task was made for a delegated hand-off, with which it ends; absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub delegated: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
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
            parent_id: task.parent_id.clone(),
            delegated: task.is_delegated,
        }
    }
}
