//! Values of environment variables, which only the operator sees.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::TestApp;

const HIDDEN: fn() -> Value = || json!({ "KEY": null, "LANG": null });

async fn with_secret() -> TestApp {
    let app = TestApp::new().await;
    let agent = json!({ "provider": "command", "program": "/bin/true", "environment": { "KEY": "s3cret", "LANG": "C" } });
    app.operator().put("/api/agents/mine", agent).await.data();
    app
}

async fn stored(app: &TestApp) -> Value {
    let agent = app.operator().get("/api/agents/mine").await;
    agent.data()["environment"].clone()
}

#[tokio::test]
async fn only_the_operator_sees_values() {
    let app = with_secret().await;
    assert_eq!(stored(&app).await, json!({ "KEY": "s3cret", "LANG": "C" }));
    let list = app.operator().get("/api/agents").await;
    assert!(list.data().to_string().contains("s3cret"));
    let task = app.task("Work").await;
    app.start_run(&task, "mine", "token-of-run").await;
    let as_run = async |method: Method, path: &str, body: Value| {
        app.with_token("token-of-run", method, path, body).await
    };
    for reply in [
        app.get("/api/agents/mine").await,
        app.get("/api/agents").await,
        as_run(Method::GET, "/api/agents/mine", Value::Null).await,
        as_run(Method::GET, "/api/agents", Value::Null).await,
        as_run(
            Method::POST,
            "/api/agents/mine/capabilities",
            json!({ "skills": ["rust"] }),
        )
        .await,
        app.get("/api/events?after=0&limit=1000").await,
    ] {
        if !reply.status.is_success() {
            continue;
        }
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!text.contains("s3cret"), "{text}");
    }
    let shown = app.get("/api/agents/mine").await.data();
    assert_eq!(shown["environment"], HIDDEN());
    for event in app.events().await {
        assert!(!format!("{event:?}").contains("s3cret"));
    }
}

#[tokio::test]
async fn an_agent_that_is_written_back_as_it_was_read_keeps_its_values() {
    let app = with_secret().await;
    let shown = app.get("/api/agents/mine").await.data();
    assert_eq!(shown["environment"], HIDDEN());
    app.operator().put("/api/agents/mine", shown).await.data();
    assert_eq!(stored(&app).await, json!({ "KEY": "s3cret", "LANG": "C" }));
    let change = json!({ "environment": { "KEY": null, "MORE": "x" } });
    app.operator()
        .patch("/api/agents/mine", change)
        .await
        .data();
    assert_eq!(stored(&app).await, json!({ "KEY": "s3cret", "MORE": "x" }));
}

#[tokio::test]
async fn a_variable_without_a_value_is_refused() {
    let app = with_secret().await;
    let new = json!({ "environment": { "NEW": null } });
    for reply in [
        app.operator().put("/api/agents/mine", json!({ "provider": "command", "program": "/bin/true", "environment": { "NEW": null } })).await,
        app.operator().patch("/api/agents/mine", new).await,
    ] {
        assert_eq!(reply.error(), (400, "INVALID_BODY".to_owned()));
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("environment: NEW has no value; give one"), "{message}");
    }
    assert_eq!(stored(&app).await, json!({ "KEY": "s3cret", "LANG": "C" }));
}
