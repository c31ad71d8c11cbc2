//! Runs: executions of a hand-off by a process.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::HandoffId;
use super::outcome::Outcome;
use crate::domain::text::id;
use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{AgentName, TaskId, Text, Timestamp};

id::id! {
    /// The id of a run.
    RunId
}

/// An execution of a hand-off. A hand-off may need several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The id of the run.
    pub id: RunId,
    /// The number of the run within its hand-off, from 1.
    pub attempt: u32,
    /// The state of the run.
    pub state: RunState,
    /// The outcome.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// The time at which the run was queued.
    pub queued_at: Timestamp,
    /// The time at which its process started.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// The end time.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
    /// The time since which the agent's program has printed nothing but errors; null while it makes progress.
    #[serde(default)]
    #[schema(required)]
    pub failing_since: Option<Timestamp>,
    /// The last of these errors.
    #[serde(default)]
    #[schema(required)]
    pub last_error: Option<Text>,
    /// The tools that the agent tried to use and was not allowed to.
    #[serde(default)]
    #[schema(required)]
    pub denied_tools: Vec<String>,
}

wire_enum! {
    /// The state of a run.
    pub enum RunState {
        /// Waiting for a free slot.
        Queued = "queued",
        /// The process is running.
        Running = "running",
        /// The run has an outcome.
        Ended = "ended",
    }
}

/// The identity of a caller with a run token, which only the process of the run knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    pub run_id: RunId,
    pub handoff_id: HandoffId,
    pub task_id: TaskId,
    pub agent_name: AgentName,
}

/// The capacity for concurrent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    pub free: u32,
    /// The queued runs of one mode.
    pub queued: u32,
}
