//! Dependencies: tasks that must end before another task is ready.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use super::status::StatusName;
use crate::domain::text::wire_enum::wire_enum;

/// A task that must end before another task is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", try_from = "DependencyForm")]
pub struct Dependency {
    /// The task depended on.
    pub task_id: TaskId,
    /// The required outcome of that task.
    pub outcome: DependencyOutcome,
}

wire_enum! {
    /// The outcome of a task that satisfies a dependency on it.
    #[derive(Default)]
    pub enum DependencyOutcome {
        /// The task must complete.
        #[default]
        Completed = "completed",
        /// The task must fail.
        Failed = "failed",
        /// The task must complete or fail.
        Any = "any",
    }
}

impl DependencyOutcome {
    /// Whether a task with this status satisfies the dependency.
    pub const fn is_met_by(self, status: StatusName) -> bool {
        match status {
            StatusName::Completed => !matches!(self, Self::Failed),
            StatusName::Failed => !matches!(self, Self::Completed),
            StatusName::Pending | StatusName::Active | StatusName::Waiting => false,
        }
    }
}

/// A dependency in a request body: an id, or an object with the required outcome.
#[derive(Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "must be the id of a task, or an object with `taskId` and `outcome` (completed, failed or any)"
)]
pub(crate) enum DependencyForm {
    /// The id of a task that must complete.
    Id(TaskId),
    /// A task with its required outcome.
    Object(DependencyObject),
}

/// A task with its required outcome.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DependencyObject {
    /// The task depended on.
    task_id: TaskId,
    /// The required outcome of that task; `completed` by default.
    #[serde(default)]
    outcome: DependencyOutcome,
}

impl From<DependencyForm> for Dependency {
    fn from(form: DependencyForm) -> Self {
        match form {
            DependencyForm::Id(task_id) => Self {
                task_id,
                outcome: DependencyOutcome::default(),
            },
            DependencyForm::Object(DependencyObject { task_id, outcome }) => {
                Self { task_id, outcome }
            }
        }
    }
}
