//! Sentences about hand-offs that end with others.

use crate::domain::Outcome;

/// The output of a hand-off that was cancelled with the one whose agent waited for it.
pub fn taken_down(waiter: &str, outcome: Outcome) -> String {
    let end = match outcome {
        Outcome::Completed => "has completed its work",
        Outcome::Failed => "has failed",
        Outcome::Cancelled => "was cancelled",
        Outcome::TimedOut => "has timed out",
        Outcome::Interrupted => "was interrupted",
    };
    format!("Cancelled: {waiter}, which waited for the answer, {end}")
}
