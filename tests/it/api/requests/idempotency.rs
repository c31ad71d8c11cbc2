//! `Idempotency-Key`

use serde_json::{Value, json};

use super::{create, id, in_state, refusal, show, with_key};
use crate::support::TestApp;

/// Posts twice with one key, and then another body with the same key. Returns the answer.
async fn twice(app: &TestApp, path: &str, body: Value, other: Value) -> Value {
    let events = async || app.events().await.len();
    let before = events().await;
    let first = with_key(app, path, path, body.clone()).await;
    assert_eq!(events().await, before + 1, "{path}");
    app.clock.advance(1_000);
    let second = with_key(app, path, path, body).await;
    assert_eq!(first.status, second.status);
    assert_eq!(first.data(), second.data(), "{path}");
    let other = with_key(app, path, path, other).await;
    let said = "409 Idempotency-Key was already used for a different request. Choose another key";
    assert_eq!(refusal(&other), said, "{path}");
    assert_eq!(events().await, before + 1, "{path}");
    first.data()
}

#[tokio::test]
async fn a_repeated_key_creates_a_request_once() {
    let app = TestApp::new().await;
    let body = json!({ "title": "Look", "body": "", "kind": "fix" });
    let other = json!({ "title": "Look away", "body": "", "kind": "fix" });
    let made = twice(&app, "/api/requests", body, other).await;
    assert_eq!(app.get("/api/requests").await.data(), json!([made]));
}

#[tokio::test]
async fn a_repeated_key_changes_the_state_once() {
    let app = TestApp::new().await;
    for (state, action, body, other) in [
        (
            "delegated",
            "claim",
            json!({ "agent": "a" }),
            json!({ "agent": "b" }),
        ),
        (
            "claimed",
            "done",
            json!({ "response": "a" }),
            json!({ "response": "b" }),
        ),
        (
            "needs",
            "done",
            json!({ "response": "a" }),
            json!({ "response": "b" }),
        ),
        (
            "claimed",
            "requeue",
            json!({ "reason": "a" }),
            json!({ "reason": "b" }),
        ),
    ] {
        let id = in_state(&app, state).await;
        let answer = twice(&app, &format!("/api/requests/{id}/{action}"), body, other).await;
        assert_eq!(show(&app, &id).await, answer);
    }
}

#[tokio::test]
async fn a_repeated_key_approves_once() {
    let app = TestApp::new().await;
    for action in ["approve", "next"] {
        let id = create(&app, "Look").await;
        let path = format!("/api/requests/{id}/{action}");
        let first = with_key(&app, action, &path, json!({})).await;
        app.clock.advance(1_000);
        let second = with_key(&app, action, &path, json!({})).await;
        assert_eq!((first.status.as_u16(), first.data()), (200, second.data()));
        assert_eq!(with_key(&app, "other", &path, json!({})).await.status, 409);
        let other = create(&app, "Look there").await;
        let path = format!("/api/requests/{other}/{action}");
        let reply = with_key(&app, action, &path, json!({})).await;
        assert_eq!(reply.error(), (409, "CONFLICT".to_owned()));
        assert_eq!(show(&app, &other).await["state"], "needs");
    }
}

#[tokio::test]
async fn a_repeated_key_approves_several_once() {
    let app = TestApp::new().await;
    let (a, b) = (create(&app, "a").await, create(&app, "b").await);
    let path = "/api/requests/approve";
    let first = with_key(&app, "k", path, json!({ "ids": [a, b] })).await;
    let second = with_key(&app, "k", path, json!({ "ids": [a, b] })).await;
    assert_eq!(first.data(), second.data());
    let other = with_key(&app, "k", path, json!({ "ids": [b, a] })).await;
    assert_eq!(other.error(), (409, "CONFLICT".to_owned()));
}

#[tokio::test]
async fn a_repeated_key_renews_the_lease_once() {
    let app = TestApp::new().await;
    let id = in_state(&app, "claimed").await;
    let path = format!("/api/requests/{id}/heartbeat");
    let first = with_key(&app, "k", &path, json!({})).await.data();
    app.clock.advance(1_000);
    assert_eq!(with_key(&app, "k", &path, json!({})).await.data(), first);
    let later = with_key(&app, "l", &path, json!({})).await.data();
    assert_ne!(later["lease"]["expiresAt"], first["lease"]["expiresAt"]);
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    let path = format!("/api/requests/{id}/claim");
    let body = json!({ "agent": "worker" });
    assert_eq!(with_key(&app, "k", &path, body.clone()).await.status, 409);
    super::approve(&app, &id).await;
    assert_eq!(with_key(&app, "k", &path, body).await.status, 200);
}

#[tokio::test]
async fn a_claim_repeated_after_its_end_creates_no_second_claim() {
    let app = TestApp::new().await;
    let request = in_state(&app, "delegated").await;
    let path = format!("/api/requests/{request}/claim");
    let body = json!({ "agent": "worker" });
    let first = with_key(&app, "k", &path, body.clone()).await;
    super::act(&app, &request, "done", json!({ "response": "r" }))
        .await
        .data();
    let again = with_key(&app, "k", &path, body).await;
    assert_eq!((id(&again), again.data()), (request.clone(), first.data()));
    assert_eq!(show(&app, &request).await["attempts"], 1);
}
