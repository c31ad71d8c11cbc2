//! The dispatcher's lists: requests that are worked on, wait, or will not be started.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind::Kind;
use super::kind_rule::KindMode;
use super::request::RequestId;
use super::weight::Priority;
use crate::domain::{AgentName, HandoffId, TaskId, Text, Timestamp};

/// A request that somebody works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchedRequest {
    /// Which.
    pub id: RequestId,
    /// What is to be done.
    #[schema(value_type = String)]
    pub title: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// Who works on it; null if a file says that somebody does.
    #[schema(required)]
    pub agent: Option<AgentName>,
    /// Since when.
    pub since: Timestamp,
    /// The task.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The hand-off, if the dispatcher began one.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// `queued`, `running`, or `job` for one that runs elsewhere; null if the server does not run it.
    #[schema(required)]
    pub run: Option<String>,
    /// Where it works.
    #[schema(required, value_type = Option<String>)]
    pub workspace: Option<Text>,
    /// What the command of an asynchronous route calls the job.
    #[schema(required, value_type = Option<String>)]
    pub job_id: Option<Text>,
    /// How often it was claimed.
    pub attempts: u32,
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    /// Which.
    pub id: RequestId,
    /// What is to be done.
    #[schema(value_type = String)]
    pub title: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// Since when.
    pub since: Timestamp,
    /// How often it was claimed.
    pub attempts: u32,
}

/// A kind with waiting requests that the dispatcher will not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKind {
    pub kind: Kind,
    pub count: u64,
    pub reason: HeldReason,
}

/// The reason why the dispatcher starts no request of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldReason {
    /// The kind has no rule.
    NoRule,
    /// A person takes requests of this kind.
    Interactive,
    /// The agent of the rule is not configured.
    AgentMissing(AgentName),
    /// The agent of the rule is not available.
    AgentUnavailable(AgentName),
}

impl HeldReason {
    /// Decides from the kind's rule, if it has one, and from the availability of its agent, if that is configured.
    pub fn decide(rule: Option<(AgentName, KindMode)>, available: Option<bool>) -> Self {
        match (rule, available) {
            (None, _) => Self::NoRule,
            (Some((_, KindMode::Interactive)), _) => Self::Interactive,
            (Some((agent, _)), None) => Self::AgentMissing(agent),
            (Some((agent, _)), Some(_)) => Self::AgentUnavailable(agent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_held_for_the_first_thing_that_is_missing() {
        let qa = || "qa".parse::<AgentName>().unwrap();
        let rule = |mode| Some((qa(), mode));
        for (rule, available, expected) in [
            (None, None, HeldReason::NoRule),
            (rule(KindMode::Interactive), None, HeldReason::Interactive),
            (
                rule(KindMode::Interactive),
                Some(true),
                HeldReason::Interactive,
            ),
            (rule(KindMode::Agent), None, HeldReason::AgentMissing(qa())),
            (rule(KindMode::Async), None, HeldReason::AgentMissing(qa())),
            (
                rule(KindMode::Agent),
                Some(false),
                HeldReason::AgentUnavailable(qa()),
            ),
        ] {
            assert_eq!(HeldReason::decide(rule, available), expected);
        }
    }
}
