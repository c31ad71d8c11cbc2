//! Sentences about hand-offs that end with others.

use crate::domain::Outcome;

/// The note in a conversation whose queued messages are not sent.
pub fn messages_held(count: u64, why: &str) -> String {
    let (messages, stay) = match count {
        1 => ("message", "stays"),
        _ => ("messages", "stay"),
    };
    format!(
        "{count} {messages} {stay} queued: {why}. Send a message to continue, or take the queued ones back"
    )
}

/// The reason why queued messages are not sent after a hand-off.
pub const fn not_completed(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "the hand-off has completed",
        Outcome::Failed => "the hand-off has failed",
        Outcome::Cancelled => "the hand-off was cancelled",
        Outcome::TimedOut => "the hand-off has timed out",
        Outcome::Interrupted => "the hand-off was interrupted",
    }
}

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
