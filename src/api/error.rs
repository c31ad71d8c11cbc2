//! The one mapping from errors to answers.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Error;
use crate::error::with_sources;

/// A failure.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// A stable word for programs: `NOT_FOUND`, `UNKNOWN_AGENT`, `CONFLICT`, `INVALID_BODY`, `HANDOFF_ERROR`,
    /// `INVALID_QUERY`, `TOO_LARGE`, `LIMIT_EXCEEDED`, `FORBIDDEN`, `UNAUTHORIZED`, `METHOD_NOT_ALLOWED`, `NOT_READY` or `INTERNAL`.
    #[schema(example = "NOT_FOUND")]
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// More, where there is more: `agents` that are known, the `limit`, the `chain`, every field that is wrong as `problems`. Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub details: Option<serde_json::Value>,
}

/// The cause of an answer that hides it; [`super::observe`] logs it with the request's id.
#[derive(Clone)]
pub(super) struct HiddenCause(pub String);

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::UnknownAgent { .. }
            | Self::InvalidBody(_)
            | Self::InvalidFields(_)
            | Self::Handoff { .. }
            | Self::InvalidQuery(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) | Self::NotRouted(_) => StatusCode::CONFLICT,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::LimitExceeded { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let details = match &self {
            Self::UnknownAgent { known, .. } => Some(serde_json::json!({ "agents": known })),
            Self::LimitExceeded { chain, limit, .. } => {
                Some(serde_json::json!({ "chain": chain, "limit": limit }))
            }
            Self::InvalidFields(problems) => Some(serde_json::json!({ "problems": problems })),
            Self::Handoff { context, problems } => {
                Some(serde_json::json!({ "context": context, "problems": problems }))
            }
            Self::TooLarge { limit, .. } => Some(serde_json::json!({ "limit": limit })),
            _ => None,
        };
        let body = ErrorBody {
            code: self.code().to_owned(),
            message: self.to_string(),
            details,
        };
        let mut response = (status, Json(ErrorAnswer { error: body })).into_response();
        if let Self::Internal(cause) = &self {
            response
                .extensions_mut()
                .insert(HiddenCause(with_sources(cause.as_ref())));
        }
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
