//! Problems: all errors of an input, reported at once.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::Text;

/// The limit of reported problems.
const MOST: usize = 50;

/// The limit of a reported name or message in bytes, because both may repeat input of the caller.
const LONGEST: usize = 500;

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The name of the field.
    pub field: String,
    /// The error, and what the value must be.
    pub message: String,
}

/// The invalid fields of an input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds a problem; after the limit, a single `and more`.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        let short = |text: String| Text::lossy(text).beginning(LONGEST).into_string();
        match self.0.len() {
            0..MOST => self.0.push(Problem {
                field: short(field.into()),
                message: short(message.into()),
            }),
            MOST => self.0.push(Problem {
                field: "…".to_owned(),
                message: "and more".to_owned(),
            }),
            _ => {}
        }
    }

    /// Returns the value if there are no problems.
    pub fn into_result<T>(self, value: impl FnOnce() -> T) -> Result<T, Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_limited_in_number_and_size() {
        let mut problems = Problems::default();
        for number in 0..10_000 {
            problems.add(
                format!("{number}{}", "x".repeat(100_000)),
                "y".repeat(100_000),
            );
        }
        assert_eq!(problems.0.len(), MOST + 1);
        assert!(problems.to_string().len() < 60_000);
        assert!(problems.to_string().ends_with("; …: and more"));
    }
}
