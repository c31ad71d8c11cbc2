//! The one error of the middle: what an operation of the engine can end with.
//!
//! Each edge (HTTP, command line) maps it once. The text of an internal cause never leaves the process.

use crate::domain::{AgentName, Choice, Problems, Refusal};
use crate::store::StoreError;
use crate::words;

/// Why an operation was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that was named is not there.
    #[error("{0}")]
    NotFound(String),
    /// A hand-off names an agent that is not configured.
    #[error("Unknown agent: {asked}")]
    UnknownAgent {
        /// The name that was asked for.
        asked: String,
        /// The names that there are.
        known: Vec<AgentName>,
    },
    /// The state of things does not allow it.
    #[error("{0}")]
    Conflict(String),
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
    #[error("{what} is too large: the limit is {limit} bytes")]
    TooLarge {
        /// What.
        what: &'static str,
        /// How many bytes are allowed.
        limit: usize,
    },
    /// A chain of hand-offs is too long.
    #[error("{message}")]
    LimitExceeded {
        /// What is too long, and what to do.
        message: String,
        /// Who handed on to whom.
        chain: Vec<String>,
        /// The limit.
        limit: u32,
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
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "NOT_FOUND",
            Self::UnknownAgent { .. } => "UNKNOWN_AGENT",
            Self::Conflict(_) | Self::NotRouted(_) => "CONFLICT",
            Self::InvalidBody(_) | Self::InvalidFields(_) => "INVALID_BODY",
            Self::Handoff { .. } => "HANDOFF_ERROR",
            Self::InvalidQuery(_) => "INVALID_QUERY",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::LimitExceeded { .. } => "LIMIT_EXCEEDED",
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

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::TaskNotFound(_)
            | Refusal::AgentNotFound(_)
            | Refusal::HandoffNotFound(_)
            | Refusal::SessionNotFound(_)
            | Refusal::ToolNotFound(_)
            | Refusal::NoSuchTool { .. }
            | Refusal::RequestNotFound(_)
            | Refusal::AlertNotFound(_)
            | Refusal::IncrementNotFound(_)
            | Refusal::MailNotFound(_)
            | Refusal::AttachmentNotFound(_) => Self::NotFound(message),
            Refusal::UnknownAgent { asked, known } => Self::UnknownAgent { asked, known },
            Refusal::LimitExceeded { chain, limit, .. } => Self::LimitExceeded {
                message,
                chain,
                limit,
            },
            Refusal::Invalid(problems) => Self::InvalidFields(problems),
            Refusal::ContextTooLarge { limit } => Self::TooLarge {
                what: "context",
                limit,
            },
            Refusal::TooMuchAtOnce { limit } => Self::TooLarge {
                what: "list of requests",
                limit,
            },
            Refusal::RunEnded | Refusal::OperatorsMail(_) => Self::Unauthorized(message),
            Refusal::NobodyHasRole(_)
            | Refusal::TooManyRecipients { .. }
            | Refusal::NoSuchRecipient { .. } => Self::InvalidBody(message),
            Refusal::NotItsOwnTask(_)
            | Refusal::OutOfReach { .. }
            | Refusal::ToolNotAllowed { .. }
            | Refusal::NotItsClaim { .. }
            | Refusal::NotItsOwnAgent { .. }
            | Refusal::SessionLimitRaised { .. }
            | Refusal::NotItsMail { .. }
            | Refusal::OperatorOnly => Self::Forbidden(message),
            Refusal::AgentActive(_)
            | Refusal::AgentExists(_)
            | Refusal::AgentAlike { .. }
            | Refusal::AgentNeeded { .. }
            | Refusal::AgentUnavailable(_)
            | Refusal::AlreadyMoved { .. }
            | Refusal::TaskEnded { .. }
            | Refusal::ToolExists(_)
            | Refusal::NoOpenHandoff { .. }
            | Refusal::NothingToResume(_)
            | Refusal::AttachmentExists(_)
            | Refusal::WrongState { .. }
            | Refusal::Withdrawn(_)
            | Refusal::StaleClaim { .. }
            | Refusal::NotAll(_)
            | Refusal::AlertResolved { .. }
            | Refusal::DependencyCycle(_)
            | Refusal::PartOfIncrement(_)
            | Refusal::RoundIsOver { .. }
            | Refusal::IncrementNotBlocked { .. }
            | Refusal::KeyReused => Self::Conflict(message),
        }
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

/// Writes an error with all that caused it.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
