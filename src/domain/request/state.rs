//! The state machine of a request: needs → delegated or next → claimed → done.

use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{AgentName, HandoffId, RunIdentity};

wire_enum! {
    /// The state of a request.
    pub enum RequestState {
        /// Created; waits for the operator's approval.
        Needs = "needs",
        /// Approved for the dispatcher.
        Delegated = "delegated",
        /// Approved for the next agent or person that claims it.
        Next = "next",
        /// An agent or a person works on it.
        Claimed = "claimed",
        /// Finished, with a response.
        Done = "done",
    }
}

/// A step in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestMove {
    /// Approve for the dispatcher.
    Approve,
    /// Approve for the next agent or person that claims it.
    Next,
    Claim,
    Finish,
    /// Take the approval back; the operator decides again.
    Withdraw,
    /// End the claim; the operator decides again.
    Requeue,
    /// End the claim; the dispatcher tries again.
    Retry,
    /// Extend the lease.
    Heartbeat,
}

impl RequestState {
    /// Returns the state after a step, or `None` if the step is illegal here. This is the only transition table.
    pub const fn transition(self, step: RequestMove) -> Option<Self> {
        match (self, step) {
            (Self::Needs, RequestMove::Approve) | (Self::Claimed, RequestMove::Retry) => {
                Some(Self::Delegated)
            }
            (Self::Needs, RequestMove::Next) => Some(Self::Next),
            (Self::Delegated | Self::Next, RequestMove::Claim)
            | (Self::Claimed, RequestMove::Heartbeat) => Some(Self::Claimed),
            (Self::Claimed | Self::Needs, RequestMove::Finish) => Some(Self::Done),
            (Self::Delegated | Self::Next, RequestMove::Withdraw)
            | (Self::Claimed, RequestMove::Requeue) => Some(Self::Needs),
            _ => None,
        }
    }

    /// Returns whether the step is legal although the tag of the request was removed from its file: only steps towards an end are.
    pub const fn allows_untagged(self, step: RequestMove) -> bool {
        match self {
            Self::Claimed | Self::Done => true,
            Self::Needs => matches!(step, RequestMove::Finish | RequestMove::Withdraw),
            Self::Delegated | Self::Next => matches!(step, RequestMove::Withdraw),
        }
    }

    /// Whether the request is approved and not claimed yet.
    pub const fn is_approval(self) -> bool {
        matches!(self, Self::Delegated | Self::Next)
    }

    /// Whether a waiter for `wanted` can stop waiting: the state is reached or passed.
    pub const fn has_reached(self, wanted: Self) -> bool {
        match wanted {
            Self::Needs => matches!(self, Self::Needs),
            Self::Delegated | Self::Next => !matches!(self, Self::Needs),
            Self::Claimed => matches!(self, Self::Claimed | Self::Done),
            Self::Done => matches!(self, Self::Done),
        }
    }
}

/// The author of a change, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    Operator,
    /// A person on this machine, under a name of their choice.
    Person(String),
    /// An agent, identified by the token of its run.
    Run(RunIdentity),
    /// An agent whose run has ended.
    Agent(AgentName),
    Dispatcher,
    /// A tag in a file.
    File,
}

impl Actor {
    pub fn name(&self) -> &str {
        match self {
            Self::Operator => "operator",
            Self::Person(name) => name,
            Self::Run(run) => run.agent_name.as_str(),
            Self::Agent(name) => name.as_str(),
            Self::Dispatcher => "dispatcher",
            Self::File => "file",
        }
    }

    /// Whether the actor may move a request out of `needs`. A file belongs to the operator.
    pub const fn may_approve(&self) -> bool {
        matches!(self, Self::Operator | Self::File)
    }

