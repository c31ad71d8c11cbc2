//! Request bodies: their time, their share of memory, and the rest that no handler reads.
//!
//! # How it works
//! The first bytes of a body are read at once. A longer body waits until there is memory for all of it, in a budget that all
//! bodies share, and keeps it until the request is answered. A body that stops or is too slow is refused with a 408.
//!
//! A request may be refused before its body is read. Many clients send the whole body before they look at the answer, and a
//! connection that is closed with unread bytes is reset, so they would see a broken pipe instead of the answer. So the rest is
//! read and dropped, up to a limit.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::App;
use crate::Error;

/// Bodies up to this size need no share of the budget, so that large ones do not hold them up.
const SMALL: usize = 64 * 1024;

/// The slowest average speed of a body, in bytes per second.
const SLOWEST: u64 = 64 * 1024;

/// The longest time that a large body waits for its share of the budget.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The most bytes of an unread body that are dropped.
const MOST_DROPPED: usize = 64 * 1024 * 1024;

/// The longest time, in total and without a byte, for which an unread body is dropped.
const DROPPING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

/// The bytes of request bodies that may be in memory at the same time.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    free: Arc<Semaphore>,
    bytes: u32,
}

impl Budget {
    pub fn new(bytes: usize) -> Self {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Self {
            free: Arc::new(Semaphore::new(bytes as usize)),
            bytes,
        }
    }

    /// Waits for memory. A body that is larger than the whole budget is alone.
    async fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Error> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.bytes);
        let granted = self.free.clone().acquire_many_owned(bytes);
        match timeout(LONGEST_WAIT, granted).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Busy(
                "The server is reading other large requests; send the request again in a moment"
                    .to_owned(),
            )),
        }
    }
}

/// The share of a request's body in the budget, until the request is answered.
#[derive(Debug, Clone, Default)]
struct Share(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

/// Keeps the share of a request's body until the answer, and then drops the unread rest.
pub(super) async fn take_in(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    // A client with an `Expect` header sends its body only after the server has asked for it.
    let is_unasked = !request.headers().contains_key(header::EXPECT);
    let (mut parts, body) = request.into_parts();
    let share = Share::default();
    parts.extensions.insert(share.clone());
    let body = Shared::new(body);
    let request = Request::from_parts(parts, Body::new(body.clone()));
    let response = next.run(request).await;
    drop(lock(&share.0).take());
    let is_late = response.status() == StatusCode::REQUEST_TIMEOUT;
    if is_unasked && !is_late && !body.is_end_stream() {
        drop_rest(body).await;
    }
    response
}

async fn drop_rest(mut body: Shared) {
    let (in_total, without_byte) = DROPPING;
    let reading = async {
        let mut left = MOST_DROPPED;
        while left > 0 {
            let Ok(Some(Ok(frame))) = timeout(without_byte, body.frame()).await else {
                return;
            };
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        }
    };
    // The answer is sent in any case; a client that sends on sees a closed connection.
    let _ = timeout(in_total, reading).await;
}

/// Reads a body of at most `limit` bytes.
pub(super) async fn read(
    app: &App,
    request: Request,
    what: &'static str,
    limit: usize,
) -> Result<(axum::http::request::Parts, Vec<u8>), Error> {
    let (parts, mut body) = request.into_parts();
    let announced: Option<usize> = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(Error::TooLarge { what, limit });
    }
    let expected = announced.unwrap_or(limit);
    let share = parts.extensions.get::<Share>();
    let mut deadline = deadline(app, expected);
    let mut bytes = Vec::with_capacity(announced.unwrap_or(0).min(SMALL));
    let mut is_large = false;
    while let Some(data) = next_bytes(app, &mut body, deadline).await? {
        if bytes.len() + data.len() > limit {
            return Err(Error::TooLarge { what, limit });
        }
        if !is_large && bytes.len() + data.len() > SMALL {
            let granted = app.intake.reserve(expected).await?;
            if let Some(share) = share {
                *lock(&share.0) = Some(granted);
            }
            is_large = true;
            bytes.reserve_exact(announced.unwrap_or(0).saturating_sub(bytes.len()));
            deadline = self::deadline(app, expected);
        }
        bytes.extend_from_slice(&data);
    }
    Ok((parts, bytes))
}

fn deadline(app: &App, expected: usize) -> Instant {
    let slowest = Duration::from_secs(expected as u64 / SLOWEST);
    Instant::now() + app.engine.limits().body_time + slowest
}

/// Waits for the next bytes of a body; `None` at its end.
async fn next_bytes(app: &App, body: &mut Body, deadline: Instant) -> Result<Option<Bytes>, Error> {
    let pause = app.engine.limits().body_pause;
    loop {
        let until = deadline.min(Instant::now() + pause);
        match timeout_at(until, body.frame()).await {
            Err(_) => {
                return Err(Error::Timeout(
                    "The body took too long; send the request again, without pauses".to_owned(),
                ));
            }
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => {
                return Err(Error::InvalidBody(format!(
                    "The body ended early: {error}; send the request again"
                )));
            }
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A body that is also read after its handler has dropped it.
#[derive(Clone)]
struct Shared(Arc<Mutex<Unread>>);

struct Unread {
    body: Body,
    has_ended: bool,
}

impl Shared {
    fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(Unread {
            body,
            has_ended: false,
        })))
    }
}

impl HttpBody for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let unread = &mut *lock(&self.0);
        if unread.has_ended {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut unread.body).poll_frame(context));
        unread.has_ended = !matches!(frame, Some(Ok(_)));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let unread = lock(&self.0);
        unread.has_ended || unread.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).body.size_hint()
    }
}
