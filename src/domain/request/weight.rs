//! Priority and effort of a request.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// The urgency of a request: `P0` starts first.
    #[derive(Default)]
    pub enum Priority {
        /// Urgent.
        P0 = "P0",
        /// High.
        P1 = "P1",
        /// Normal.
        #[default]
        P2 = "P2",
    }
}

impl Priority {
    /// Returns the number stored in SQL; lower is more urgent.
    pub const fn number(self) -> i64 {
        self as i64
    }

    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.number() == number)
    }
}

wire_enum! {
    /// The estimated amount of work. It does not affect the order of dispatch.
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
    fn a_priority_survives_its_number() {
        for priority in Priority::ALL {
            assert_eq!(Priority::from_number(priority.number()), Some(priority));
        }
        assert_eq!(Priority::from_number(3), None);
    }
}
