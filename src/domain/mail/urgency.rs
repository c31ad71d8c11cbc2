//! Urgencies: how soon mail must be acknowledged.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How soon a mail is to be looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Within a week.
    Low,
    /// Within a day.
    #[default]
    Normal,
    /// Within four hours.
    High,
    /// Within an hour.
    Urgent,
}

impl Urgency {
    /// Every urgency, the least urgent first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.as_str() == word)
    }

    /// Returns how many milliseconds an acknowledgement may take.
    pub const fn ack_millis(self) -> i64 {
        const HOUR: i64 = 60 * 60 * 1000;
        match self {
            Self::Low => 7 * 24 * HOUR,
            Self::Normal => 24 * HOUR,
            Self::High => 4 * HOUR,
            Self::Urgent => HOUR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_the_same_in_json_and_sql() {
        for each in Urgency::ALL {
            assert_eq!(serde_json::to_value(each).unwrap(), each.as_str());
            assert_eq!(Urgency::parse(each.as_str()), Some(each));
        }
    }

    #[test]
    fn what_is_more_urgent_may_take_less_time() {
        let millis = Urgency::ALL.map(Urgency::ack_millis);
        assert!(millis.is_sorted_by(|less, more| less > more), "{millis:?}");
    }
}
