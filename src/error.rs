//! The one error of the middle: what an operation of the engine can end with.
//!
//! Each edge (HTTP, command line) maps it once. The text of an internal cause never leaves the process.

use crate::domain::{Choice, Problems, Refusal, RefusalClass};
use crate::store::StoreError;
use crate::words;

/// Why an operation was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule forbids it.
    #[error("{}", words::refusal(.0))]
    Refused(Refusal),
    /// Something that was named is not there.
    #[error("{0}")]
    NotFound(String),
    /// A body, or a field of it, is not what it must be.
    #[error("{0}")]
    InvalidBody(String),
    /// Fields of a body are not what they must be.
    #[error("{0}")]
    InvalidFields(Problems),
    /// A conversation cannot move.
    #[error("{problems}")]
    Handoff {
        /// Who was to hand to whom.
        context: String,
        /// Everything that is wrong.
        problems: Problems,
    },
    /// A query parameter or a header is not what it must be.
    #[error("{0}")]
    InvalidQuery(String),
    /// Something is over its limit.
    #[error("{}", words::too_large(what, *limit))]
    TooLarge {
        /// What.
        what: &'static str,
        /// How many bytes are allowed.
        limit: usize,
    },
    /// This caller may not do it.
    #[error("{0}")]
    Forbidden(String),
    /// A token is needed.
    #[error("{0}")]
    Unauthorized(String),
    /// The path is there, but not for this method.
    #[error("{0}")]
    MethodNotAllowed(String),
    /// The router gives a task to no agent.
    #[error("Task {} was given to nobody: {}", .0.task_id, .0.waits.as_ref().map(words::wait_reason).unwrap_or_default())]
    NotRouted(Box<Choice>),
    /// Ours.
    #[error("Something went wrong inside Chorus; the log has the cause")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns the stable word that programs look at.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal_code(refusal),
            Self::NotFound(_) => "NOT_FOUND",
            Self::NotRouted(_) => "CONFLICT",
            Self::InvalidBody(_) | Self::InvalidFields(_) => "INVALID_BODY",
            Self::Handoff { .. } => "HANDOFF_ERROR",
            Self::InvalidQuery(_) => "INVALID_QUERY",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::Forbidden(_) => "FORBIDDEN",
            Self::Unauthorized(_) => "UNAUTHORIZED",
            Self::MethodNotAllowed(_) => "METHOD_NOT_ALLOWED",
            Self::Internal(_) => "INTERNAL",
        }
    }

    /// Says that something is not there, in the words that every door uses.
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::NotFound(format!("{what} not found: {id}"))
    }

    /// Hides a cause that is ours.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }
}

fn refusal_code(refusal: &Refusal) -> &'static str {
    match refusal.class() {
        RefusalClass::NotFound => "NOT_FOUND",
        RefusalClass::UnknownAgent { .. } => "UNKNOWN_AGENT",
        RefusalClass::Conflict => "CONFLICT",
        RefusalClass::Invalid | RefusalClass::InvalidFields(_) => "INVALID_BODY",
        RefusalClass::TooLarge { .. } => "TOO_LARGE",
        RefusalClass::LimitExceeded { .. } => "LIMIT_EXCEEDED",
        RefusalClass::Forbidden => "FORBIDDEN",
        RefusalClass::Unauthorized => "UNAUTHORIZED",
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(refusal) => refusal.into(),
            other => Self::Internal(other.into()),
        }
    }
}

/// Describes an error of the store. Its own text has a refusal as data.
pub(crate) fn describe(error: &StoreError) -> String {
    match error {
        StoreError::Refused(refusal) => words::refusal(refusal),
        other => other.to_string(),
    }
}

/// Writes an error with all that caused it.
pub(crate) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let describe_any = |error: &(dyn std::error::Error + 'static)| match error.downcast_ref() {
        Some(error) => describe(error),
        None => error.to_string(),
    };
    let mut text = describe_any(error);
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&describe_any(cause));
        source = cause.source();
    }
    text
}
