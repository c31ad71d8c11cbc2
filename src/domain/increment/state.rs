//! States of increments.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// The state of an increment.
    pub enum IncrementState {
        /// In progress, or waiting for increments that it depends on.
        Active = "active",
        /// Verified.
        Done = "done",
        /// Stopped until the operator decides.
        Blocked = "blocked",
    }
}

impl IncrementState {
    /// Derives the state from the stages of the current round: blocked if one is stuck, done if all are complete.
    pub const fn of_round(has_stuck_stage: bool, has_incomplete_stage: bool) -> Self {
        match (has_stuck_stage, has_incomplete_stage) {
            (true, _) => Self::Blocked,
            (false, true) => Self::Active,
            (false, false) => Self::Done,
        }
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
