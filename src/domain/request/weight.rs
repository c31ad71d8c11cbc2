//! Weights of a request: its priority and its effort.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How urgent a request is.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
pub enum Priority {
    /// Before everything else.
    P0,
    /// Soon.
    P1,
    /// In its turn.
    #[default]
    P2,
}

impl Priority {
    /// Every priority, the most urgent first.
    pub const ALL: [Self; 3] = [Self::P0, Self::P1, Self::P2];

    /// Returns the word that stands for it in JSON and tags.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P0 => "P0",
            Self::P1 => "P1",
            Self::P2 => "P2",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.as_str() == word)
    }

    /// Returns the number that stands for it in SQL: the lower, the more urgent.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Reads the number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.number() == number)
    }
}

/// How much work somebody thinks it is. Nothing depends on it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
pub enum Effort {
    /// Less than half an hour.
    S,
    /// Up to two hours.
    M,
    /// More than that.
    L,
}

impl Effort {
    /// Returns the letter that stands for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
        }
    }

    /// Reads the letter.
    pub fn parse(letter: &str) -> Option<Self> {
        [Self::S, Self::M, Self::L]
            .into_iter()
            .find(|effort| effort.as_str() == letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_read_as_they_are_written() {
        for priority in Priority::ALL {
            assert_eq!(Priority::parse(priority.as_str()), Some(priority));
            assert_eq!(Priority::from_number(priority.number()), Some(priority));
        }
        assert_eq!(Priority::from_number(3), None);
        assert_eq!(Priority::parse("p1"), None);
        assert_eq!(Effort::parse("M"), Some(Effort::M));
        assert_eq!(Effort::parse("XL"), None);
    }
}
