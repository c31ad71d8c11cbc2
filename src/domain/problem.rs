//! Everything that is wrong with what a caller sent, at once.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The field.
    pub field: String,
    /// What is wrong with it, and what it must be.
    pub message: String,
}

/// What is wrong, field by field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem {
            field: field.into(),
            message: message.into(),
        });
    }

    /// Returns a value if nothing is wrong.
    pub fn none_or<T>(self, value: impl FnOnce() -> T) -> Result<T, Self> {
        if self.0.is_empty() {
            Ok(value())
        } else {
            Err(self)
        }
    }
}

impl std::fmt::Display for Problems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, Problem { field, message }) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{field}: {message}")?;
        }
        Ok(())
    }
}
