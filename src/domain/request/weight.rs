//! Weights of a request: its priority and its effort.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// The urgency of a request; requests of a higher priority start first.
    #[derive(Default)]
    pub enum Priority {
        /// Before everything else.
        P0 = "P0",
        /// Soon.
        P1 = "P1",
        /// In turn.
        #[default]
        P2 = "P2",
    }
}

impl Priority {
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

wire_enum! {
    /// The estimated amount of work. Scheduling ignores it.
    pub enum Effort {
        /// Less than half an hour.
        S = "S",
        /// Up to two hours.
        M = "M",
        /// More than two hours.
        L = "L",
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
