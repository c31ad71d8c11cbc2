//! Waiting for a request: `?wait=` and `&state=`.
use insta::assert_snapshot;
use serde_json::json;
use tokio::task::JoinHandle;

use super::{act, act_as_operator, approve, claim, create, in_state, reconcile, withdrawn};
use crate::api::waiting::{self, answer};
use crate::support::{Reply, TestApp};

/// Reads a request in the background, and returns as soon as the call waits.
async fn start_waiting(app: &TestApp, id: &str, query: &str) -> JoinHandle<Reply> {
    waiting::start_waiting(app, &format!("/api/requests/{id}?{query}")).await
}

#[tokio::test]
async fn waiting_ends_at_the_response_and_not_before() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    let asked = start_waiting(&app, &id, "wait=600").await;
    approve(&app, &id).await;
    claim(&app, &id, "worker").await;
    act(&app, &id, "requeue", json!({ "reason": "No time" }))
        .await
        .data();
    act_as_operator(&app, &id, "next", json!({})).await.data();
    claim(&app, &id, "worker").await;
    assert!(!asked.is_finished());
    act(&app, &id, "done", json!({ "response": "Here." }))
        .await
        .data();
    let request = answer(asked).await;
    assert_eq!(
        (&request["state"], &request["response"]),
        (&json!("done"), &json!("Here."))
    );
    assert_eq!(app.engine.feed().watched(), 0);
}

#[tokio::test]
async fn every_state_can_be_waited_for() {
    for (state, before) in [
        ("delegated", "needs"),
        ("next", "needs"),
        ("claimed", "next"),
        ("done", "claimed"),
        ("needs", "claimed"),
    ] {
        let app = TestApp::new().await;
        let id = in_state(&app, before).await;
        let asked = start_waiting(&app, &id, &format!("wait=600&state={state}")).await;
        match state {
            "delegated" => approve(&app, &id).await,
            "next" => drop(act_as_operator(&app, &id, "next", json!({})).await.data()),
            "claimed" => drop(claim(&app, &id, "worker").await),
            "done" => drop(
                act(&app, &id, "done", json!({ "response": "r" }))
                    .await
                    .data(),
            ),
            _ => drop(
                act(&app, &id, "requeue", json!({ "reason": "r" }))
                    .await
                    .data(),
            ),
        }
        assert_eq!(answer(asked).await["state"], state);
    }
}

#[tokio::test]
async fn a_state_reached_or_passed_answers_at_once() {
    let app = TestApp::new().await;
    for (wanted, reached) in [
        ("needs", &["needs"][..]),
        ("delegated", &["delegated", "next", "claimed", "done"]),
        ("next", &["delegated", "next", "claimed", "done"]),
        ("claimed", &["claimed", "done"]),
        ("done", &["done"]),
    ] {
        for state in reached {
            let id = in_state(&app, state).await;
            let asked =
                app.get_in_background(&format!("/api/requests/{id}?wait=600&state={wanted}"));
            assert_eq!(answer(asked).await["state"], *state);
        }
    }
}

#[tokio::test]
async fn the_timeout_answers_with_the_current_state() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    for query in ["wait=0", "wait=1", "wait=0&state=claimed"] {
        let request = app.get(&format!("/api/requests/{id}?{query}")).await.data();
        assert_eq!(request["state"], "needs");
    }
    assert_eq!(app.engine.feed().watched(), 0);
}

#[tokio::test]
async fn waiting_ends_when_the_request_is_withdrawn() {
    let app = TestApp::new().await;
    reconcile(&app, &["Look"]).await;
    let id = app.get("/api/requests").await.data()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let asked = start_waiting(&app, &id, "wait=600").await;
    reconcile(&app, &[]).await;
    let request = answer(asked).await;
    assert_eq!(
        (&request["state"], request["withdrawnAt"].is_number()),
        (&json!("needs"), true)
    );
    let gone = withdrawn(&app, "Gone before").await;
    let request = app
        .get(&format!("/api/requests/{gone}?wait=600"))
        .await
        .data();
    assert!(request["withdrawnAt"].is_number());
}

#[tokio::test]
async fn waiting_ends_when_the_server_stops() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    let asked = start_waiting(&app, &id, "wait=600").await;
    app.engine.stopping().cancel();
    assert_eq!(answer(asked).await["state"], "needs");
}

#[tokio::test]
async fn wrong_waiting_parameters_are_refused_by_name() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    let refused = async |query: &str| app.get(&format!("/api/requests/{id}?{query}")).await.line();
    assert_snapshot!(refused("wait=601").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: wait: must be 0 to 600 seconds"}}"#);
    assert_snapshot!(refused("wait=-1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: wait: invalid digit found in string"}}"#);
    assert_snapshot!(refused("wait=done").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: wait: invalid digit found in string"}}"#);
    assert_snapshot!(refused("wait=1&state=finished").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: unknown variant `finished`, expected one of `needs`, `delegated`, `next`, `claimed`, `done`"}}"#);
    assert_snapshot!(refused("state=done").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: needs wait, the number of seconds to wait"}}"#);
    assert_snapshot!(refused("timeout=1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: timeout: unknown field `timeout`, expected `wait` or `state`"}}"#);
}
