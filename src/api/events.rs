//! `/api/events`: everything that happens, as it happens.
//!
//! # How it works
//! A stream follows the feed before it reads the first row, so nothing falls between the two. It sends rows until it
//! has reached the newest, then what the feed brings, and never a number that is not greater than the last one sent.
//! A client that is too slow for the feed's ring is sent back to the rows.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::IntoParams;

use super::request::Query;
use super::{App, ErrorAnswer};
use crate::Error;
use crate::domain::{Event, TaskId};
use crate::engine::Engine;
use crate::store::Published;
use crate::telemetry::Ongoing;

/// How many rows are read at once.
const ROWS: u32 = 256;

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
    let chain = match &parameters.task {
        None => None,
        Some(id) => Some(app.engine.task(id).await?.chain_id().clone()),
    };
    let feed = app.engine.feed().follow();
    let newest = app.engine.last_event_number().await?;
    let after = match headers.get("last-event-id") {
        None => parameters.after.unwrap_or(newest),
        Some(id) => id
            .to_str()
            .ok()
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| {
                Error::InvalidQuery("Last-Event-ID: must be the number of an event".to_owned())
            })?,
    };
    if after < 0 || after > newest {
        return Err(Error::InvalidQuery(format!(
            "after: there is no event {after}; the newest is {newest}. Was another database restored?"
        )));
    }
    let follower = Follower {
        engine: app.engine,
        feed,
        sent: after,
        chain,
        rows: Vec::new().into_iter(),
        has_more_rows: after < newest,
        _open: Ongoing::begin("chorus_event_streams"),
    };
    // A client that is told its place at once can resume even if it never sees an event.
    let place = sse::Event::default().id(after.to_string());
    let events = stream::unfold(follower, Follower::next);
    let stream = stream::StreamExt::chain(stream::once(async { Ok(place) }), events);
    Ok(answer(stream))
}

fn answer(stream: impl Stream<Item = Result<sse::Event, Infallible>> + Send + 'static) -> Response {
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

/// One client's place in the events.
struct Follower {
    engine: Engine,
    feed: Receiver<Published>,
    sent: i64,
    /// The chain whose events are sent, if not all are.
    chain: Option<TaskId>,
    rows: std::vec::IntoIter<Event>,
    has_more_rows: bool,
    _open: Ongoing,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<sse::Event, Infallible>, Self)> {
        let event = loop {
            let event = self.next_event().await?;
            self.sent = event.number?;
            if self.chain.is_none() || self.chain == event.master_task_id {
                break event;
            }
        };
        let json = serde_json::to_string(&event).ok()?;
        Some((
            Ok(sse::Event::default().id(self.sent.to_string()).data(json)),
            self,
        ))
    }

    /// Returns the next event, or nothing when the server stops or its rows cannot be read: the client comes back.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.rows.next() {
                return Some(event);
            }
            if self.has_more_rows {
                let rows = self.engine.events_after(self.sent, ROWS).await.ok()?;
                self.has_more_rows = rows.len() == ROWS as usize;
                self.rows = rows.into_iter();
                continue;
            }
            let stopping = self.engine.stopping().clone();
            let published = tokio::select! {
                () = stopping.cancelled() => return None,
                published = self.feed.recv() => published,
            };
            match published {
                Ok(Published { number, .. }) if number <= self.sent => {}
                Ok(Published {
                    event: Some(event), ..
                }) => return Some((*event).clone()),
                Ok(Published { event: None, .. }) | Err(RecvError::Lagged(_)) => {
                    self.has_more_rows = true;
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
