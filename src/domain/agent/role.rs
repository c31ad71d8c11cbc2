//! Roles: the part that an agent plays.

use crate::domain::text::word::word;

word! {
    /// What part somebody plays: `implementation`, `testing`, `fixing`, `verification`, or one that a user defined.
    Role, IllegalRole, "a role", "testing"
}

impl Role {
    /// Writes what is asked for.
    pub const IMPLEMENTATION: &'static str = "implementation";
    /// Says whether it works.
    pub const TESTING: &'static str = "testing";
    /// Mends what does not.
    pub const FIXING: &'static str = "fixing";
    /// Says whether it is what was asked for.
    pub const VERIFICATION: &'static str = "verification";

    /// Tells whether it judges what others made.
    pub fn judges(&self) -> bool {
        matches!(self.as_str(), Self::TESTING | Self::VERIFICATION)
    }

    /// Tells whether it makes what others judge.
    pub fn makes(&self) -> bool {
        matches!(self.as_str(), Self::IMPLEMENTATION | Self::FIXING)
    }
}
