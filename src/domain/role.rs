//! Roles, skills and spans of time: what a task needs, and what an agent offers.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::word::word;

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

/// The longest skill.
const LONGEST_SKILL: usize = 64;

/// What somebody is good at, such as `python` or `c++`. Its case does not matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = "^[!-+\\--~\u{a0}-\u{10ffff}]+$", example = "python")]
pub struct Skill(String);

/// Says why a word cannot be a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a skill such as `python`: one word without commas, at most {LONGEST_SKILL} bytes")]
pub struct IllegalSkill;

impl Skill {
    /// Reads a skill, in small letters.
    pub fn parse(word: &str) -> Result<Self, IllegalSkill> {
        let skill = word.to_lowercase();
        let is_legal = |c: char| !c.is_whitespace() && !c.is_control() && c != ',';
        if skill.is_empty() || skill.len() > LONGEST_SKILL || !skill.chars().all(is_legal) {
            return Err(IllegalSkill);
        }
        Ok(Self(skill))
    }

    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Skill {
    type Error = IllegalSkill;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        Self::parse(&word)
    }
}

impl std::str::FromStr for Skill {
    type Err = IllegalSkill;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::parse(word)
    }
}

impl std::fmt::Display for Skill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The longest span: a year.
const MOST_MINUTES: u32 = 525_600;

/// A span of time in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "u32")]
#[schema(value_type = u32, minimum = 1, maximum = 525_600, example = 60)]
pub struct Minutes(u32);

/// Says why a number cannot be a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number of minutes, 1 to {MOST_MINUTES}")]
pub struct IllegalMinutes;

impl Minutes {
    /// Reads a number of minutes.
    pub const fn new(minutes: u32) -> Result<Self, IllegalMinutes> {
        if minutes == 0 || minutes > MOST_MINUTES {
            return Err(IllegalMinutes);
        }
        Ok(Self(minutes))
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns how many seconds that are.
    pub const fn seconds(self) -> u64 {
        self.0 as u64 * 60
    }
}

impl TryFrom<u32> for Minutes {
    type Error = IllegalMinutes;

    fn try_from(minutes: u32) -> Result<Self, Self::Error> {
        Self::new(minutes)
    }
}

impl std::str::FromStr for Minutes {
    type Err = IllegalMinutes;

    fn from_str(minutes: &str) -> Result<Self, Self::Err> {
        minutes
            .parse()
            .map_err(|_| IllegalMinutes)
            .and_then(Self::new)
    }
}

impl std::fmt::Display for Minutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// How many roles or skills there may be in one list.
const MOST_WORDS: usize = 50;

/// Reads a list in which everything stands once, in the order in which it was first named.
pub(super) fn distinct<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + PartialEq,
{
    let mut all = Vec::new();
    for item in Vec::deserialize(deserializer)? {
        if !all.contains(&item) {
            all.push(item);
        }
        if all.len() > MOST_WORDS {
            return Err(serde::de::Error::custom(format_args!(
                "must not have more than {MOST_WORDS} different words"
            )));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_of_a_skill_does_not_matter() {
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

    #[test]
    fn a_span_has_an_end() {
        for (minutes, is_legal) in [
            ("1", true),
            ("525600", true),
            ("0", false),
            ("525601", false),
            ("-1", false),
            ("1.5", false),
        ] {
            assert_eq!(minutes.parse::<Minutes>().is_ok(), is_legal, "{minutes}");
        }
    }

    #[test]
    fn a_list_names_everything_once() {
        #[derive(Deserialize)]
        struct List(#[serde(deserialize_with = "distinct")] Vec<Skill>);
        let List(skills) = serde_json::from_str(r#"["b", "A", "B", "a"]"#).unwrap();
        assert_eq!(skills, ["b", "a"].map(|word| Skill::parse(word).unwrap()));
        let many: Vec<_> = (0..=MOST_WORDS).map(|n| n.to_string()).collect();
        let many = serde_json::to_string(&many).unwrap();
        assert!(serde_json::from_str::<List>(&many).is_err());
    }
}
