//! A status with a reason

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{TestApp, redact};

async fn set(app: &TestApp, task: &str, body: Value) -> String {
    let reply = app.put(&format!("/api/tasks/{task}/status"), body).await;
    if reply.status == 200 {
        return reply.data()["status"].to_string();
    }
    let message = reply.json()["error"]["message"].clone();
    redact(&format!(
        "{} {}",
        reply.status.as_u16(),
        message.as_str().unwrap()
    ))
}

/// Returns the data of the last change of a status.
async fn last_change(app: &TestApp, task: &str) -> Value {
    let history = app.get(&format!("/api/tasks/{task}/history")).await.data();
    let mut events = history["events"].as_array().unwrap().iter().rev();
    let last = events.find(|event| event["eventType"] == "status_changed");
    last.map_or(Value::Null, |event| event["data"].clone())
}

#[tokio::test]
async fn the_history_keeps_the_reason_of_a_status() {
    let app = TestApp::new().await;
    let task = app.task("Write the parser").await;
    let reason = "Implementation \"complete\"\nand tested";
    let body = json!({ "status": "completed", "reason": reason });
    assert_eq!(set(&app, &task, body).await, r#"{"type":"completed"}"#);
    assert_eq!(
        last_change(&app, &task).await,
        json!({ "from": "pending", "to": "completed", "reason": reason })
    );
    // The documented body has no reason, and then the history has none.
    assert_eq!(
        set(&app, &task, json!({ "status": "pending" })).await,
        r#"{"type":"pending"}"#
    );
    assert_eq!(
        last_change(&app, &task).await,
        json!({ "from": "completed", "to": "pending" })
    );
    let failed = json!({ "status": { "type": "failed", "message": "No time" }, "reason": "The week is over" });
    set(&app, &task, failed).await;
    assert_eq!(last_change(&app, &task).await["reason"], "The week is over");
}

#[tokio::test]
async fn a_reason_that_would_be_lost_is_refused() {
    let app = TestApp::new().await;
    let task = app.task("Write the parser").await;
    let close = json!({ "status": "completed", "reason": "Done" });
    set(&app, &task, close.clone()).await;
    let before = app.last_event().await;
    assert_snapshot!(set(&app, &task, close).await, @"409 Task <id 1> is already completed, so the reason was not recorded. See `chorus task show <id 1>`");
    for (body, expected) in [
        (
            json!({ "status": "pending", "reason": "" }),
            "400 reason: must not be empty",
        ),
        (
            json!({ "status": "pending", "reason": "\n " }),
            "400 reason: must not be empty",
        ),
        (
            json!({ "status": "pending", "reason": 1 }),
            "400 reason: invalid type",
        ),
        (
            json!({ "status": "pending", "reason": "x".repeat(3 << 20) }),
            "413 ",
        ),
        (
            json!({ "status": "pending", "why": "x" }),
            "400 why: unknown field",
        ),
    ] {
        let refused = set(&app, &task, body).await;
        assert!(refused.starts_with(expected), "{refused}");
    }
    assert_eq!(app.last_event().await, before);
    // Without a reason, nothing is lost.
    assert_eq!(
        set(&app, &task, json!({ "status": "completed" })).await,
        r#"{"type":"completed"}"#
    );
    assert_eq!(app.last_event().await, before);
}

#[tokio::test]
async fn a_run_closes_only_its_own_tasks() {
    let app = TestApp::new().await;
    let (own, other) = (app.task("Mine").await, app.task("Not mine").await);
    app.start_run(&own, "developer", "sesame").await;
    let close = async |task: &str| {
        let path = format!("/api/tasks/{task}/status");
        let body = json!({ "status": "completed", "reason": "Done" });
        let reply = app.with_token("sesame", Method::PUT, &path, body).await;
        reply.status.as_u16()
    };
    assert_eq!(close(&own).await, 200);
    assert_eq!(close(&other).await, 403);
    assert_eq!(last_change(&app, &own).await["reason"], "Done");
    assert_eq!(last_change(&app, &other).await, Value::Null);
}
