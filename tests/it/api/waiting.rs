//! Long polls: `?wait=idle` on a task and `?wait=` on a hand-off.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Reply, TestApp};

/// Creates a task and hands it to an agent. Returns the ids of the task and the hand-off.
async fn busy_task(app: &TestApp) -> (String, String) {
    let id = app.task("d").await;
    let body = json!({ "agentName": "qa", "prompt": "p" });
    let task = app
        .post(&format!("/api/tasks/{id}/handoff"), body)
        .await
        .data();
    (id, task["agentChain"][0]["id"].as_str().unwrap().to_owned())
}

/// Sends a request in the background, and returns as soon as it waits.
pub(super) async fn start_waiting(app: &TestApp, path: &str) -> JoinHandle<Reply> {
    let asked = app.get_in_background(path);
    while app.engine.feed().watched() == 0 {
        assert!(!asked.is_finished(), "it did not wait");
        tokio::task::yield_now().await;
    }
    asked
}

pub(super) async fn answer(asked: JoinHandle<Reply>) -> Value {
    let reply = tokio::time::timeout(Duration::from_mins(1), asked).await;
    reply.expect("it answers").unwrap().data()
}

#[tokio::test]
async fn an_idle_task_answers_at_once() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let task = app
        .get(&format!("/api/tasks/{id}?wait=idle&timeout=600"))
        .await
        .data();
    assert_eq!(task["currentAgent"], Value::Null);
    assert_eq!(app.engine.feed().watched(), 0);
}

#[tokio::test]
async fn waiting_ends_when_the_agent_completes() {
    let app = TestApp::new().await;
    let (id, handoff) = busy_task(&app).await;
    let asked = start_waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    // An event that does not end the hand-off wakes the waiter, which keeps waiting.
    app.post(&format!("/api/tasks/{id}/queue"), json!({ "content": "c" }))
        .await
        .data();
    let ended = start_waiting(&app, &format!("/api/handoffs/{handoff}?wait=600")).await;
    app.put(
        &format!("/api/tasks/{id}/handoff/complete"),
        json!({ "output": "done" }),
    )
    .await
    .data();
    let task = answer(asked).await;
    assert_eq!(
        (&task["currentAgent"], &task["agentChain"][0]["output"]),
        (&Value::Null, &json!("done"))
    );
    assert_eq!(answer(ended).await["output"], "done");
}

#[tokio::test]
async fn waiting_ends_when_the_agent_is_cancelled() {
    let app = TestApp::new().await;
    let (id, _) = busy_task(&app).await;
    let asked = start_waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    app.post(&format!("/api/tasks/{id}/handoff/cancel"), json!({}))
        .await
        .data();
    assert_eq!(answer(asked).await["currentAgent"], Value::Null);
}

#[tokio::test]
async fn the_timeout_answers_with_the_current_state() {
    let app = TestApp::new().await;
    let (id, handoff) = busy_task(&app).await;
    for timeout in [0, 1] {
        let task = app
            .get(&format!("/api/tasks/{id}?wait=idle&timeout={timeout}"))
            .await
            .data();
        assert_eq!(task["currentAgent"], "qa");
        let handoff = app
            .get(&format!("/api/handoffs/{handoff}?wait={timeout}"))
            .await
            .data();
        assert_eq!(handoff["outcome"], Value::Null);
    }
}

#[tokio::test]
async fn an_ended_handoff_answers_at_once() {
    let app = TestApp::new().await;
    let (id, handoff) = busy_task(&app).await;
    app.put(
        &format!("/api/tasks/{id}/handoff/complete"),
        json!({ "output": "o" }),
    )
    .await
    .data();
    app.post(
        &format!("/api/tasks/{id}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    let handoff = app
        .get(&format!("/api/handoffs/{handoff}?wait=600"))
        .await
        .data();
    assert_eq!(handoff["outcome"], "completed");
}

#[tokio::test]
async fn waiting_ends_when_the_server_stops() {
    let app = TestApp::new().await;
    let (id, _) = busy_task(&app).await;
    let asked = start_waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    app.engine.stopping().cancel();
    assert_eq!(answer(asked).await["currentAgent"], "qa");
}

#[tokio::test]
async fn a_disconnected_waiter_is_removed() {
    let app = TestApp::new().await;
    let (id, _) = busy_task(&app).await;
    let asked = start_waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    assert_eq!(app.engine.feed().watched(), 0);
}

#[tokio::test]
async fn wrong_waiting_parameters_are_refused_by_name() {
    let app = TestApp::new().await;
    let (id, handoff) = busy_task(&app).await;
    let task = async |query: &str| app.get(&format!("/api/tasks/{id}?{query}")).await.line();
    assert_snapshot!(task("wait=done").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: wait: unknown variant `done`, expected `idle` or `settled`"}}"#);
    assert_snapshot!(task("wait=idle&timeout=601").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: timeout: must be 0 to 600 seconds"}}"#);
    assert_snapshot!(task("wait=idle&timeout=-1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: timeout: invalid digit found in string"}}"#);
    assert_snapshot!(task("wait=idle&timeout=1.5").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: timeout: invalid digit found in string"}}"#);
    assert_snapshot!(task("timeout=5").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: timeout: needs wait=idle or wait=settled"}}"#);
    assert_snapshot!(task("await=idle").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: await: unknown field `await`, expected `wait` or `timeout`"}}"#);
    let handoff = async |query: &str| {
        app.get(&format!("/api/handoffs/{handoff}?{query}"))
            .await
            .line()
    };
    assert_snapshot!(handoff("wait=601").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: wait: must be 0 to 600 seconds"}}"#);
    assert_snapshot!(handoff("wait=idle").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: wait: invalid digit found in string"}}"#);
}
