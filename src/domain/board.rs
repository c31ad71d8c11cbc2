//! The board: tasks in columns by status.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    AgentName, IncrementId, Role, Stage, Status, StatusName, TaskId, TaskPriority, Text, Timestamp,
};

/// A filter of the board. Only tasks that match all of it are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardFilter {
    /// A part of the description; the case of ASCII letters does not matter.
    pub text: Option<Text>,
    /// An agent that has had the task, or a task delegated from it.
    pub agent: Option<AgentName>,
    pub role: Option<Role>,
    pub session_id: Option<Text>,
    pub increment_id: Option<IncrementId>,
}

impl BoardFilter {
    /// Whether every task matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardQuery {
    pub filter: BoardFilter,
    /// The only column to show.
    pub status: Option<StatusName>,
    /// The position in that column after which its page begins.
    pub after: Option<BoardPlace>,
    /// The maximum number of cards per column.
    pub limit: u32,
}

/// A position in a column: the time of the last change, then the number of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardPlace {
    pub updated_at: i64,
    pub number: i64,
}

impl BoardPlace {
    /// The position before the first card.
    pub const START: Self = Self {
        updated_at: i64::MAX,
        number: i64::MAX,
    };

    /// Parses a cursor.
    pub fn parse(text: &str) -> Option<Self> {
        let (updated_at, number) = text.split_once('.')?;
        Some(Self {
            updated_at: updated_at.parse().ok()?,
            number: number.parse().ok()?,
        })
    }

    pub fn cursor(self) -> String {
        format!("{}.{}", self.updated_at, self.number)
    }
}

/// The tasks by status, last changed first, without the child tasks that were made for delegated hand-offs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Board {
    /// The columns: `pending`, `active`, `waiting`, `completed` and `failed`, or the one that was asked for.
    pub columns: Vec<BoardColumn>,
}

/// A page of the tasks with one status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BoardColumn {
    /// The status of the tasks.
    pub status: StatusName,
    /// The number of tasks in the whole column, as far as they were counted.
    pub total: u64,
    /// Whether the column may have more tasks than were counted; absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub more: bool,
    /// The cursor of the next page of this column, to be sent as `after`; null on the last page.
    #[schema(required)]
    pub next: Option<String>,
    /// The tasks of this page.
    pub cards: Vec<Card>,
}

/// A task on the board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// The id of the task.
    pub id: TaskId,
    /// The first 300 characters of the description.
    pub description: Text,
    /// The status of the task.
    pub status: Status,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The agent that works on the task now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
    /// The number of hand-offs of the task.
    pub chain_length: u64,
    /// The number of child tasks, counted up to 1000.
    pub children: u64,
    /// The end of the last message that an agent wrote on the task or below it: its last line, at most 200 characters.
    #[schema(required)]
    pub last_line: Option<String>,
    /// The cost of the ended runs of the task and of all tasks below it, in US dollars; null if none is known.
    #[schema(required)]
    pub cost_usd: Option<f64>,
    /// The role that the task needs.
    #[schema(required)]
    pub agent_role: Option<Role>,
    /// The urgency of the task.
    pub priority: TaskPriority,
    /// Whether the operator must decide before the work continues.
    pub blocked: bool,
    /// The reason why the router does not assign the task.
    #[schema(required)]
    pub waiting_reason: Option<Text>,
    /// The session of the task.
    #[schema(required)]
    pub session_id: Option<Text>,
    /// The increment of the task.
    #[schema(required)]
    pub increment_id: Option<IncrementId>,
    /// The stage of the increment.
    #[schema(required)]
    pub stage: Option<Stage>,
    /// The number of messages that wait for the next agent.
    pub queued: u64,
}

impl Card {
    /// The number of characters of a description that a card shows.
    pub const DESCRIPTION: u32 = 300;
    const LINE: usize = 200;

    /// Returns the last line of a message that is not blank, cut off at its end.
    pub fn last_line(message: &str) -> Option<String> {
        let line = message
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())?;
        Some(line.chars().take(Self::LINE).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_not_blank_and_not_long() {
        assert_eq!(Card::last_line("one\n two \n\n \n").as_deref(), Some("two"));
        assert_eq!(Card::last_line(" \n"), None);
        assert_eq!(Card::last_line(&"é".repeat(300)), Some("é".repeat(200)));
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let place = BoardPlace {
            updated_at: 1_767_225_600_000,
            number: 7,
        };
        assert_eq!(BoardPlace::parse(&place.cursor()), Some(place));
        for wrong in ["", "7", "7.", ".7", "a.b", "1.2.3"] {
            assert_eq!(BoardPlace::parse(wrong), None, "{wrong}");
        }
    }
}
