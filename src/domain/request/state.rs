//! The life of a request: needs → delegated or next → claimed → done.

use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{AgentName, HandoffId, RunIdentity};

wire_enum! {
    /// The state of a request.
    pub enum RequestState {
        /// Created; waits for a person to approve it.
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

/// What can be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestMove {
    /// Let the dispatcher start it.
    Approve,
    /// Leave it to whoever starts next on it.
    Next,
    /// Begin to work on it.
    Claim,
    /// Answer it.
    Finish,
    /// Give it up; a person looks again.
    Requeue,
    /// Give it up; the dispatcher tries again.
    Retry,
    /// Keep it.
    Heartbeat,
}

impl RequestState {
    /// Returns where a move leads, or nothing if it is not possible from here. No other place knows the order of states.
    pub const fn after(self, step: RequestMove) -> Option<Self> {
        match (self, step) {
            (Self::Needs, RequestMove::Approve) | (Self::Claimed, RequestMove::Retry) => {
                Some(Self::Delegated)
            }
            (Self::Needs, RequestMove::Next) => Some(Self::Next),
            (Self::Delegated | Self::Next, RequestMove::Claim)
            | (Self::Claimed, RequestMove::Heartbeat) => Some(Self::Claimed),
            (Self::Claimed | Self::Needs, RequestMove::Finish) => Some(Self::Done),
            (Self::Claimed, RequestMove::Requeue) => Some(Self::Needs),
            _ => None,
        }
    }

    /// Tells whether a person has approved it, and nobody works on it yet.
    pub const fn is_approval(self) -> bool {
        matches!(self, Self::Delegated | Self::Next)
    }

    /// Tells whether whoever waits for a state need not wait any more: it is there, or it has been passed.
    pub const fn has_reached(self, wanted: Self) -> bool {
        match wanted {
            Self::Needs => matches!(self, Self::Needs),
            Self::Delegated | Self::Next => !matches!(self, Self::Needs),
            Self::Claimed => matches!(self, Self::Claimed | Self::Done),
            Self::Done => matches!(self, Self::Done),
        }
    }
}

/// Who moves a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The person whose token it is.
    Operator,
    /// Somebody on this machine, by the name that they give.
    Person(String),
    /// An agent, by its run's token.
    Run(RunIdentity),
    /// An agent whose work has ended.
    Agent(AgentName),
    /// The server itself.
    Dispatcher,
    /// Whoever changed the file.
    File,
}

impl Actor {
    /// Returns the name that is written down.
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

    /// Tells whether this one may move a request out of `needs`. A person owns the file.
    pub const fn may_approve(&self) -> bool {
        matches!(self, Self::Operator | Self::File)
    }

    /// Tells whether this one may end a claim. A run may end that of its own hand-off, or one that it made itself by its name.
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
    use super::RequestMove::{Approve, Claim, Finish, Heartbeat, Next, Requeue, Retry};
    use super::*;

    #[test]
    fn every_move_from_every_state_leads_where_it_should_or_nowhere() {
        use RequestState as S;
        let legal = [
            (S::Needs, Approve, S::Delegated),
            (S::Needs, Next, S::Next),
            (S::Needs, Finish, S::Done),
            (S::Delegated, Claim, S::Claimed),
            (S::Next, Claim, S::Claimed),
            (S::Claimed, Finish, S::Done),
            (S::Claimed, Requeue, S::Needs),
            (S::Claimed, Retry, S::Delegated),
            (S::Claimed, Heartbeat, S::Claimed),
        ];
        for state in S::ALL {
            for step in [Approve, Next, Claim, Finish, Requeue, Retry, Heartbeat] {
                let expected = legal
                    .iter()
                    .find(|(from, by, _)| (*from, *by) == (state, step))
                    .map(|(_, _, to)| *to);
                assert_eq!(state.after(step), expected, "{state:?} {step:?}");
            }
        }
    }

    #[test]
    fn only_an_operator_or_the_file_approves() {
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
    fn a_run_ends_no_claim_but_its_own() {
        let run = |handoff_id: &HandoffId| {
            Actor::Run(RunIdentity {
                run_id: crate::domain::RunId::new(),
                handoff_id: handoff_id.clone(),
                task_id: crate::domain::TaskId::new(),
                agent_name: "developer".parse().unwrap(),
            })
        };
        let (own, other) = (HandoffId::new(), HandoffId::new());
        let (me, somebody) = (
            "developer".parse::<AgentName>().unwrap(),
            "qa".parse().unwrap(),
        );
        assert!(run(&own).may_end_claim(Some(&me), Some(&own)));
        assert!(!run(&own).may_end_claim(Some(&me), Some(&other)));
        assert!(run(&own).may_end_claim(Some(&me), None));
        assert!(!run(&own).may_end_claim(Some(&somebody), None));
        assert!(!run(&own).may_end_claim(None, None));
        assert!(Actor::Operator.may_end_claim(Some(&somebody), Some(&other)));
    }

    #[test]
    fn what_has_been_passed_is_not_waited_for() {
        use RequestState as S;
        for state in S::ALL {
            assert!(state.has_reached(state));
            assert_eq!(state.has_reached(S::Done), state == S::Done);
            assert_eq!(state.has_reached(S::Needs), state == S::Needs);
            assert_eq!(S::parse(state.as_str()), Some(state));
        }
        assert!(S::Done.has_reached(S::Claimed));
        assert!(S::Claimed.has_reached(S::Next));
        assert!(!S::Needs.has_reached(S::Delegated));
        assert_eq!(S::parse("Needs"), None);
    }
}
