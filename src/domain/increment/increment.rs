//! Increments: work that different agents implement, test, fix and verify.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::IncrementId;
use super::state::IncrementState;
use crate::domain::{Task, TaskWire, Text, Timestamp};

/// A piece of work that passes through implementation, test, fix and verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an increment")]
pub struct Increment {
    /// The id of the increment.
    pub id: IncrementId,
    /// The title in one line.
    #[schema(value_type = String)]
    pub title: Text,
    /// The full description of the work.
    #[schema(value_type = String)]
    pub description: Text,
    /// The command that tests the increment.
    #[schema(required)]
    pub test_command: Option<Text>,
    /// The state of the increment.
    pub state: IncrementState,
    /// The current round of testing, from 1.
    pub round: u32,
    /// The reason for the block; null unless the increment is blocked.
    #[schema(required)]
    pub blocked_by: Option<Text>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

impl Increment {
    /// Checks an imported increment for contradictions.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.title.is_blank() {
            return Err("`title` must not be empty");
        }
        if self.round == 0 {
            return Err("`round` must be 1 or more");
        }
        if (self.state == IncrementState::Blocked) != self.blocked_by.is_some() {
            return Err("`blockedBy` must be set if and only if the state is blocked");
        }
        Ok(())
    }
}

/// An increment with its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncrementTasks {
    /// The increment.
    #[serde(flatten)]
    pub increment: Increment,
    /// The increments that must be done first.
    pub depends_on: Vec<IncrementId>,
    /// The tasks in order of creation.
    #[schema(value_type = Vec<TaskWire>)]
    pub tasks: Vec<Task>,
}
