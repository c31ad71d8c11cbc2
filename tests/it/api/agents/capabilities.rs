//! `POST /api/agents/{name}/capabilities`

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp};

const TOKEN: &str = "the-token-of-a-run";

/// Starts a run of the developer, with [`TOKEN`].
async fn app_with_run() -> TestApp {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    app.start_run(&task, "developer", TOKEN).await;
    app
}

async fn announce(app: &TestApp, agent: &str, body: Value) -> Reply {
    let path = format!("/api/agents/{agent}/capabilities");
    app.with_token(TOKEN, Method::POST, &path, body).await
}

#[tokio::test]
async fn an_agent_announces_its_capabilities() {
    let app = app_with_run().await;
    let before = app.get("/api/agents/developer").await.data();
    let offered = json!({
        "roles": ["implementation", "fixing", "implementation"], "skills": ["Rust", "rust"], "maxSessionDuration": 45,
        "responsibilities": "Writes Rust", "available": false,
    });
    let announced = announce(&app, "Developer", offered).await.data();
    let mut expected = before.clone();
    for (key, value) in [
        ("roles", json!(["implementation", "fixing"])),
        ("skills", json!(["rust"])),
        ("maxSessionDuration", json!(45)),
        ("responsibilities", json!("Writes Rust")),
        ("available", json!(false)),
    ] {
        expected[key] = value;
    }
    assert_eq!(announced, expected);
    assert_eq!(app.get("/api/agents/developer").await.data(), expected);
    assert_eq!(
        announce(&app, "developer", json!({})).await.data(),
        expected
    );
}

#[tokio::test]
async fn a_run_announces_only_for_its_own_agent() {
    let app = app_with_run().await;
    let before = app.get("/api/agents").await.data();
    let offered = || json!({ "roles": ["testing"] });
    assert_snapshot!(announce(&app, "qa", offered()).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may change only its own agent, developer, not qa"}}"#);
    assert_snapshot!(announce(&app, "nobody", offered()).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may change only its own agent, developer, not nobody"}}"#);
    for (method, path) in [
        (Method::PUT, "/api/agents/developer"),
        (Method::PATCH, "/api/agents/developer"),
        (Method::DELETE, "/api/agents/developer"),
        (Method::PUT, "/api/agents/another"),
    ] {
        let refused = app.with_token(TOKEN, method.clone(), path, offered()).await;
        assert_eq!(
            refused.error(),
            (403, "FORBIDDEN".to_owned()),
            "{method} {path}"
        );
    }
    assert_eq!(app.get("/api/agents").await.data(), before);
}

#[tokio::test]
async fn a_run_cannot_raise_its_own_session_limit() {
    let app = app_with_run().await;
    let limit =
        |minutes: Value| announce(&app, "developer", json!({ "maxSessionDuration": minutes }));
    assert_eq!(limit(json!(60)).await.data()["maxSessionDuration"], 60);
    assert_snapshot!(limit(json!(61)).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may lower its maxSessionDuration of 60 minutes, but not raise or remove it. Leave that to the operator"}}"#);
    assert_snapshot!(limit(Value::Null).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may lower its maxSessionDuration of 60 minutes, but not raise or remove it. Leave that to the operator"}}"#);
    assert_eq!(limit(json!(60)).await.data()["maxSessionDuration"], 60);
    assert_eq!(limit(json!(30)).await.data()["maxSessionDuration"], 30);
    assert_eq!(
        limit(json!(60)).await.error(),
        (403, "FORBIDDEN".to_owned())
    );
    // A person may remove the limit.
    let body = json!({ "maxSessionDuration": null });
    let removed = app
        .operator()
        .post("/api/agents/developer/capabilities", body)
        .await;
    assert_eq!(removed.data()["maxSessionDuration"], Value::Null);
}

#[tokio::test]
async fn invalid_and_unknown_capabilities_are_refused() {
    let app = TestApp::new().await;
    let post = |body: Value| app.operator().post("/api/agents/qa/capabilities", body);
    assert_snapshot!(post(json!({ "program": "/bin/sh" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"program: unknown field `program`, expected one of `roles`, `skills`, `maxSessionDuration`, `responsibilities`, `available`"}}"#);
    assert_snapshot!(post(json!({ "roles": "testing" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"roles: invalid type: string \"testing\", expected a sequence"}}"#);
    assert_snapshot!(post(json!({ "roles": null })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"roles: invalid type: null, expected a sequence"}}"#);
    assert_snapshot!(post(json!({ "maxSessionDuration": 525_601 })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"maxSessionDuration: must be a number of minutes, 1 to 525600"}}"#);
    assert_snapshot!(post(json!({ "responsibilities": "x".repeat(5000) })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"responsibilities: must not be longer than 4096 bytes","details":{"problems":[{"field":"responsibilities","message":"must not be longer than 4096 bytes"}]}}}"#);
    let nobody = app
        .operator()
        .post("/api/agents/nobody/capabilities", json!({ "roles": [] }));
    assert_snapshot!(nobody.await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Agent not found: nobody"}}"#);
    let offered = post(json!({ "roles": ["testing"], "skills": ["qa"] })).await;
    assert_eq!(offered.data()["roles"], json!(["testing"]));
}
