//! Attention: everything that waits for a person.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    AlertId, HandoffId, IncrementId, MailId, Priority, RequestId, TaskId, Text, Timestamp,
};
use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// The reason why something waits for a person.
    pub enum AttentionKind {
        /// A request to approve.
        Request = "request",
        /// A request that failed too often.
        StuckRequest = "stuckRequest",
        /// A task that waits for a decision; a stage shows as its increment.
        BlockedTask = "blockedTask",
        /// An increment that waits for a decision.
        BlockedIncrement = "blockedIncrement",
        /// An alert that is not resolved.
        Alert = "alert",
        /// A mail to the operator that is not read.
        Mail = "mail",
        /// A mail that its recipient should have acknowledged by now.
        OverdueAcknowledgement = "overdueAcknowledgement",
        /// A hand-off that failed, timed out or was interrupted, without a later hand-off or status of its task.
        FailedRun = "failedRun",
    }
}

/// An item that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttentionItem {
    /// The kind of the item.
    pub kind: AttentionKind,
    /// The id of the item, which is unique in the list.
    pub id: String,
    /// Since when the item waits.
    pub at: Timestamp,
    /// The first 300 characters of the title, the description, the message or the subject.
    pub title: Text,
    /// Why the item waits: the first 1000 characters.
    #[schema(required)]
    pub reason: Option<Text>,
    /// The task.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The request.
    #[schema(required)]
    pub request_id: Option<RequestId>,
    /// The increment.
    #[schema(required)]
    pub increment_id: Option<IncrementId>,
    /// The alert.
    #[schema(required)]
    pub alert_id: Option<AlertId>,
    /// The mail.
    #[schema(required)]
    pub mail_id: Option<MailId>,
    /// The hand-off.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// The agent that failed, the sender of a mail, the recipient that owes an acknowledgement, or the name behind an alert.
    #[schema(required)]
    pub agent_name: Option<Text>,
    /// The priority of a request.
    #[schema(required)]
    pub priority: Option<Priority>,
}

/// Everything that waits for a person, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attention {
    /// The number of items, as far as they were counted: up to 1000 of each kind.
    pub total: u64,
    /// Whether there are more items than were counted; absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub more: bool,
    /// The items of this page.
    pub items: Vec<AttentionItem>,
}

/// A position among the items of one kind: two numbers by which these are sorted, greatest first.
pub type AttentionPlace = (i64, i64);

/// A position in the whole list: the position in each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionCursor([AttentionPlace; AttentionKind::ALL.len()]);

impl Default for AttentionCursor {
    /// The position before the first item.
    fn default() -> Self {
        Self([(i64::MAX, i64::MAX); AttentionKind::ALL.len()])
    }
}

impl AttentionCursor {
    pub const fn place(&self, kind: AttentionKind) -> AttentionPlace {
        self.0[kind as usize]
    }

    pub const fn pass(&mut self, kind: AttentionKind, place: AttentionPlace) {
        self.0[kind as usize] = place;
    }

    /// Parses the text of a cursor.
    pub fn parse(text: &str) -> Option<Self> {
        let mut cursor = Self::default();
        for part in text.split('~') {
            let mut numbers = part.split('.');
            let mut next = || numbers.next()?.parse::<i64>().ok();
            let (kind, place) = (next()?, (next()?, next()?));
            if numbers.next().is_some() {
                return None;
            }
            *cursor.0.get_mut(usize::try_from(kind).ok()?)? = place;
        }
        Some(cursor)
    }

    /// Writes the position of each kind that has been passed.
    pub fn text(&self) -> String {
        let passed = self.0.iter().enumerate();
        let passed = passed.filter(|(_, place)| **place != (i64::MAX, i64::MAX));
        let parts = passed.map(|(kind, (one, two))| format!("{kind}.{one}.{two}"));
        parts.collect::<Vec<_>>().join("~")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let mut cursor = AttentionCursor::default();
        cursor.pass(AttentionKind::Mail, (1_767_225_600_000, 7));
        cursor.pass(AttentionKind::Request, (3, 0));
        assert_eq!(cursor.text(), "0.3.0~5.1767225600000.7");
        assert_eq!(AttentionCursor::parse(&cursor.text()), Some(cursor));
        for wrong in [
            "", "0", "0.1", "0.1.2.3", "8.1.2", "-1.1.2", "0.a.2", "0.1.2~",
        ] {
            assert_eq!(AttentionCursor::parse(wrong), None, "{wrong}");
        }
    }
}
