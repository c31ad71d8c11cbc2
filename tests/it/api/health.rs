//! `/healthz`, `/readyz`, `/metrics`, and request ids

use axum::body::Body;
use axum::http::Request;
use chorus::clock::Clock;
use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Server, TestApp};

/// Returns the time of the last write of a readiness check.
fn ready_at(app: &TestApp) -> Option<i64> {
    let database = rusqlite::Connection::open(app.data_dir.database()).unwrap();
    database
        .query_row("SELECT ready_at FROM installation", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test]
async fn a_running_server_is_healthy() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/healthz").await.line(), @r#"200 {"data":{"status":"ok","version":"0.1.0"},"meta":{"timestamp":1767225600000}}"#);
}

#[tokio::test]
async fn readiness_writes_to_the_database() {
    let app = TestApp::new().await;
    assert_eq!(ready_at(&app), None);
    assert_snapshot!(app.get("/readyz").await.line(), @r#"200 {"data":{"status":"ok","version":"0.1.0","runs":{"paused":false,"reason":null}},"meta":{"timestamp":1767225600000}}"#);
    assert_eq!(ready_at(&app), Some(1_767_225_600_000));
    app.clock.advance(1);
    app.get("/readyz").await.data();
    assert_eq!(ready_at(&app), Some(1_767_225_600_001));
}

#[tokio::test]
async fn a_server_that_cannot_write_is_healthy_but_not_ready() {
    let app = TestApp::new().await;
    app.db.close().await;
    assert_snapshot!(app.get("/readyz").await.line(), @r#"503 {"error":{"code":"NOT_READY","message":"The database cannot be written; see the server log for the cause"}}"#);
    assert_eq!(app.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn the_cause_of_an_internal_error_is_hidden() {
    let app = TestApp::new().await;
    app.db.close().await;
    assert_snapshot!(app.post("/api/tasks", json!({ "description": "d" })).await.line(), @r#"500 {"error":{"code":"INTERNAL","message":"Internal error. See the server log for the cause"}}"#);
    assert_snapshot!(app.get("/api/agents").await.line(), @r#"500 {"error":{"code":"INTERNAL","message":"Internal error. See the server log for the cause"}}"#);
}

#[tokio::test]
async fn every_answer_has_a_request_id() {
    let app = TestApp::new().await;
    let id_of = async |path: &str, given: Option<&str>| {
        let mut request = Request::get(path).header("host", "localhost");
        if let Some(given) = given {
            request = request.header("x-request-id", given);
        }
        let reply = app.send(request.body(Body::empty()).unwrap()).await;
        reply.headers["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(id_of("/healthz", Some("abc-1.2_3:4")).await, "abc-1.2_3:4");
    assert_eq!(id_of("/nope", Some("abc")).await, "abc");
    let (one, two) = (
        id_of("/healthz", None).await,
        id_of("/api/tasks/x", None).await,
    );
    assert_eq!((one.len(), two.len()), (36, 36));
    assert_ne!(one, two);
    for harmful in ["two words", "a\"b", &"x".repeat(101)] {
        let id = id_of("/healthz", Some(harmful)).await;
        assert_eq!(id.len(), 36, "{harmful}");
    }
}

#[tokio::test]
async fn metrics_count_requests_by_route_pattern() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let client = server.client();
    let body = json!({ "description": "d" });
    let task: serde_json::Value = client
        .send_json(reqwest::Method::POST, "/api/tasks", &body)
        .await
        .unwrap()
        .data()
        .unwrap();
    let id = task["id"].as_str().unwrap();
    let body = json!({ "agentName": "qa", "prompt": "p" });
    client
        .send_json(
            reqwest::Method::POST,
            &format!("/api/tasks/{id}/handoff"),
            &body,
        )
        .await
        .unwrap();
    client
        .send_json(
            reqwest::Method::POST,
            &format!("/api/tasks/{id}/handoff/cancel"),
            &json!({}),
        )
        .await
        .unwrap();
    client.get("/api/tasks/nope", &[]).await.unwrap_err();
    client.get("/nope", &[]).await.unwrap_err();
    let response = client
        .request(reqwest::Method::GET, "/metrics")
        .send()
        .await
        .unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "text/plain; version=0.0.4"
    );
    let text = response.text().await.unwrap();
    assert!(
        !text.contains(id),
        "an id in a label would make a series of each task"
    );
    let mut counted: Vec<_> = text
        .lines()
        .filter(|line| {
            [
                "chorus_http_requests_total",
                "chorus_handoffs",
                "chorus_waiters",
                "chorus_event_streams",
                "chorus_watched",
            ]
            .iter()
            .any(|name| line.starts_with(name))
        })
        .collect();
    counted.sort_unstable();
    assert_snapshot!(counted.join("\n"), @r#"
    chorus_handoffs_ended_total{outcome="cancelled"} 1
    chorus_handoffs_started_total 1
    chorus_http_requests_total{route="/api/tasks",method="POST",status="201"} 1
    chorus_http_requests_total{route="/api/tasks/{id}",method="GET",status="404"} 1
    chorus_http_requests_total{route="/api/tasks/{id}/handoff",method="POST",status="200"} 1
    chorus_http_requests_total{route="/api/tasks/{id}/handoff/cancel",method="POST",status="200"} 1
    chorus_http_requests_total{route="none",method="GET",status="404"} 1
    chorus_watched 0
    "#);
    for name in [
        "chorus_http_request_seconds_bucket",
        "chorus_store_batch_size_bucket",
        "chorus_store_commit_seconds_count",
    ] {
        assert!(text.contains(name), "{name} is missing");
    }
}

#[tokio::test]
async fn the_timestamp_of_an_answer_comes_from_the_server_clock() {
    let app = TestApp::new().await;
    app.clock.advance(42);
    assert_eq!(
        app.get("/healthz").await.json()["meta"]["timestamp"],
        1_767_225_600_042_i64
    );
    assert!(Clock::system().now().as_millis() > 1_767_225_600_042);
}
