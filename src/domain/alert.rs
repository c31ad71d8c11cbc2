//! Alerts: notices that stay visible until the operator resolves them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::id;
use super::{TaskId, Text, Timestamp};

id::id! {
    /// The id of an alert.
    AlertId
}

/// A notice that stays visible until the operator resolves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an alert")]
pub struct Alert {
    /// The id of the alert.
    pub id: AlertId,
    /// The text of the notice.
    #[schema(value_type = String)]
    pub message: Text,
    /// The task that the alert is about.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The file with the tag of the alert.
    #[schema(required, value_type = Option<String>)]
    pub file: Option<Text>,
    /// The line of the tag, from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// The time at which the alert was raised.
    pub raised_at: Timestamp,
    /// The agent or person that raised the alert.
    #[schema(value_type = String)]
    pub raised_by: Text,
    /// The time at which the alert was resolved; null while it is active.
    #[schema(required)]
    pub resolved_at: Option<Timestamp>,
    /// The name of the party that resolved the alert.
    #[schema(required, value_type = Option<String>)]
    pub resolved_by: Option<Text>,
}

impl Alert {
    /// Checks an imported alert for contradictions.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.message.as_str().is_empty() {
            return Err("`message` must not be empty");
        }
        if self.resolved_at.is_some() != self.resolved_by.is_some() {
            return Err("`resolvedAt` and `resolvedBy` must both be set or both be null");
        }
        if self.file.is_some() != self.line.is_some() {
            return Err("`file` and `line` must both be set or both be null");
        }
        if self.line == Some(0) {
            return Err("`line` must be 1 or more");
        }
        Ok(())
    }
}

/// A filter for lists of alerts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertQuery {
    /// Includes resolved alerts.
    pub resolved: bool,
    pub after: Option<AlertId>,
    pub limit: u32,
}
