//! Hand-offs that the agent of another hand-off asked for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::HandoffId;
use super::outcome::Outcome;
use super::run::RunState;
use crate::domain::{AgentName, TaskId, Timestamp};

/// A hand-off that the agent of another hand-off asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskedHandoff {
    /// The id of the hand-off.
    pub id: HandoffId,
    /// The task of the hand-off.
    pub task_id: TaskId,
    /// The agent that was asked, or to which control moved since.
    pub agent_name: AgentName,
    /// The start time.
    pub started_at: Timestamp,
    /// The outcome; null while the agent works.
    #[schema(required)]
    pub outcome: Option<Outcome>,
}

/// The present state of an open hand-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveHandoff {
    /// The state of the run; null while an external job works.
    #[schema(required)]
    pub run_state: Option<RunState>,
    /// The time of the last event of the task.
    pub last_progress_at: Timestamp,
    /// The open hand-offs that the agent waits for.
    pub waits_for: Vec<AskedHandoff>,
}
