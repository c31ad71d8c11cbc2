//! Skills: abilities of agents, and wanted abilities on tasks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::text::checked_string::checked_string;

const LONGEST_SKILL: usize = 64;

/// An ability of an agent, such as `python` or `c++`, in lowercase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = "^[^\\s,\\x00-\\x1f\\x7f-\\x9f]+$", example = "python")]
pub struct Skill(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a skill such as `python`: one word without commas, at most {LONGEST_SKILL} bytes")]
pub struct IllegalSkill;

impl Skill {
    /// Converts to lowercase.
    pub fn parse(word: impl AsRef<str>) -> Result<Self, IllegalSkill> {
        let skill = word.as_ref().to_lowercase();
        let is_legal = |c: char| !c.is_whitespace() && !c.is_control() && c != ',';
        if skill.is_empty() || skill.len() > LONGEST_SKILL || !skill.chars().all(is_legal) {
            return Err(IllegalSkill);
        }
        Ok(Self(skill))
    }
}

checked_string!(Skill, IllegalSkill);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_lowercase() {
        for skill in ["python", "C++", "node.js", "größe", "Problem-Solving"] {
            assert_eq!(
                Skill::parse(skill).unwrap().as_str(),
                skill.to_lowercase(),
                "{skill}"
            );
        }
        let long = "x".repeat(LONGEST_SKILL + 1);
        for skill in ["", " ", "a b", "a,b", "a\n", "\0", &long] {
            assert_eq!(Skill::parse(skill), Err(IllegalSkill), "{skill:?}");
        }
    }
}
