//! Increments: work that is implemented, tested, fixed and verified by different agents.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::IncrementId;
use super::state::IncrementState;
use crate::domain::{Task, TaskWire, Text, Timestamp};

/// A piece of work that tests itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an increment")]
pub struct Increment {
    /// Its id.
    pub id: IncrementId,
    /// What it is, in a line.
    #[schema(value_type = String)]
    pub title: Text,
    /// What is to be done.
    #[schema(value_type = String)]
    pub description: Text,
    /// How it is tested.
    #[schema(required)]
    pub test_command: Option<Text>,
    /// Where it stands.
    pub state: IncrementState,
    /// How often it was given to a test.
    pub round: u32,
    /// Why it is blocked.
    #[schema(required)]
    pub blocked_by: Option<Text>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Increment {
    /// Says what does not fit together.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.title.is_blank() {
            return Err("`title` must not be empty");
        }
        if self.round == 0 {
            return Err("`round` begins with 1");
        }
        if (self.state == IncrementState::Blocked) != self.blocked_by.is_some() {
            return Err("`blockedBy` must be there if it is blocked, and only then");
        }
        Ok(())
    }
}

/// An increment with its tasks, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncrementTasks {
    /// The increment.
    #[serde(flatten)]
    pub increment: Increment,
    /// The increments that must be done before.
    pub depends_on: Vec<IncrementId>,
    /// Its tasks.
    #[schema(value_type = Vec<TaskWire>)]
    pub tasks: Vec<Task>,
}
