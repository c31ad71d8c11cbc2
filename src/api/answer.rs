//! The envelope of successful answers, and the checks that all lists share.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::App;
use crate::Error;
use crate::domain::{Page, Timestamp};
use crate::engine::Snapshot;
use crate::ledger::{self, View};

/// A successful answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Answer<T> {
    pub data: T,
    pub meta: Meta,
}

/// Facts about an answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Meta {
    /// When the server answered.
    pub timestamp: Timestamp,
    /// The cursor of the next page, to be sent as `after`; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
    /// The number of the last event that the answer includes: the event stream after it tells of every later change. Absent if the
    /// answer is not a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub event: Option<i64>,
    /// A sentence for people if the operation succeeded only in part; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warning: Option<String>,
    /// Whether the answer is an earlier hand-off that the same run asked for in the same words; absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub existing: bool,
}

impl App {
    pub(super) fn ok<T: Serialize>(&self, data: T) -> Response {
        let meta = self.meta();
        Json(Answer { data, meta }).into_response()
    }

    pub(super) fn created<T: Serialize>(&self, data: T) -> Response {
        (StatusCode::CREATED, self.ok(data)).into_response()
    }

    /// Returns the size of a page, which is the default if the caller asks for none.
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

    /// Returns how long to wait, which is the default if the caller asks for none.
    pub(super) fn wait_time(
        &self,
        parameter: &str,
        seconds: Option<u64>,
    ) -> Result<Duration, Error> {
        let limits = self.engine.limits();
        match seconds.unwrap_or(limits.wait) {
            seconds if seconds <= limits.longest_wait => Ok(Duration::from_secs(seconds)),
            _ => Err(Error::InvalidQuery(format!(
                "query: {parameter}: must be 0 to {} seconds",
                limits.longest_wait
            ))),
        }
    }

    /// Answers with a warning, if there is one.
    pub(super) fn ok_with<T: Serialize>(&self, data: T, warning: Option<String>) -> Response {
        let meta = Meta {
            warning,
            ..self.meta()
        };
        Json(Answer { data, meta }).into_response()
    }

    /// Answers with something that the caller may have asked for before.
    pub(super) fn ok_or_existing<T: Serialize>(&self, data: T, existing: bool) -> Response {
        let meta = Meta {
            existing,
            ..self.meta()
        };
        Json(Answer { data, meta }).into_response()
    }

    /// Answers with a snapshot.
    pub(super) async fn read<T: Serialize + Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> ledger::Result<T> + Send + 'static,
    ) -> Result<Response, Error> {
        let Snapshot { value, event } = self.engine.read_snapshot(run).await?;
        Ok(self.snapshot(value, None, event))
    }

    /// Answers with a page.
    pub(super) async fn read_page<T: Serialize + Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> ledger::Result<Page<T>> + Send + 'static,
    ) -> Result<Response, Error> {
        self.read_page_as(run, |items| items).await
    }

    /// Answers with a page whose items are wrapped.
    pub(super) async fn read_page_as<T: Send + 'static, W: Serialize>(
        &self,
        run: impl FnMut(&View<'_>) -> ledger::Result<Page<T>> + Send + 'static,
        wrap: impl FnOnce(Vec<T>) -> W,
    ) -> Result<Response, Error> {
        let Snapshot { value, event } = self.engine.read_snapshot(run).await?;
        Ok(self.snapshot(wrap(value.items), value.next, event))
    }

    /// Answers with a snapshot that was read already.
    pub(super) fn snapshot<T: Serialize>(
        &self,
        data: T,
        next: Option<String>,
        event: i64,
    ) -> Response {
        let meta = Meta {
            next,
            event: Some(event),
            ..self.meta()
        };
        Json(Answer { data, meta }).into_response()
    }

    fn meta(&self) -> Meta {
        Meta {
            timestamp: self.engine.clock().now(),
            next: None,
            event: None,
            warning: None,
            existing: false,
        }
    }
}
