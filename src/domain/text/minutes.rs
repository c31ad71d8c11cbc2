//! Durations in minutes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One year.
const MOST_MINUTES: u32 = 525_600;

/// A duration in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "u32")]
#[schema(value_type = u32, minimum = 1, maximum = 525_600, example = 60)]
pub struct Minutes(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number of minutes, 1 to {MOST_MINUTES}")]
pub struct IllegalMinutes;

impl Minutes {
    pub const fn new(minutes: u32) -> Result<Self, IllegalMinutes> {
        if minutes == 0 || minutes > MOST_MINUTES {
            return Err(IllegalMinutes);
        }
        Ok(Self(minutes))
    }

    pub const fn get(self) -> u32 {
        self.0
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_limited_to_a_year() {
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
}
