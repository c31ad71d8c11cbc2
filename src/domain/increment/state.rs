//! States of increments.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where an increment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum IncrementState {
    /// It is worked on, or waits for those before it.
    Active,
    /// It is verified.
    Done,
    /// A person must look.
    Blocked,
}

impl IncrementState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Active, Self::Done, Self::Blocked];

    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Done => "done",
            Self::Blocked => "blocked",
        }
    }

    /// Reads the word that stands for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}
