//! Gives every request an id, and logs and counts its outcome.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use uuid::Uuid;

use super::error::HiddenCause;
use crate::Error;

const REQUEST_ID: &str = "x-request-id";

/// Logs and counts a request with its id and duration, and turns a panic into a 500 answer.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let mut response = AssertUnwindSafe(next.run(request))
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("panic");
            Error::internal(text.to_owned()).into_response()
        });
    let status = response.status().as_u16();
    let request_id = id.to_str().unwrap_or_default();
    let milliseconds = began.elapsed().as_secs_f64() * 1000.0;
    if let Some(HiddenCause(cause)) = response.extensions().get() {
        tracing::error!(request_id, %method, path, status, milliseconds, cause, "a request failed");
    } else {
        tracing::debug!(request_id, %method, path, status, milliseconds, "answered");
    }
    metrics::histogram!("chorus_http_request_seconds", "route" => route.clone())
        .record(began.elapsed());
    metrics::counter!(
        "chorus_http_requests_total",
        "route" => route, "method" => method.as_str().to_owned(), "status" => status.to_string()
    )
    .increment(1);
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Returns the caller's request id if it is safe to log, or a new one.
fn request_id(request: &Request) -> HeaderValue {
    let is_safe = |id: &&HeaderValue| {
        id.len() <= 100
            && id
                .as_bytes()
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
    };
    match request.headers().get(REQUEST_ID).filter(is_safe) {
        Some(id) => id.clone(),
        None => HeaderValue::from_str(&Uuid::now_v7().to_string()).expect("a UUID is ASCII"),
    }
}
