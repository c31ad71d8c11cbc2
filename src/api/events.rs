//! `/api/events`

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{App, ErrorAnswer};
use crate::Error;
use crate::domain::{Event, TaskId};
use crate::engine::Follower;
use crate::telemetry::Ongoing;

/// How often a silent stream sends a keep-alive comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParameters {
    /// Start after the event with this number; 0 starts at the first event. Without it, the stream starts with the next event.
    after: Option<i64>,
    /// Only events of this task's family, including tasks that are created later.
    #[param(value_type = Option<String>)]
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
        _open: Ongoing::begin("chorus_event_streams"),
    };
    // Sending the cursor at once lets a client resume even if it never receives an event.
    let place = sse::Event::default().id(after.to_string());
    let events = stream::unfold(stream, Stream::next);
    let stream = stream::StreamExt::chain(stream::once(async { Ok(place) }), events);
    Ok(answer(stream))
}

fn answer(
    stream: impl stream::Stream<Item = Result<sse::Event, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Sse::new(stream)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response();
    // Buffering proxies would hold events back.
    response.headers_mut().insert(
        "x-accel-buffering",
        axum::http::HeaderValue::from_static("no"),
    );
    response
}

struct Stream {
    follower: Follower,
    _open: Ongoing,
}

impl Stream {
    async fn next(mut self) -> Option<(Result<sse::Event, Infallible>, Self)> {
        let event = self.follower.next().await?;
        let json = serde_json::to_string(&event).ok()?;
        let id = self.follower.taken().to_string();
        Some((Ok(sse::Event::default().id(id).data(json)), self))
    }
}
