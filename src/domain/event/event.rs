//! Events: the lines of a task's history.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{HandoffId, RequestId, TaskId, Text, Timestamp};

/// A task's events, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The events.
    pub events: Vec<Event>,
}

impl History {
    /// Leaves out the numbers, which only mean something in the database that gave them.
    #[must_use]
    pub fn without_numbers(mut self) -> Self {
        for event in &mut self.events {
            event.number = None;
        }
        self
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an event")]
pub struct Event {
    /// When it happened.
    pub timestamp: Timestamp,
    /// What happened.
    pub event_type: EventType,
    /// The details.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub data: BTreeMap<Cow<'static, str>, Text>,
    /// The hand-off that it is about; absent where it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub handoff_id: Option<HandoffId>,
    /// The request that it is about; absent where it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub request_id: Option<RequestId>,
    /// Its place among all events; absent in an archive, where the place in the file counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub number: Option<i64>,
    /// The task that it is about; absent where the surroundings say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub task_id: Option<TaskId>,
    /// The first task of the chain that the task belongs to, or the task itself; absent where `taskId` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub master_task_id: Option<TaskId>,
}

/// The name of what happened, such as `task_created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, example = "task_created")]
pub struct EventType(pub(super) Cow<'static, str>);

/// Says that an event has no type.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be a word without NUL characters")]
pub struct IllegalEventType;

impl EventType {
    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
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
