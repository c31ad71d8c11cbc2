//! `/api/events`

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{TestApp, redact};

/// A client of the event stream.
struct Events {
    body: BodyDataStream,
    text: String,
    /// The size of the largest chunk.
    largest: usize,
}

impl Events {
    async fn open(app: &TestApp, query: &str, last_event_id: Option<i64>) -> Self {
        let mut request = Request::get(format!("/api/events{query}")).header("host", "localhost");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = app.respond(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
            largest: 0,
        }
    }

    /// Reads the next block, or `None` at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let mut block: String = self.text.drain(..end + 2).collect();
                block.truncate(end);
                return Some(block);
            }
            self.chunk().await?;
        }
    }

    /// Reads the next bytes, or `None` at the end of the stream.
    async fn chunk(&mut self) -> Option<()> {
        let chunk = tokio::time::timeout(Duration::from_mins(1), self.body.next());
        let chunk = chunk.await.expect("the stream goes on")?.unwrap();
        self.largest = self.largest.max(chunk.len());
        self.text += std::str::from_utf8(&chunk).unwrap();
        Some(())
    }

    /// Reads the cursor at which the stream begins.
    async fn place(&mut self) -> i64 {
        let block = self.block().await.unwrap();
        block
            .strip_prefix("id: ")
            .expect("only an id")
            .parse()
            .unwrap()
    }

    /// Reads the next event, and checks that its number is the id of its block.
    async fn event(&mut self) -> Value {
        let block = self.block().await.expect("there is one more event");
        let (id, data) = block.split_once('\n').unwrap();
        let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(id, format!("id: {}", event["number"]));
        event
    }

    /// Reads `count` events and returns their numbers.
    async fn numbers(&mut self, count: usize) -> Vec<i64> {
        let mut numbers = Vec::new();
        for _ in 0..count {
            numbers.push(self.event().await["number"].as_i64().unwrap());
        }
        numbers
    }
}

/// Records `count` events concurrently.
async fn record_events(app: &TestApp, count: usize) {
    let id = app.task("d").await;
    for place in (1..count).step_by(100) {
        let some = (place..count.min(place + 100)).map(|_| async {
            let path = format!("/api/tasks/{id}/queue");
            app.post(&path, json!({ "content": "c" })).await.data()
        });
        join_all(some).await;
    }
}

