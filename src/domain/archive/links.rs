//! The links of a task and its hand-offs to other hand-offs, and the router's notes, in an archive.

use serde::{Deserialize, Serialize};

use crate::domain::{HandoffId, MessageId, RequestId, SpanId, TaskId, Timestamp};

/// The part of a task that its documented files do not contain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the links of a task")]
pub struct TaskLinks {
    /// Whether the agent that works on the task has set its context itself.
    pub context_own: bool,
    /// Whether no agent suits the task, as far as is known.
    pub unsuited: bool,
    /// Whether its agent was asked again for its report.
    pub asked_again: bool,
    /// The hand-off from which the limits count for the router.
    pub counted_from_handoff_id: Option<HandoffId>,
    /// The queued messages that are the prompt of their hand-off, and not only quoted there. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_messages: Vec<MessageId>,
    /// The hand-offs that have links.
    pub handoffs: Vec<HandoffLinks>,
}

/// The links of a hand-off to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the links of a hand-off")]
pub struct HandoffLinks {
    pub handoff_id: HandoffId,
    /// The hand-off whose agent waits for the end of this one.
    pub waiter_handoff_id: Option<HandoffId>,
    /// The hand-off that the waiting agent asked for, if control has moved since.
    pub asked_handoff_id: Option<HandoffId>,
    /// The hand-off from which the limits count; `None` for that one itself.
    pub counted_from_handoff_id: Option<HandoffId>,
    pub parent_span_id: Option<SpanId>,
    /// Whether the hand-off continues a conversation with a person. Absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chat: bool,
    pub reported_at: Option<Timestamp>,
    /// The requests that the agent has claimed by itself. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<RequestId>,
    /// Present if the waiting agent asked for this hand-off.
    pub delegation: Option<ArchivedDelegation>,
}

/// The question of the waiting agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a delegation")]
pub struct ArchivedDelegation {
    /// The task that the agent named.
    pub task_id: TaskId,
    /// Whether the agent waits for the answer, or has waited.
    pub awaited: bool,
    pub delivered_at: Option<Timestamp>,
}

impl HandoffLinks {
    /// Whether the hand-off has no links.
    pub fn is_empty(&self) -> bool {
        let Self {
            handoff_id: _,
            waiter_handoff_id,
            asked_handoff_id,
            counted_from_handoff_id,
            parent_span_id,
            chat,
            reported_at,
            claims,
            delegation,
        } = self;
        waiter_handoff_id.is_none()
            && asked_handoff_id.is_none()
            && counted_from_handoff_id.is_none()
            && parent_span_id.is_none()
            && !chat
            && reported_at.is_none()
            && claims.is_empty()
            && delegation.is_none()
    }
}
