//! Runs: executions of a hand-off by a process.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::HandoffId;
use super::outcome::Outcome;
use crate::domain::text::id;
use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{AgentName, TaskId, Timestamp};

id::id! {
    /// The id of a run.
    RunId
}

/// One execution of a hand-off; a hand-off may need several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Which run of its hand-off it is, from 1.
    pub attempt: u32,
    /// How far it has come.
    pub state: RunState,
    /// How it ended.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// When it was asked for.
    pub queued_at: Timestamp,
    /// When its process started.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
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

/// The run in whose name somebody asks: shown by the token that only its process has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// The run.
    pub run_id: RunId,
    /// The hand-off that it executes.
    pub handoff_id: HandoffId,
    /// The task that was handed off.
    pub task_id: TaskId,
    /// The agent that works.
    pub agent_name: AgentName,
}

/// The places for agents that work at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    pub free: u32,
    /// The runs of one mode that are queued for a slot.
    pub queued: u32,
}
