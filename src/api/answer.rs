//! The envelope of every success.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::App;
use crate::Error;
use crate::domain::Timestamp;

/// A success.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Answer<T> {
    /// What was asked for.
    pub data: T,
    /// What is said about it.
    pub meta: Meta,
}

/// What is said about an answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Meta {
    /// When it was given.
    pub timestamp: Timestamp,
    /// What to pass as `after` to get the rest of a list; absent where there is no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

impl App {
    /// Answers 200.
    pub(super) fn ok<T: Serialize>(&self, data: T) -> Response {
        self.page(data, None)
    }

    /// Answers 201.
    pub(super) fn created<T: Serialize>(&self, data: T) -> Response {
        (StatusCode::CREATED, self.ok(data)).into_response()
    }

    /// Checks how many items of a list a caller wants.
    pub(super) fn page_size(&self, asked: Option<u32>) -> Result<u32, Error> {
        let limits = self.engine.limits();
        match asked.unwrap_or(limits.page) {
            limit if (1..=limits.largest_page).contains(&limit) => Ok(limit),
            _ => Err(Error::InvalidQuery(format!(
                "query: limit: must be 1 to {}",
                limits.largest_page
            ))),
        }
    }

    /// Answers 200 with a part of a list.
    pub(super) fn page<T: Serialize>(&self, data: T, next: Option<String>) -> Response {
        let timestamp = self.engine.clock().now();
        Json(Answer {
            data,
            meta: Meta { timestamp, next },
        })
        .into_response()
    }
}
