//! Large answers: their share of memory until the client has taken them.

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::sync::OwnedSemaphorePermit;

use super::App;
use crate::Error;

/// Answers up to this size need no share of the budget.
const SMALL: u64 = 256 * 1024;

/// An answer with its share of the budget. The connection drops it when the last byte is sent.
struct Shared {
    bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Refuses a large answer to a read if clients have not taken enough of the others yet. An answer to a change is never refused.
pub(super) async fn share(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_read = *request.method() == Method::GET;
    let response = next.run(request).await;
    let size = response.body().size_hint().exact();
    let Some(size) = size.filter(|size| is_read && *size > SMALL) else {
        return response;
    };
    // An answer that is larger than the whole budget is alone.
    let size = u32::try_from(size.min(app.engine.limits().answers as u64)).unwrap_or(u32::MAX);
    let Ok(share) = app.answers.clone().try_acquire_many_owned(size) else {
        return Error::Busy(
            "The server is sending other large answers; ask for a smaller page, or again in a moment"
                .to_owned(),
        )
        .into_response();
    };
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => {
            let shared = Bytes::from_owner(Shared {
                bytes: body.to_bytes(),
                _share: share,
            });
            Response::from_parts(parts, Body::from(shared))
        }
        Err(error) => Error::internal(error).into_response(),
    }
}
