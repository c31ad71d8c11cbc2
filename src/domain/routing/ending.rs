//! The next step after a hand-off by the router or on a stage of an increment.

use crate::domain::Outcome;

/// The facts about an ended hand-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent fact"
)]
pub struct EndedHandoff {
    /// Whether the router started the hand-off.
    pub is_routed: bool,
    /// Whether the task is a stage of an increment.
    pub is_stage: bool,
    /// Whether the task was ended by hand meanwhile.
    pub is_task_ended: bool,
    /// Whether the stage belongs to a finished round.
    pub is_round_over: bool,
    pub outcome: Outcome,
    /// Whether the run sent a report.
    pub has_report: bool,
    /// Whether the final message ends with a report.
    pub message_has_report: bool,
    /// Whether the agent must report.
    pub wants_report: bool,
    /// Whether the agent was already asked for the missing report.
    pub was_asked_again: bool,
    /// Whether the router may assign the task again.
    pub has_attempts_left: bool,
}

/// The next step for the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// The router did not start the hand-off, or the task was ended by hand.
    LeaveAlone,
    /// The stage fails together with its round.
    CloseStage,
    /// The stage waits for the operator, and the increment shows it.
    RefreshIncrement,
    /// The operator must decide, because the hand-off was cancelled.
    BlockAsCancelled,
    /// The report decides.
    FollowReport,
    /// The report at the end of the final message decides.
    FollowMessageReport,
    /// The router chooses an agent again.
    RouteAgain,
    /// The operator must decide, because all attempts have failed.
    BlockAsFailed,
    /// The task is completed; no report was required.
    Complete,
    /// The router asks the agent for the missing report.
    AskForReport,
    /// The operator must decide, because the agent sent no report even when asked.
    BlockWithoutReport,
}

impl EndedHandoff {
    pub const fn next_step(self) -> NextStep {
        let is_completed = matches!(self.outcome, Outcome::Completed);
        let message_has_report = self.message_has_report && is_completed;
        if (!self.is_routed && !self.is_stage) || self.is_task_ended {
            return NextStep::LeaveAlone;
        }
        if self.is_round_over {
            return NextStep::CloseStage;
        }
        // A stage needs a report to be decided, even if the router did not start the hand-off.
        if !self.is_routed && !self.has_report && !message_has_report {
            return NextStep::RefreshIncrement;
        }
        if matches!(self.outcome, Outcome::Cancelled) {
            return NextStep::BlockAsCancelled;
        }
        match (self.has_report, is_completed) {
            (true, _) => NextStep::FollowReport,
            (false, false) if self.has_attempts_left => NextStep::RouteAgain,
            (false, false) => NextStep::BlockAsFailed,
            (false, true) if message_has_report => NextStep::FollowMessageReport,
            (false, true) if !self.wants_report => NextStep::Complete,
            (false, true) if !self.was_asked_again => NextStep::AskForReport,
            (false, true) => NextStep::BlockWithoutReport,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTED: EndedHandoff = EndedHandoff {
        is_routed: true,
        is_stage: false,
        is_task_ended: false,
        is_round_over: false,
        outcome: Outcome::Completed,
        has_report: false,
        message_has_report: false,
        wants_report: false,
        was_asked_again: false,
        has_attempts_left: true,
    };

    const STAGE: EndedHandoff = EndedHandoff {
        is_stage: true,
        wants_report: true,
        ..ROUTED
    };

    #[test]
    fn each_ended_handoff_has_its_next_step() {
        use NextStep as Next;
        let by_person = EndedHandoff {
            is_routed: false,
            ..STAGE
        };
        let outcome = |outcome, of| EndedHandoff { outcome, ..of };
        for (number, (ended, next)) in [
            (ROUTED, Next::Complete),
            (
                EndedHandoff {
                    is_routed: false,
                    ..ROUTED
                },
                Next::LeaveAlone,
            ),
            (
                EndedHandoff {
                    is_task_ended: true,
                    is_round_over: true,
                    ..STAGE
                },
                Next::LeaveAlone,
            ),
            (
                EndedHandoff {
                    is_round_over: true,
                    has_report: true,
                    ..STAGE
                },
                Next::CloseStage,
            ),
            (by_person, Next::RefreshIncrement),
            (
                outcome(Outcome::Cancelled, by_person),
                Next::RefreshIncrement,
            ),
            (
                EndedHandoff {
                    has_report: true,
                    ..by_person
                },
                Next::FollowReport,
            ),
            (
                EndedHandoff {
                    message_has_report: true,
                    ..by_person
                },
                Next::FollowMessageReport,
            ),
            (
                EndedHandoff {
                    message_has_report: true,
                    ..outcome(Outcome::Failed, by_person)
                },
                Next::RefreshIncrement,
            ),
            (outcome(Outcome::Cancelled, ROUTED), Next::BlockAsCancelled),
            (
                EndedHandoff {
                    has_report: true,
                    ..outcome(Outcome::Cancelled, STAGE)
                },
                Next::BlockAsCancelled,
            ),
            (
                EndedHandoff {
                    has_report: true,
                    message_has_report: true,
                    ..STAGE
                },
                Next::FollowReport,
            ),
            (
                EndedHandoff {
                    has_report: true,
                    ..outcome(Outcome::TimedOut, STAGE)
                },
                Next::FollowReport,
            ),
            (outcome(Outcome::Failed, ROUTED), Next::RouteAgain),
            (outcome(Outcome::Interrupted, STAGE), Next::RouteAgain),
            (
                EndedHandoff {
                    has_attempts_left: false,
                    message_has_report: true,
                    ..outcome(Outcome::TimedOut, STAGE)
                },
                Next::BlockAsFailed,
            ),
            (STAGE, Next::AskForReport),
            (
                EndedHandoff {
                    was_asked_again: true,
                    ..STAGE
                },
                Next::BlockWithoutReport,
            ),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(ended.next_step(), next, "case {number}: {ended:?}");
        }
    }
}
