//! The recovery of a request whose claim failed.

use super::kind_rule::{KindRule, MAX_ATTEMPTS};
use super::state::RequestMove;
use crate::domain::Outcome;

/// The next step of a request whose claim failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterFailure {
    pub step: RequestMove,
    /// Whether no attempts remain.
    pub stuck: bool,
}

impl AfterFailure {
    pub const LEFT_TO_OPERATOR: Self = Self {
        step: RequestMove::Requeue,
        stuck: false,
    };

    /// Decides whether to retry. A withdrawn or cancelled request is neither retried nor stuck.
    pub fn decide(
        rule: Option<&KindRule>,
        attempts: u32,
        is_withdrawn: bool,
        outcome: Option<Outcome>,
    ) -> Self {
        if is_withdrawn || outcome == Some(Outcome::Cancelled) {
            return Self::LEFT_TO_OPERATOR;
        }
        let stuck = attempts >= rule.map_or(MAX_ATTEMPTS, |rule| rule.max_attempts);
        let step = match rule {
            Some(rule) if rule.retry && !stuck => RequestMove::Retry,
            _ => RequestMove::Requeue,
        };
        Self { step, stuck }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind_rule::tests::rule;
    use super::*;

    const RETRY: AfterFailure = AfterFailure {
        step: RequestMove::Retry,
        stuck: false,
    };
    const STUCK: AfterFailure = AfterFailure {
        step: RequestMove::Requeue,
        stuck: true,
    };
    const OPERATOR: AfterFailure = AfterFailure::LEFT_TO_OPERATOR;

    #[test]
    fn a_failed_claim_is_retried_until_attempts_run_out() {
        let (again, once) = (rule(true, 3), rule(false, 3));
        for (rule, attempts, expected) in [
            (Some(&again), 1, RETRY),
            (Some(&again), 2, RETRY),
            (Some(&again), 3, STUCK),
            (Some(&again), 7, STUCK),
            (Some(&once), 1, OPERATOR),
            (Some(&once), 3, STUCK),
            (None, 1, OPERATOR),
            (None, 2, STUCK),
        ] {
            for outcome in [None, Some(Outcome::Failed), Some(Outcome::TimedOut)] {
                let after = AfterFailure::decide(rule, attempts, false, outcome);
                assert_eq!(after, expected, "{rule:?} {attempts} {outcome:?}");
            }
        }
    }

    #[test]
    fn a_cancelled_or_withdrawn_request_is_left_to_the_operator() {
        let rule = rule(true, 3);
        for attempts in 1..5 {
            for (is_withdrawn, outcome) in [
                (false, Some(Outcome::Cancelled)),
                (true, Some(Outcome::Cancelled)),
                (true, Some(Outcome::Failed)),
                (true, None),
            ] {
                let after = AfterFailure::decide(Some(&rule), attempts, is_withdrawn, outcome);
                assert_eq!(after, OPERATOR, "{attempts} {is_withdrawn} {outcome:?}");
            }
        }
    }
}
