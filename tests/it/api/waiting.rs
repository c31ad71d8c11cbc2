//! Long polls: `?wait=idle` on a task and `?wait=` on a hand-off.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Reply, TestApp};

/// Makes a task that an agent works on; returns its id and that of its hand-off.
async fn busy_task(app: &TestApp) -> (String, String) {
    let id = app.task("d").await;
    let body = json!({ "agentName": "qa", "prompt": "p" });
    let task = app
        .post(&format!("/api/tasks/{id}/handoff"), body)
        .await
        .data();
    (id, task["agentChain"][0]["id"].as_str().unwrap().to_owned())
}

/// Asks for something in the background, and returns when the question waits.
async fn waiting(app: &TestApp, path: &str) -> JoinHandle<Reply> {
    let asked = app.get_in_background(path);
    while app.engine.feed().watched() == 0 {
        assert!(!asked.is_finished(), "it did not wait");
        tokio::task::yield_now().await;
    }
    asked
}

async fn answer(asked: JoinHandle<Reply>) -> Value {
    let reply = tokio::time::timeout(Duration::from_mins(1), asked).await;
    reply.expect("it answers").unwrap().data()
}

#[tokio::test]
async fn a_task_that_is_idle_is_answered_at_once() {
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
async fn a_task_is_answered_when_its_agent_completes() {
    let app = TestApp::new().await;
    let (id, handoff) = busy_task(&app).await;
    let asked = waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    // An event that does not end the hand-off wakes it, and it waits on.
    app.post(&format!("/api/tasks/{id}/queue"), json!({ "content": "c" }))
        .await
        .data();
    let ended = waiting(&app, &format!("/api/handoffs/{handoff}?wait=600")).await;
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
async fn a_task_is_answered_when_its_agent_is_cancelled() {
    let app = TestApp::new().await;
    let (id, _) = busy_task(&app).await;
    let asked = waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    app.post(&format!("/api/tasks/{id}/handoff/cancel"), json!({}))
        .await
        .data();
    assert_eq!(answer(asked).await["currentAgent"], Value::Null);
}

#[tokio::test]
async fn at_the_timeout_the_answer_is_as_things_are() {
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
async fn a_handoff_that_has_ended_is_answered_at_once() {
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
async fn those_who_wait_are_let_go_when_the_server_stops() {
    let app = TestApp::new().await;
    let (id, _) = busy_task(&app).await;
    let asked = waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
    app.engine.stopping().cancel();
    assert_eq!(answer(asked).await["currentAgent"], "qa");
}

#[tokio::test]
async fn a_caller_who_goes_leaves_nothing_behind() {
    let app = TestApp::new().await;
    let (id, _) = busy_task(&app).await;
    let asked = waiting(&app, &format!("/api/tasks/{id}?wait=idle&timeout=600")).await;
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