#[tokio::test]
async fn a_stream_begins_with_its_cursor_and_continues_with_new_events() {
    let app = TestApp::new().await;
    app.task("before").await;
    let mut events = Events::open(&app, "", None).await;
    assert_eq!(events.place().await, 1);
    let id = app.task("after").await;
    app.post(
        &format!("/api/tasks/{id}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    assert_snapshot!(redact(&events.block().await.unwrap()), @r#"
    id: 2
    data: {"timestamp":1767225600000,"eventType":"task_created","data":{"description":"after"},"number":2,"taskId":"<id 1>","masterTaskId":"<id 1>"}
    "#);
    assert_snapshot!(redact(&events.block().await.unwrap()), @r#"
    id: 3
    data: {"timestamp":1767225600000,"eventType":"agent_handoff_started","data":{"agentName":"qa"},"handoffId":"<id 1>","number":3,"taskId":"<id 2>","masterTaskId":"<id 2>"}
    "#);
}

#[tokio::test]
async fn a_stream_resumes_after_any_event() {
    let app = TestApp::new().await;
    record_events(&app, 10).await;
    for after in [0, 4, 10] {
        let mut by_query = Events::open(&app, &format!("?after={after}"), None).await;
        let mut by_header = Events::open(&app, "", Some(after)).await;
        let mut by_both = Events::open(&app, "?after=1", Some(after)).await;
        for events in [&mut by_query, &mut by_header, &mut by_both] {
            assert_eq!(events.place().await, after);
            let rest: Vec<_> = (after + 1..=10).collect();
            assert_eq!(events.numbers(rest.len()).await, rest);
        }
    }
}

#[tokio::test]
async fn events_during_the_replay_arrive_once_and_in_order() {
    let app = TestApp::new().await;
    record_events(&app, 600).await;
    let mut events = Events::open(&app, "?after=0", None).await;
    assert_eq!(events.place().await, 0);
    let mut seen = events.numbers(10).await;
    record_events(&app, 50).await;
    seen.extend(events.numbers(500).await);
    record_events(&app, 50).await;
    seen.extend(events.numbers(190).await);
    // The feed must not repeat events that were read from the database.
    app.task("the last").await;
    seen.extend(events.numbers(1).await);
    assert_eq!(seen, (1..=701).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_slow_client_misses_no_event() {
    let app = TestApp::new().await;
    let mut events = Events::open(&app, "", None).await;
    assert_eq!(events.place().await, 0);
    // More events than the feed keeps for slow followers.
    record_events(&app, 1_300).await;
    let seen = events.numbers(1_300).await;
    assert_eq!(seen, (1..=1_300).collect::<Vec<_>>());
    app.task("one more").await;
    assert_eq!(events.numbers(1).await, [1_301]);
}

#[tokio::test]
async fn an_event_too_large_for_the_feed_is_still_sent() {
    let app = TestApp::new().await;
    let mut events = Events::open(&app, "", None).await;
    assert_eq!(events.place().await, 0);
    let description = "x".repeat(100_000);
    app.task(&description).await;
    app.task("small").await;
    assert_eq!(events.event().await["data"]["description"], description);
    assert_eq!(events.event().await["data"]["description"], "small");
}

#[tokio::test]
async fn a_large_event_is_sent_in_parts_to_every_client() {
    let app = TestApp::new().await;
    let numbers: Vec<_> = (0..100_000).map(|number| number.to_string()).collect();
    let description = numbers.join(" ");
    app.task(&description).await;
    // More clients than large events are kept for: the last ones read theirs again for each part.
    let mut streams = Vec::new();
    for _ in 0..60 {
        let mut events = Events::open(&app, "?after=0", None).await;
        events.place().await;
        events.chunk().await;
        streams.push(events);
    }
    for events in &mut streams {
        assert_eq!(events.event().await["data"]["description"], description);
        assert!(events.largest <= 32 * 1024, "{}", events.largest);
    }
    // The large event has left the shared memory, and a stream continues with the next event.
    app.task("small").await;
    assert_eq!(streams[59].event().await["data"]["description"], "small");
}

#[tokio::test]
async fn line_breaks_in_text_do_not_split_an_event() {
    let app = TestApp::new().await;
    let mut events = Events::open(&app, "", None).await;
    assert_eq!(events.place().await, 0);
    let description = "one\n\nid: 99\r\ndata: two\r\u{2028}";
    app.task(description).await;
    assert_eq!(events.event().await["data"]["description"], description);
}

#[tokio::test]
async fn streams_end_when_the_server_stops() {
    let app = TestApp::new().await;
    let mut events = Events::open(&app, "", None).await;
    assert_eq!(events.place().await, 0);
    app.engine.stopping().cancel();
    assert_eq!(events.block().await, None);
}

#[tokio::test]
async fn resuming_after_a_future_event_is_refused() {
    let app = TestApp::new().await;
    app.task("d").await;
    let refused = async |query: &str| app.get(&format!("/api/events?{query}")).await.line();
    assert_snapshot!(refused("after=2").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"after: event 2 does not exist; the newest is 1. Was another database restored? Leave out `after` to follow from now on"}}"#);
    assert_snapshot!(refused("after=-1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"after: event -1 does not exist; the newest is 1. Was another database restored? Leave out `after` to follow from now on"}}"#);
    assert_snapshot!(refused("after=x").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: invalid digit found in string"}}"#);
    assert_snapshot!(refused("since=1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: since: unknown field `since`, expected `after` or `task`"}}"#);
    let request = Request::get("/api/events")
        .header("host", "localhost")
        .header("last-event-id", "abc");
    assert_snapshot!(app.send(request.body(Body::empty()).unwrap()).await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"Last-Event-ID: must be the number of an event"}}"#);
}

#[tokio::test]
async fn a_snapshot_says_which_events_it_includes() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let first = app.last_event().await;
    for path in [
        "/api/board",
        "/api/attention",
        "/api/tasks",
        "/api/tasks?view=summary",
        "/api/tasks?ready=true",
        &format!("/api/tasks/{task}"),
        &format!("/api/tasks/{task}/conversation"),
        &format!("/api/tasks/{task}/messages"),
        &format!("/api/tasks/{task}/history"),
        &format!("/api/tasks/{task}/tree"),
        &format!("/api/tasks/{task}/queue"),
        &format!("/api/tasks/{task}/handoffs"),
        &format!("/api/tasks/{task}/usage"),
        "/api/requests",
        "/api/increments",
        "/api/agents",
        "/api/tools",
        "/api/alerts",
        "/api/mail",
        "/api/sessions",
        "/api/dispatch/routes",
        "/api/analytics/handoffs",
    ] {
        let reply = app.get(path).await;
        assert_eq!(reply.json()["meta"]["event"], first, "{path}");
    }
    app.task("Another").await;
    let later = app.get("/api/board").await.json()["meta"]["event"].clone();
    assert_eq!(later, app.last_event().await);
    assert!(later.as_i64() > Some(first));
}
