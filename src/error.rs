//! The error type of every operation.
//!
//! Each edge (HTTP, command line) maps it once. The text of an internal cause never leaves the process.

use rustix::io::Errno;

use crate::domain::{Choice, Fault, Problems, Refusal, RefusalClass};
use crate::store::StoreError;
use crate::words;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}", words::refusal(.0))]
    Refused(Refusal),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    InvalidBody(String),
    #[error("{0}")]
    InvalidFields(Problems),
    /// A hand-off of a session is not valid.
    #[error("{problems}")]
    Handoff {
        /// Both agents, as `from->to`.
        context: String,
        problems: Problems,
    },
    /// A query parameter or a header.
    #[error("{0}")]
    InvalidQuery(String),
    #[error("{}", words::too_large(what, *limit))]
    TooLarge {
        what: &'static str,
        /// In bytes.
        limit: usize,
    },
    /// The body of a request did not arrive in time.
    #[error("{0}")]
    Timeout(String),
    /// The server has too much to do at the moment.
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Unauthorized(String),
    #[error("{0}")]
    MethodNotAllowed(String),
    #[error("Task {} was not routed. {}", .0.task_id, .0.waits.as_ref().map(words::wait_reason).unwrap_or_default())]
    NotRouted(Box<Choice>),
    /// The database or a file of the server cannot be used, often for a moment only.
    #[error("{}", words::fault(*fault))]
    Unavailable {
        fault: Fault,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A fault of Chorus itself.
    #[error("Internal error. See the server log for the cause")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// The stable error code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal_code(refusal),
            Self::NotFound(_) => "NOT_FOUND",
            Self::NotRouted(_) => "CONFLICT",
            Self::InvalidBody(_) | Self::InvalidFields(_) => "INVALID_BODY",
            Self::Handoff { .. } => "HANDOFF_ERROR",
            Self::InvalidQuery(_) => "INVALID_QUERY",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::Timeout(_) => "REQUEST_TIMEOUT",
            Self::Busy(_) => "BUSY",
            Self::Forbidden(_) => "FORBIDDEN",
            Self::Unauthorized(_) => "UNAUTHORIZED",
            Self::MethodNotAllowed(_) => "METHOD_NOT_ALLOWED",
            Self::Unavailable { .. } => "NOT_READY",
            Self::Internal(_) => "INTERNAL",
        }
    }

    /// The sentence fixed by the API contract: `Task not found: <id>`.
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::NotFound(format!("{what} not found: {id}"))
    }

    /// Makes the error of a file of the server: a fault of its disk, a shortage, or a fault of Chorus.
    pub fn io(cause: std::io::Error) -> Self {
        let fault = match Errno::from_io_error(&cause) {
            Some(Errno::NOSPC | Errno::DQUOT) => Fault::Full,
            Some(Errno::ROFS) => Fault::ReadOnly,
            Some(Errno::IO) => Fault::Io,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => Fault::Short,
            _ => return Self::internal(cause),
        };
        Self::Unavailable {
            fault,
            cause: cause.into(),
        }
    }

    /// Hides a cause from the caller; it is only logged.
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
            StoreError::Unavailable { fault, cause } => Self::Unavailable { fault, cause },
            other => Self::Internal(other.into()),
        }
    }
}

/// Describes an error of the store. Its `Display` shows a refusal as data, not as a sentence.
pub(crate) fn describe(error: &StoreError) -> String {
    match error {
        StoreError::Refused(refusal) => words::refusal(refusal),
        StoreError::Unavailable { fault, .. } => words::fault(*fault).to_owned(),
        other => other.to_string(),
    }
}

/// Writes an error followed by the chain of its sources.
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
