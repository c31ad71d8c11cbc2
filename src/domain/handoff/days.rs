//! Figures of hand-offs by day.

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{AgentName, TaskId, Timestamp};

const MILLIS: i64 = 86_400_000;

/// A day in UTC, counted from the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a day such as 2026-01-31")]
pub struct IllegalDay;

impl Day {
    pub const fn of(time: Timestamp) -> Self {
        Self(time.as_millis().div_euclid(MILLIS))
    }

    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    pub fn parse(text: &str) -> Result<Self, IllegalDay> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_| IllegalDay)?;
        // The year of a day that is written differently would be read differently.
        let day = Self(i64::from(
            date.num_days_from_ce() - epoch().num_days_from_ce(),
        ));
        (day.text() == text).then_some(day).ok_or(IllegalDay)
    }

    pub const fn start(self) -> Timestamp {
        Timestamp::from_millis(self.0 * MILLIS)
    }

    #[must_use]
    pub const fn plus(self, days: i64) -> Self {
        Self(self.0 + days)
    }

    /// Counts the days from another day on.
    pub const fn since(self, other: Self) -> i64 {
        self.0 - other.0
    }

    pub fn text(self) -> String {
        let days = i32::try_from(self.0).unwrap_or(i32::MAX / 2);
        let date = NaiveDate::from_num_days_from_ce_opt(epoch().num_days_from_ce() + days);
        date.map_or_else(String::new, |date| date.format("%Y-%m-%d").to_string())
    }
}

fn epoch() -> NaiveDate {
    NaiveDate::from_ymd_opt(1970, 1, 1).expect("the epoch is a day")
}

/// A choice of hand-offs by the day on which they started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayQuery {
    pub from: Day,
    /// The last day.
    pub to: Day,
    /// The target of the hand-offs.
    pub agent: Option<AgentName>,
    /// The task of the hand-offs, or one above it.
    pub task: Option<TaskId>,
}

/// Figures of the hand-offs that started on one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayFigures {
    /// The day in UTC.
    #[schema(example = "2026-01-31", pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    pub day: String,
    /// The number of hand-offs.
    pub handoffs: u64,
    /// The number of completed hand-offs.
    pub completed: u64,
    /// The number of hand-offs that failed, timed out or were interrupted.
    pub failed: u64,
    /// The cost in US dollars, as far as providers report it; null if none does.
    #[schema(required)]
    pub cost_usd: Option<f64>,
    /// The time for which agents worked, in seconds. Only ended hand-offs with an agent run count.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_it_was_written() {
        for text in ["1970-01-01", "2024-02-29", "2026-12-31", "1969-12-31"] {
            assert_eq!(Day::parse(text).unwrap().text(), text);
        }
        assert_eq!(
            Day::parse("1970-01-02").unwrap().start().as_millis(),
            MILLIS
        );
        assert_eq!(Day::of(Timestamp::from_millis(-1)).text(), "1969-12-31");
        for wrong in [
            "",
            "2026-02-30",
            "2026-1-1",
            "20260101",
            "+2026-01-01",
            "2026-01-01 ",
        ] {
            assert_eq!(Day::parse(wrong), Err(IllegalDay), "{wrong}");
        }
    }
}
