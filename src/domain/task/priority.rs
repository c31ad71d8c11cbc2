//! Priorities of tasks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The urgency of a task: 0 (most urgent) to 4. Input may also be `P0` to `P4`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "PriorityForm")]
#[schema(value_type = u8, minimum = 0, maximum = 4, default = 2)]
pub struct TaskPriority(u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 0 (most urgent) to 4, or P0 to P4")]
pub struct IllegalPriority;

#[derive(Deserialize)]
#[serde(untagged, expecting = "must be 0 (most urgent) to 4, or P0 to P4")]
enum PriorityForm {
    Number(u8),
    Word(String),
}

impl TaskPriority {
    /// Every priority, most urgent first.
    pub const ALL: [Self; 5] = [Self(0), Self(1), Self(2), Self(3), Self(4)];

    pub fn new(number: u32) -> Result<Self, IllegalPriority> {
        Self::ALL
            .into_iter()
            .find(|priority| u32::from(priority.0) == number)
            .ok_or(IllegalPriority)
    }

    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for TaskPriority {
    fn default() -> Self {
        Self(2)
    }
}

impl std::str::FromStr for TaskPriority {
    type Err = IllegalPriority;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let number = word.strip_prefix(['P', 'p']).unwrap_or(word);
        let number = number.parse().map_err(|_| IllegalPriority)?;
        Self::new(number)
    }
}

impl TryFrom<PriorityForm> for TaskPriority {
    type Error = IllegalPriority;

    fn try_from(form: PriorityForm) -> Result<Self, Self::Error> {
        match form {
            PriorityForm::Number(number) => Self::new(number.into()),
            PriorityForm::Word(word) => word.parse(),
        }
    }
}
