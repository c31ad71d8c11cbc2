//! `/api/events`

use std::convert::Infallible;
use std::io::Write;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{App, ErrorAnswer};
use crate::Error;
use crate::domain::{Event, TaskId};
use crate::engine::{Followed, Follower, LargeEvent, Piece};
use crate::telemetry::Ongoing;

/// How often a silent stream sends a keep-alive comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The most bytes that are sent at once. A client that stops reading occupies about as much.
const PART: usize = 32 * 1024;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParameters {
    /// Start after the event with this number; 0 starts at the first event. Without it, the stream starts with the next event.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Only events of this task's family, including tasks that are created later.
    #[param(value_type = Option<String>, max_length = 100, min_length = 1, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    task: Option<TaskId>,
}

/// Stream events as they happen
///
/// `id:` is the number of the event. `Last-Event-ID` (or `after`) resumes after it without loss.
#[utoipa::path(
    get, path = "/api/events", operation_id = "stream_events", tag = "events",
    params(
        EventParameters,
        ("Last-Event-ID" = Option<i64>, Header, description = "The number of the last event received; takes precedence over `after`"),
    ),
    responses(
        (status = 200, description = "Server-sent events; the data of each is an event with `number`, `taskId` and `masterTaskId`", content_type = "text/event-stream", body = Event),
        (status = 404, description = "The task in `task` was not found", body = ErrorAnswer),
        (status = 400, description = "The number is not valid, or its event has not happened yet", body = ErrorAnswer),
    )
)]
pub(super) async fn stream_events(
    State(app): State<App>,
    Query(parameters): Query<EventParameters>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let after = match headers.get("last-event-id") {
        None => parameters.after,
        Some(id) => {
            let number = id.to_str().ok().and_then(|id| id.parse().ok());
            Some(number.ok_or_else(|| {
                Error::InvalidQuery("Last-Event-ID: must be the number of an event".to_owned())
            })?)
        }
    };
    let follower = app.engine.follow(after, parameters.task.as_ref()).await?;
    let after = follower.taken();
    let stream = Stream {
        follower,
        large: None,
        _open: Ongoing::begin("chorus_event_streams"),
    };
    // Sending the cursor at once lets a client resume even if it never receives an event.
    let place = Bytes::from(format!("id: {after}\n\n"));
    let events = stream::unfold(stream, Stream::next);
    let stream = stream::StreamExt::chain(stream::once(async { Ok(place) }), events);
    Ok(answer(stream))
}

fn answer(
    stream: impl stream::Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // Buffering proxies would hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(stream)).into_response()
}

struct Stream {
    follower: Follower,
    /// The event that is being sent in parts.
    large: Option<Large>,
    _open: Ongoing,
}

/// An event that is sent in parts.
struct Large {
    event: LargeEvent,
    sent: usize,
}

impl Stream {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let part = match self.large.take() {
            Some(large) => self.next_part(large).await?,
            None => match self.follower.next(KEEP_ALIVE).await? {
                Followed::Silence => Bytes::from_static(b":\n\n"),
                Followed::Events(piece) => self.first_part(&piece)?,
            },
        };
        Some((Ok(part), self))
    }

    /// Returns the text of events, or the first part of a large one.
    fn first_part(&mut self, piece: &Piece) -> Option<Bytes> {
        let [event] = piece.events.as_slice() else {
            return write(piece);
        };
        let number = event.number?;
        let text = match self.follower.find_text(number) {
            Some(text) => text,
            None => write(piece)?,
        };
        if text.len() <= PART {
            return Some(text);
        }
        self.large = Some(Large {
            event: self.follower.share_text(number, &text),
            sent: PART,
        });
        // A copy, because a slice would keep the whole event alive.
        Some(Bytes::copy_from_slice(&text[..PART]))
    }

    async fn next_part(&mut self, large: Large) -> Option<Bytes> {
        let Large { event, sent } = large;
        let read = async || write(&self.follower.read_again(event.number()).await?);
        let text = event.text(read).await?;
        let end = text.len().min(sent + PART);
        let part = Bytes::copy_from_slice(text.get(sent..end)?);
        if end < text.len() {
            self.large = Some(Large { event, sent: end });
        }
        Some(part)
    }
}

/// Writes events as blocks of the stream.
fn write(piece: &Piece) -> Option<Bytes> {
    let mut text = Vec::new();
    for event in &piece.events {
        // JSON has no line breaks.
        write!(text, "id: {}\ndata: ", event.number?).ok()?;
        serde_json::to_writer(&mut text, event.as_ref()).ok()?;
        text.extend_from_slice(b"\n\n");
    }
    Some(text.into())
}
