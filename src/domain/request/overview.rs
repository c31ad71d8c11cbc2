//! The dispatcher's lists: requests in progress, waiting requests and held kinds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind::Kind;
use super::kind_rule::KindMode;
use super::request::RequestId;
use super::weight::Priority;
use crate::domain::{AgentName, HandoffId, TaskId, Text, Timestamp};

/// A request in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchedRequest {
    /// The id of the request.
    pub id: RequestId,
    /// The work in one line.
    #[schema(value_type = String)]
    pub title: Text,
    /// The kind of work.
    pub kind: Kind,
    /// The urgency of the request.
    pub priority: Priority,
    /// The agent that works on the request; null if only a tag in a file claims it.
    #[schema(required)]
    pub agent: Option<AgentName>,
    /// The time of the claim.
    pub since: Timestamp,
    /// The task of the work.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The hand-off, if the dispatcher started one.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// `queued`, `running`, or `job` for an external job; null if the server does not run the work.
    #[schema(required)]
    pub run: Option<String>,
    /// The working directory.
    #[schema(required, value_type = Option<String>)]
    pub workspace: Option<Text>,
    /// The id of the external job, for a route of mode `async`.
    #[schema(required, value_type = Option<String>)]
    pub job_id: Option<Text>,
    /// The number of claims.
    pub attempts: u32,
}

/// A waiting request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    /// The id of the request.
    pub id: RequestId,
    /// The work in one line.
    #[schema(value_type = String)]
    pub title: Text,
    /// The kind of work.
    pub kind: Kind,
    /// The urgency of the request.
    pub priority: Priority,
    /// The start of the wait.
    pub since: Timestamp,
    /// The number of claims.
    pub attempts: u32,
    /// The reason why the last attempt failed; null if none has.
    #[schema(required, value_type = Option<String>)]
    pub last_failure: Option<Text>,
}

/// A kind with waiting requests that the dispatcher cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKind {
    pub kind: Kind,
    pub count: u64,
    pub reason: HeldReason,
}

/// The reason why the dispatcher starts no request of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldReason {
    NoRule,
    /// The kind is interactive, so the server starts nothing.
    Interactive,
    /// The agent of the rule is not configured.
    AgentMissing(AgentName),
    AgentUnavailable(AgentName),
}

impl HeldReason {
    /// Decides by the rule of the kind and the availability of its agent; `None` means that the rule or the agent is
    /// missing.
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
    fn the_first_missing_part_is_the_reason() {
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
