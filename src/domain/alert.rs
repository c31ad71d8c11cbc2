//! Alerts: what a person must see until it is resolved.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{TaskId, Text, Timestamp, id};

id::id! {
    /// The id of an alert.
    AlertId
}

/// Something that a person must see until it is resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an alert")]
pub struct Alert {
    /// Its id.
    pub id: AlertId,
    /// What must be seen.
    #[schema(value_type = String)]
    pub message: Text,
    /// The task that it is about.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The file that has its tag.
    #[schema(required, value_type = Option<String>)]
    pub file: Option<Text>,
    /// The line of the tag, from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// Who raised it.
    #[schema(value_type = String)]
    pub raised_by: Text,
    /// When it was resolved; null while it is active.
    #[schema(required)]
    pub resolved_at: Option<Timestamp>,
    /// Who resolved it.
    #[schema(required, value_type = Option<String>)]
    pub resolved_by: Option<Text>,
}
