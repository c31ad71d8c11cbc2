//! Stages of an increment, and the transitions between them.

use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{Minutes, Role, Skill, Text};

wire_enum! {
    /// A stage of an increment.
    pub enum Stage {
        /// Builds the increment.
        Implementation = "implementation",
        /// Tests the increment.
        Test = "test",
        /// Fixes the failures of a test or a verification.
        Fix = "fix",
        /// Compares the increment with its description.
        Verify = "verify",
    }
}

/// The transition after a stage has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To the next stage.
    Advance,
    /// To a new round that fixes the failure and tests again.
    OpenRound,
    /// The increment is verified.
    Finish,
    /// The operator must decide.
    Block,
}

impl Stage {
    /// Returns the transition after the stage succeeded or failed in a round.
    pub const fn step(self, is_well: bool, round: u32, max_rounds: u32) -> Step {
        match (self, is_well) {
            (Self::Verify, true) => Step::Finish,
            (_, true) => Step::Advance,
            (Self::Test | Self::Verify, false) if round < max_rounds => Step::OpenRound,
            (_, false) => Step::Block,
        }
    }

    /// Whether the agent must report a result.
    pub const fn wants_report(self) -> bool {
        matches!(self, Self::Test | Self::Verify)
    }

    pub fn role(self) -> Role {
        let role = match self {
            Self::Implementation => Role::IMPLEMENTATION,
            Self::Test => Role::TESTING,
            Self::Fix => Role::FIXING,
            Self::Verify => Role::VERIFICATION,
        };
        Role::parse(role).expect("a constant role is valid")
    }

    /// Returns a typical duration.
    pub fn estimate(self) -> Minutes {
        let minutes = match self {
            Self::Implementation => 120,
            Self::Test => 30,
            Self::Fix => 60,
            Self::Verify => 15,
        };
        Minutes::new(minutes).expect("a constant duration is valid")
    }

    /// Returns the tags of the increment and those of the stage. They include the role, so every agent with the role
    /// qualifies.
    pub fn tags(self, asked: &[Skill]) -> Vec<Skill> {
        let own: &[&str] = match self {
            Self::Implementation => &["implementation", "coding"],
            Self::Test => &["testing", "validation", "qa"],
            Self::Fix => &["fixing", "debugging", "troubleshooting"],
            Self::Verify => &["verification", "review", "approval"],
        };
        let own = own
            .iter()
            .map(|tag| Skill::parse(tag).expect("a constant skill is valid"));
        let mut tags = asked.to_vec();
        tags.extend(own.filter(|tag| !asked.contains(tag)));
        tags
    }

    /// Writes the description of the task.
    pub fn describe(self, title: &Text, description: &Text, test_command: Option<&Text>) -> Text {
        let command = test_command.map_or_else(String::new, |command| {
            format!("\n\nTest command: {command}")
        });
        let heading = match self {
            Self::Implementation => format!("{title}"),
            Self::Test => format!(
                "TEST: {title}\n\nTest whether the work is done as described. Do not change anything."
            ),
            Self::Fix => format!(
                "FIX: {title}\n\nFix the problems found by the test or the verification. Do not change anything else."
            ),
            Self::Verify => {
                format!(
                    "VERIFY: {title}\n\nVerify that the implemented and tested work does what the description asks for. Do not change anything."
                )
            }
        };
        let separator = if description.is_blank() { "" } else { "\n\n" };
        Text::lossy(format!("{heading}{separator}{description}{command}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_stage_decides_the_step() {
        use Stage::{Fix, Implementation, Test, Verify};
        use Step::{Advance, Block, Finish, OpenRound};
        for (stage, is_well, round, step) in [
            (Implementation, true, 1, Advance),
            (Implementation, false, 1, Block),
            (Test, true, 1, Advance),
            (Test, false, 1, OpenRound),
            (Test, false, 4, OpenRound),
            (Test, false, 5, Block),
            (Test, false, 6, Block),
            (Test, true, 5, Advance),
            (Fix, true, 2, Advance),
            (Fix, false, 2, Block),
            (Verify, true, 5, Finish),
            (Verify, false, 1, OpenRound),
            (Verify, false, 5, Block),
        ] {
            assert_eq!(
                stage.step(is_well, round, 5),
                step,
                "{stage:?} {is_well} {round}"
            );
        }
    }

    #[test]
    fn a_stage_has_its_role_and_the_tags_of_the_increment() {
        let rust = Skill::parse("rust").unwrap();
        for stage in Stage::ALL {
            let tags = stage.tags(std::slice::from_ref(&rust));
            assert_eq!(tags[0], rust);
            let role = stage.role();
            assert!(
                tags.iter().any(|tag| tag.as_str() == role.as_str()),
                "{stage:?}"
            );
        }
        let testing = Skill::parse("testing").unwrap();
        assert_eq!(Stage::Test.tags(&[testing]).len(), 3);
    }
}
