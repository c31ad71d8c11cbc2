//! `Idempotency-Key`

use axum::body::Body;
use axum::http::{Method, Request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp};

async fn with_key(
    app: &TestApp,
    key: &str,
    method: Method,
    path: &str,
    body: impl Into<Body>,
) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("idempotency-key", key);
    app.send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_repeated_request_returns_the_first_answer_and_changes_nothing() {
    let app = TestApp::new().await;
    let body = json!({ "description": "d" }).to_string();
    let first = with_key(&app, "k", Method::POST, "/api/tasks", body.clone()).await;
    app.clock.advance(1_000);
    let second = with_key(&app, "k", Method::POST, "/api/tasks", body).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201));
    assert_eq!(first.data(), second.data());
    assert_eq!(
        app.get("/api/tasks").await.data().as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn reusing_a_key_for_another_request_is_a_conflict() {
    let app = TestApp::new().await;
    let body = |text: &str| json!({ "description": text }).to_string();
    with_key(&app, "k", Method::POST, "/api/tasks", body("a"))
        .await
        .data();
    assert_snapshot!(with_key(&app, "k", Method::POST, "/api/tasks", body("b")).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Idempotency-Key was already used for a different request. Choose another key"}}"#);
    let id = app.get("/api/tasks").await.data()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let elsewhere = format!("/api/tasks/{id}/queue");
    let reply = with_key(
        &app,
        "k",
        Method::POST,
        &elsewhere,
        json!({ "content": "c" }).to_string(),
    )
    .await;
    assert_eq!(reply.error(), (409, "CONFLICT".to_owned()));
}

#[tokio::test]
async fn every_change_can_be_repeated_with_its_key() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    for (place, (method, path, body)) in [
        (Method::PUT, "status", json!({ "status": "waiting" })),
        (Method::PUT, "planning", json!({ "summary": "s" })),
        (Method::POST, "queue", json!({ "content": "c" })),
        (Method::POST, "attachments?filename=a.txt", json!("bytes")),
        (Method::DELETE, "attachments/a.txt", Value::Null),
        (
            Method::POST,
            "handoff",
            json!({ "agentName": "qa", "prompt": "p" }),
        ),
        (Method::PUT, "handoff/complete", json!({ "output": "o" })),
        (
            Method::POST,
            "handoff",
            json!({ "agentName": "qa", "prompt": "p" }),
        ),
        (Method::POST, "handoff/cancel", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/api/tasks/{id}/{path}");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let key = format!("key-{place}");
        let first = with_key(&app, &key, method.clone(), &path, body.clone())
            .await
            .data();
        let events = app.last_event().await;
        app.clock.advance(1_000);
        let second = with_key(&app, &key, method, &path, body).await.data();
        assert_eq!(first, second, "{path}");
        assert_eq!(app.last_event().await, events, "{path}");
    }
}

#[tokio::test]
async fn a_repeated_upload_leaves_one_file() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/attachments?filename=a.txt");
    for _ in 0..3 {
        with_key(&app, "k", Method::POST, &path, "bytes")
            .await
            .data();
    }
    let folder = app.data_dir.path().join("uploads").join(&id);
    assert_eq!(folder.read_dir().unwrap().count(), 1);
    let file = app.get(&format!("/api/tasks/{id}/attachments/a.txt")).await;
    assert_eq!(file.body, b"bytes");
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/handoff/complete");
    let body = json!({ "output": "o" }).to_string();
    let reply = with_key(&app, "k", Method::PUT, &path, body.clone()).await;
    assert_eq!(reply.error(), (409, "CONFLICT".to_owned()));
    app.post(
        &format!("/api/tasks/{id}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    assert_eq!(
        with_key(&app, "k", Method::PUT, &path, body).await.status,
        200
    );
}

#[tokio::test]
async fn a_key_must_be_printable_and_within_the_limit() {
    let app = TestApp::new().await;
    let body = json!({ "description": "d" }).to_string();
    let refused = async |key: &str| {
        with_key(&app, key, Method::POST, "/api/tasks", body.clone())
            .await
            .line()
    };
    assert_snapshot!(refused("").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"Idempotency-Key must be 1 to 255 visible ASCII characters"}}"#);
    assert_snapshot!(refused("two words").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"Idempotency-Key must be 1 to 255 visible ASCII characters"}}"#);
    assert_snapshot!(refused(&"k".repeat(256)).await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"Idempotency-Key must be 1 to 255 visible ASCII characters"}}"#);
    let longest = "~".repeat(255);
    let reply = with_key(&app, &longest, Method::POST, "/api/tasks", body.clone()).await;
    assert_eq!(reply.status, 201);
    assert_eq!(
        app.get("/api/tasks").await.data().as_array().unwrap().len(),
        1
    );
}
