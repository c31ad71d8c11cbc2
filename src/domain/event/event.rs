//! Events: the entries of a task's history.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{HandoffId, RequestId, TaskId, Text, Timestamp};

/// The events of a task, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The events.
    pub events: Vec<Event>,
}

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an event")]
pub struct Event {
    /// The time of the event.
    pub timestamp: Timestamp,
    /// The type of the event.
    pub event_type: EventType,
    /// The details.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub data: BTreeMap<Cow<'static, str>, Text>,
    /// The hand-off of the event; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub handoff_id: Option<HandoffId>,
    /// The request of the event; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub request_id: Option<RequestId>,
    /// The position among all events; absent in archives of earlier versions, where the order in the file counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub number: Option<i64>,
    /// The task of the event; absent if the context makes it clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub task_id: Option<TaskId>,
    /// The root of the task's family, or the task itself; absent if `taskId` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub master_task_id: Option<TaskId>,
}

/// The type of an event, such as `task_created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, example = "task_created")]
pub struct EventType(pub(super) Cow<'static, str>);

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be a word without NUL characters")]
pub struct IllegalEventType;

impl EventType {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether events of this type end a hand-off.
    pub fn ends_handoff(&self) -> bool {
        matches!(
            self.as_str(),
            "agent_handoff_completed"
                | "agent_handoff_failed"
                | "agent_handoff_cancelled"
                | "agent_handoff_timed_out"
                | "agent_handoff_interrupted"
        )
    }
}

impl TryFrom<String> for EventType {
    type Error = IllegalEventType;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        if word.is_empty() || word.contains('\0') {
            return Err(IllegalEventType);
        }
        Ok(Self(word.into()))
    }
}
