//! Roles of agents.

use crate::domain::text::word::word;

word! {
    /// The role of an agent: `implementation`, `testing`, `fixing`, `verification`, or a word of your choice.
    Role, IllegalRole, "a role", "testing"
}

impl Role {
    pub const IMPLEMENTATION: &'static str = "implementation";
    pub const TESTING: &'static str = "testing";
    pub const FIXING: &'static str = "fixing";
    pub const VERIFICATION: &'static str = "verification";

    /// Whether the role evaluates the work of others.
    pub fn evaluates_work(&self) -> bool {
        matches!(self.as_str(), Self::TESTING | Self::VERIFICATION)
    }

    /// Whether the role produces work that others evaluate.
    pub fn produces_work(&self) -> bool {
        matches!(self.as_str(), Self::IMPLEMENTATION | Self::FIXING)
    }
}
