//! Urgencies of mail.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// How soon a mail should be acknowledged.
    #[derive(Default)]
    pub enum Urgency {
        /// Within a week.
        Low = "low",
        /// Within a day.
        #[default]
        Normal = "normal",
        /// Within four hours.
        High = "high",
        /// Within an hour.
        Urgent = "urgent",
    }
}

impl Urgency {
    /// Returns the time allowed for an acknowledgement.
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
    fn urgent_mail_has_less_time() {
        let millis = Urgency::ALL.map(Urgency::ack_millis);
        assert!(millis.is_sorted_by(|less, more| less > more), "{millis:?}");
    }
}
