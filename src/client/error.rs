//! Errors: a request without an answer, or with a refusal.

use reqwest::StatusCode;

use crate::api::ErrorBody;
use crate::domain::Fault;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach a Chorus server at {url}: {cause}")]
    Unreachable { url: String, cause: String },
    #[error("{}", error.message)]
    Refused {
        status: StatusCode,
        error: Box<ErrorBody>,
    },
    /// The answer is not one of this API.
    #[error("{url} is not a Chorus server, or its version differs from this client's: {cause}")]
    Garbled { url: String, cause: String },
    /// Nothing was sent.
    #[error("An id, a name or a filter is too long: the address of the request has {bytes} bytes")]
    TooLong { bytes: usize },
}

impl ClientError {
    /// Whether the server could not carry out the request for a reason that may pass, such as a full disk.
    pub fn may_pass(&self) -> bool {
        let Self::Refused { status, error } = self else {
            return false;
        };
        let reason = error
            .details
            .as_ref()
            .and_then(|all| all["reason"].as_str());
        *status == StatusCode::SERVICE_UNAVAILABLE
            && (error.code == "BUSY" || reason.and_then(Fault::named).is_some_and(Fault::may_pass))
    }

    /// Keeps the innermost cause only: the text of reqwest's own error repeats the address.
    pub(super) fn unreachable(url: &str, error: &reqwest::Error) -> Self {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Self::Unreachable {
            url: url.to_owned(),
            cause: cause.to_string(),
        }
    }

    /// Makes the server's answer to an id or a name that cannot be sent.
    pub(super) fn not_found(segment: &str, id: &str) -> Self {
        let noun = match segment {
            "agents" => "Agent",
            "alerts" => "Alert",
            "handoffs" => "Hand-off",
            "increments" => "Increment",
            "mail" => "Mail",
            "requests" => "Request",
            "sessions" => "Session",
            "tasks" => "Task",
            "tools" => "Tool",
            other => other,
        };
        let id = if id.is_empty() { "''" } else { id };
        Self::Refused {
            status: StatusCode::NOT_FOUND,
            error: Box::new(ErrorBody {
                code: "NOT_FOUND".to_owned(),
                message: format!("{noun} not found: {id}"),
                details: None,
            }),
        }
    }

    pub(super) fn garbled(url: &str, cause: &impl ToString) -> Self {
        Self::Garbled {
            url: url.to_owned(),
            cause: cause.to_string(),
        }
    }
}