    /// Whether the actor may end a claim. A run may end the claim of its own hand-off, or a claim under its agent's name.
    pub fn may_end_claim(&self, holder: Option<&AgentName>, handoff: Option<&HandoffId>) -> bool {
        match (self, handoff) {
            (Self::Run(run), Some(handoff)) => *handoff == run.handoff_id,
            (Self::Run(run), None) => holder == Some(&run.agent_name),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestMove::{Approve, Claim, Finish, Heartbeat, Next, Requeue, Retry, Withdraw};
    use super::*;

    #[test]
    fn only_the_listed_transitions_are_legal() {
        use RequestState as S;
        let legal = [
            (S::Needs, Approve, S::Delegated),
            (S::Needs, Next, S::Next),
            (S::Needs, Finish, S::Done),
            (S::Delegated, Claim, S::Claimed),
            (S::Next, Claim, S::Claimed),
            (S::Delegated, Withdraw, S::Needs),
            (S::Next, Withdraw, S::Needs),
            (S::Claimed, Finish, S::Done),
            (S::Claimed, Requeue, S::Needs),
            (S::Claimed, Retry, S::Delegated),
            (S::Claimed, Heartbeat, S::Claimed),
        ];
        for state in S::ALL {
            for step in [
                Approve, Next, Claim, Finish, Withdraw, Requeue, Retry, Heartbeat,
            ] {
                let expected = legal
                    .iter()
                    .find(|(from, by, _)| (*from, *by) == (state, step))
                    .map(|(_, _, to)| *to);
                assert_eq!(state.transition(step), expected, "{state:?} {step:?}");
            }
        }
    }

    #[test]
    fn a_request_without_its_tag_can_only_end() {
        use RequestState as S;
        for (state, step, expected) in [
            (S::Needs, Approve, false),
            (S::Needs, Next, false),
            (S::Needs, Finish, true),
            (S::Delegated, Claim, false),
            (S::Delegated, Finish, false),
            (S::Delegated, Withdraw, true),
            (S::Next, Claim, false),
            (S::Next, Withdraw, true),
            (S::Claimed, Finish, true),
            (S::Claimed, Requeue, true),
        ] {
            assert_eq!(state.allows_untagged(step), expected, "{state:?} {step:?}");
        }
    }

    #[test]
    fn only_the_operator_or_a_file_approves() {
        let run = RunIdentity {
            run_id: crate::domain::RunId::new(),
            handoff_id: HandoffId::new(),
            task_id: crate::domain::TaskId::new(),
            agent_name: "developer".parse().unwrap(),
        };
        assert!(Actor::Operator.may_approve());
        assert!(Actor::File.may_approve());
        for actor in [
            Actor::Person("operator".into()),
            Actor::Run(run),
            Actor::Dispatcher,
        ] {
            assert!(!actor.may_approve(), "{actor:?}");
        }
    }

    #[test]
    fn a_run_ends_only_its_own_claim() {
        let run = |handoff_id: &HandoffId| {
            Actor::Run(RunIdentity {
                run_id: crate::domain::RunId::new(),
                handoff_id: handoff_id.clone(),
                task_id: crate::domain::TaskId::new(),
                agent_name: "developer".parse().unwrap(),
            })
        };
        let (own, other) = (HandoffId::new(), HandoffId::new());
        let (me, other_agent) = (
            "developer".parse::<AgentName>().unwrap(),
            "qa".parse().unwrap(),
        );
        assert!(run(&own).may_end_claim(Some(&me), Some(&own)));
        assert!(!run(&own).may_end_claim(Some(&me), Some(&other)));
        assert!(run(&own).may_end_claim(Some(&me), None));
        assert!(!run(&own).may_end_claim(Some(&other_agent), None));
        assert!(!run(&own).may_end_claim(None, None));
        assert!(Actor::Operator.may_end_claim(Some(&other_agent), Some(&other)));
    }

    #[test]
    fn a_passed_state_counts_as_reached() {
        use RequestState as S;
        for state in S::ALL {
            assert!(state.has_reached(state));
            assert_eq!(state.has_reached(S::Done), state == S::Done);
            assert_eq!(state.has_reached(S::Needs), state == S::Needs);
        }
        assert!(S::Done.has_reached(S::Claimed));
        assert!(S::Claimed.has_reached(S::Next));
        assert!(!S::Needs.has_reached(S::Delegated));
    }
}
