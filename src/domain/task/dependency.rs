//! Dependencies: tasks that must end before another one is ready.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use super::status::StatusName;
use crate::domain::text::wire_enum::wire_enum;

/// A task that comes before another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", try_from = "DependencyForm")]
pub struct Dependency {
    /// The task that comes first.
    pub task_id: TaskId,
    /// How it must end.
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
    /// Tells whether a task that stands so has ended as it must.
    pub const fn is_met_by(self, status: StatusName) -> bool {
        match status {
            StatusName::Completed => !matches!(self, Self::Failed),
            StatusName::Failed => !matches!(self, Self::Completed),
            StatusName::Pending | StatusName::Active | StatusName::Waiting => false,
        }
    }
}

/// The two ways to write a dependency: the id alone, or with how it must end.
#[derive(Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "must be the id of a task, or an object with `taskId` and `outcome` (completed, failed or any)"
)]
pub(crate) enum DependencyForm {
    /// The id of a task that must complete.
    Id(TaskId),
    /// A task and how it must end.
    Object(DependencyObject),
}

/// A task and how it must end.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DependencyObject {
    /// The task that comes first.
    task_id: TaskId,
    /// How it must end; `completed` if it is not given.
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
