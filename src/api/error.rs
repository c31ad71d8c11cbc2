//! The only mapping from errors to HTTP answers.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::Error;
use crate::domain::RefusalClass;
use crate::error::with_sources;

/// An error answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorAnswer {
    pub error: ErrorBody,
}

/// An error.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// A stable code for programs: `NOT_FOUND`, `UNKNOWN_AGENT`, `CONFLICT`, `INVALID_BODY`, `HANDOFF_ERROR`,
    /// `INVALID_QUERY`, `TOO_LARGE`, `LIMIT_EXCEEDED`, `FORBIDDEN`, `UNAUTHORIZED`, `METHOD_NOT_ALLOWED`, `REQUEST_TIMEOUT`, `BUSY`, `NOT_READY` or `INTERNAL`.
    #[schema(example = "NOT_FOUND")]
    pub code: String,
    /// A sentence for people: what happened, and what to do.
    pub message: String,
    /// Facts about the error: the known `agents`, the `limit`, the `chain`, the `reason` of an unusable database, or every fault as
    /// `problems`. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub details: Option<Value>,
}

/// The cause of an internal error, which the answer hides; [`super::observe`] logs it with the request id.
#[derive(Clone)]
pub(super) struct HiddenCause(pub String);

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = status(&self);
        let details = details(&self);
        let body = ErrorBody {
            code: self.code().to_owned(),
            message: self.to_string(),
            details,
        };
        let mut response = (status, Json(ErrorAnswer { error: body })).into_response();
        if let Self::Internal(cause) | Self::Unavailable { cause, .. } = &self {
            response
                .extensions_mut()
                .insert(HiddenCause(with_sources(cause.as_ref())));
        }
        let may_pass = match &self {
            Self::Busy(_) => true,
            Self::Unavailable { fault, .. } => fault.may_pass(),
            _ => false,
        };
        if may_pass {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

const fn refusal_status(class: RefusalClass<'_>) -> StatusCode {
    match class {
        RefusalClass::NotFound => StatusCode::NOT_FOUND,
        RefusalClass::UnknownAgent { .. }
        | RefusalClass::Invalid
        | RefusalClass::InvalidFields(_) => StatusCode::BAD_REQUEST,
        RefusalClass::Conflict => StatusCode::CONFLICT,
        RefusalClass::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        RefusalClass::LimitExceeded { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        RefusalClass::Forbidden => StatusCode::FORBIDDEN,
        RefusalClass::Unauthorized => StatusCode::UNAUTHORIZED,
    }
}

fn refusal_details(class: RefusalClass<'_>) -> Option<Value> {
    match class {
        RefusalClass::UnknownAgent { known } => Some(json!({ "agents": known })),
        RefusalClass::InvalidFields(problems) => Some(json!({ "problems": problems })),
        RefusalClass::TooLarge { limit } => Some(json!({ "limit": limit })),
        RefusalClass::LimitExceeded { chain, limit } => {
            Some(json!({ "chain": chain, "limit": limit }))
        }
        RefusalClass::NotFound
        | RefusalClass::Conflict
        | RefusalClass::Invalid
        | RefusalClass::Forbidden
        | RefusalClass::Unauthorized => None,
    }
}

fn status(error: &Error) -> StatusCode {
    match error {
        Error::Refused(refusal) => refusal_status(refusal.class()),
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::InvalidBody(_)
        | Error::InvalidFields(_)
        | Error::Handoff { .. }
        | Error::InvalidQuery(_) => StatusCode::BAD_REQUEST,
        Error::NotRouted(_) => StatusCode::CONFLICT,
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Timeout(_) => StatusCode::REQUEST_TIMEOUT,
        Error::Forbidden(_) => StatusCode::FORBIDDEN,
        Error::Unauthorized(_) => StatusCode::UNAUTHORIZED,
        Error::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
        Error::Busy(_) | Error::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn details(error: &Error) -> Option<Value> {
    match error {
        Error::Refused(refusal) => refusal_details(refusal.class()),
        Error::InvalidFields(problems) => Some(json!({ "problems": problems })),
        Error::Handoff { context, problems } => {
            Some(json!({ "context": context, "problems": problems }))
        }
        Error::Unavailable { fault, .. } => Some(json!({ "reason": fault.as_str() })),
        Error::TooLarge { limit, .. } => Some(json!({ "limit": limit })),
        Error::NotFound(_)
        | Error::InvalidBody(_)
        | Error::InvalidQuery(_)
        | Error::Timeout(_)
        | Error::Busy(_)
        | Error::Forbidden(_)
        | Error::Unauthorized(_)
        | Error::MethodNotAllowed(_)
        | Error::NotRouted(_)
        | Error::Internal(_) => None,
    }
}
