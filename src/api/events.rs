//! `/api/events`: everything that happens, as it happens.

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

/// How often a silent stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParameters {
    /// Begin behind this event; 0 is the beginning. Without it the stream begins with what happens next.
    after: Option<i64>,
    /// Only events of the chain that this task belongs to, also of tasks that are made later.
    #[param(value_type = Option<String>)]
    task: Option<TaskId>,
}

/// Streams events. `id:` is the event's number; `Last-Event-ID` (or `after`) resumes behind it without loss.
#[utoipa::path(
    get, path = "/api/events", operation_id = "stream_events", tag = "events",
    params(
        EventParameters,
        ("Last-Event-ID" = Option<i64>, Header, description = "The last event that was seen; wins over `after`"),
    ),
    responses(
        (status = 200, description = "Server-sent events whose data are events with `number`, `taskId` and `masterTaskId`", content_type = "text/event-stream", body = Event),
        (status = 404, description = "The task in `task` is not there", body = ErrorAnswer),
        (status = 400, description = "The number is wrong, or of an event that has not happened", body = ErrorAnswer),
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
    // A client that is told its place at once can resume even if it never sees an event.
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
    // Proxies that gather a response before they pass it on would hold events back.
    response.headers_mut().insert(
        "x-accel-buffering",
        axum::http::HeaderValue::from_static("no"),
    );
    response
}

/// The events that one client is sent.
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
