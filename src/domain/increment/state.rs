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

    /// Decides the state of an increment by the stages of its round: blocked while one has failed or waits for a person, done when
    /// all are completed, active otherwise.
    pub const fn of_round(has_stuck_stage: bool, has_incomplete_stage: bool) -> Self {
        match (has_stuck_stage, has_incomplete_stage) {
            (true, _) => Self::Blocked,
            (false, true) => Self::Active,
            (false, false) => Self::Done,
        }
    }

    /// Reads the word that stands for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_of_the_round_decide_the_state() {
        for (has_stuck, has_incomplete, state) in [
            (true, true, IncrementState::Blocked),
            (true, false, IncrementState::Blocked),
            (false, true, IncrementState::Active),
            (false, false, IncrementState::Done),
        ] {
            assert_eq!(IncrementState::of_round(has_stuck, has_incomplete), state);
        }
    }
}
