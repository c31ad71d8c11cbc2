//! Alerts: what a person must see until it is resolved.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::id;
use super::{TaskId, Text, Timestamp};

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

impl Alert {
    /// Says what does not fit together.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.message.as_str().is_empty() {
            return Err("`message` must not be empty");
        }
        if self.resolved_at.is_some() != self.resolved_by.is_some() {
            return Err("`resolvedAt` and `resolvedBy` belong together");
        }
        if self.file.is_some() != self.line.is_some() {
            return Err("`file` and `line` belong together");
        }
        if self.line == Some(0) {
            return Err("lines count from 1");
        }
        Ok(())
    }
}

/// Which alerts a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertQuery {
    /// Those that are resolved too.
    pub resolved: bool,
    /// Only those raised after this one.
    pub after: Option<AlertId>,
    /// At most so many.
    pub limit: u32,
}
