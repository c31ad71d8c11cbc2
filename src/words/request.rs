//! Words about requests.

use crate::domain::{AfterFailure, HeldReason, Kind, RequestMove, Text};

/// The reason why a state that somebody wrote into a file does not count.
pub const FILES_DO_NOT_APPROVE: &str =
    "files do not approve here (--no-file-approval); the tag is put back";

/// Explains why the dispatcher starts no request of a kind, and what to do.
pub fn held_reason(kind: &Kind, reason: &HeldReason) -> String {
    match reason {
        HeldReason::NoRule => format!(
            "The kind {kind} has no route: add one with `chorus request routes --set FILE`, or PUT /api/dispatch/routes"
        ),
        HeldReason::Interactive => {
            "Its route is interactive: take it with `chorus request claim`".to_owned()
        }
        HeldReason::AgentMissing(agent) => {
            format!("The agent {agent} of its route is not configured: change the route")
        }
        HeldReason::AgentUnavailable(agent) => {
            format!("The agent {agent} of its route is not available")
        }
    }
}

/// Describes the next step of a request whose claim came to nothing, after this many attempts.
pub fn recovery_action(after: AfterFailure, attempts: u32) -> Text {
    Text::lossy(match after {
        AfterFailure { stuck: true, .. } => {
            format!("Stopped after attempt {attempts}: it is stuck until a person looks at it")
        }
        AfterFailure {
            step: RequestMove::Retry,
            ..
        } => format!("Re-queued for attempt {}", attempts + 1),
        AfterFailure { .. } => "Re-queued for a person to look at".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_says_what_happens_next() {
        let after = |step, stuck| AfterFailure { step, stuck };
        for (after, expected) in [
            (after(RequestMove::Retry, false), "Re-queued for attempt 3"),
            (
                AfterFailure::LEFT_TO_PERSON,
                "Re-queued for a person to look at",
            ),
            (
                after(RequestMove::Requeue, true),
                "Stopped after attempt 2: it is stuck until a person looks at it",
            ),
        ] {
            assert_eq!(recovery_action(after, 2).as_str(), expected);
        }
    }

    #[test]
    fn a_held_kind_names_what_is_missing() {
        let kind: Kind = "fix".parse().unwrap();
        let qa = || "qa".parse().unwrap();
        for (reason, subject) in [
            (HeldReason::NoRule, "The kind fix has no route"),
            (HeldReason::Interactive, "`chorus request claim`"),
            (
                HeldReason::AgentMissing(qa()),
                "qa of its route is not configured",
            ),
            (
                HeldReason::AgentUnavailable(qa()),
                "qa of its route is not available",
            ),
        ] {
            let sentence = held_reason(&kind, &reason);
            assert!(sentence.contains(subject), "{sentence}");
        }
    }
}
