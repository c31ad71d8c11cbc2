//! Sentences about requests.

use crate::domain::{AfterFailure, AgentName, HeldReason, Kind, Outcome, RequestMove, Text};

/// The reason why a state that was written into a file is ignored.
pub const FILES_DO_NOT_APPROVE: &str =
    "approval in files is off (--no-file-approval); the tag is restored";

/// The failure of a claim whose agent ended without a response.
pub fn claim_left(agent: Option<&AgentName>, outcome: Outcome) -> Text {
    let agent = agent.map_or_else(String::new, |agent| format!(" {agent}"));
    let outcome = outcome.as_str();
    Text::lossy(format!(
        "Agent{agent} claimed the request and ended without a response. Its hand-off: {outcome}"
    ))
}

/// Explains why the dispatcher starts no request of a kind, and what to do.
pub fn held_reason(kind: &Kind, reason: &HeldReason) -> String {
    match reason {
        HeldReason::NoRule => format!(
            "Kind {kind} has no rule. Add one with `chorus request kinds --set FILE` or PUT /api/dispatch/routes"
        ),
        HeldReason::Interactive => {
            format!("Kind {kind} is interactive. Claim its requests with `chorus request claim`")
        }
        HeldReason::AgentMissing(agent) => {
            format!(
                "Agent {agent} of kind {kind} does not exist. Create it, or change the rule of the kind"
            )
        }
        HeldReason::AgentUnavailable(agent) => {
            format!(
                "Agent {agent} of kind {kind} is not available. Make it available, or change the rule of the kind"
            )
        }
    }
}

/// Describes the next step of a request whose claim has failed for the nth time.
pub fn recovery_action(after: AfterFailure, attempts: u32) -> Text {
    Text::lossy(match after {
        AfterFailure { stuck: true, .. } => {
            format!(
                "Stopped after attempt {attempts}: the request is stuck and waits for the operator"
            )
        }
        AfterFailure {
            step: RequestMove::Retry,
            ..
        } => format!("Re-queued for attempt {}", attempts + 1),
        AfterFailure { .. } => "Re-queued for a decision by the operator".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_names_the_next_step() {
        let after = |step, stuck| AfterFailure { step, stuck };
        for (after, expected) in [
            (after(RequestMove::Retry, false), "Re-queued for attempt 3"),
            (
                AfterFailure::LEFT_TO_OPERATOR,
                "Re-queued for a decision by the operator",
            ),
            (
                after(RequestMove::Requeue, true),
                "Stopped after attempt 2: the request is stuck and waits for the operator",
            ),
        ] {
            assert_eq!(recovery_action(after, 2).as_str(), expected);
        }
    }

    #[test]
    fn a_held_kind_names_its_obstacle() {
        let kind: Kind = "fix".parse().unwrap();
        let qa = || "qa".parse().unwrap();
        for (reason, subject) in [
            (HeldReason::NoRule, "Kind fix has no rule"),
            (HeldReason::Interactive, "`chorus request claim`"),
            (
                HeldReason::AgentMissing(qa()),
                "Agent qa of kind fix does not exist",
            ),
            (
                HeldReason::AgentUnavailable(qa()),
                "Agent qa of kind fix is not available",
            ),
        ] {
            let sentence = held_reason(&kind, &reason);
            assert!(sentence.contains(subject), "{sentence}");
        }
    }
}
