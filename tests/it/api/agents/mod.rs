//! `/api/agents`

mod capabilities;
mod changes;
mod seeds;
mod setup;
mod values;

use insta::assert_snapshot;

use crate::support::TestApp;

#[tokio::test]
async fn agents_are_listed_by_name() {
    let app = TestApp::new().await;
    let reply = app.get("/api/agents").await;
    let names: Vec<_> = reply
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "developer",
            "developer-review",
            "orchestrator",
            "planner",
            "qa"
        ]
    );
}

#[tokio::test]
async fn an_unknown_agent_is_not_found() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/agents/nobody").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Agent not found: nobody"}}"#);
    assert_snapshot!(app.get("/api/agents/no%20one%2F..").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Agent not found: no one/.."}}"#);
}

#[tokio::test]
async fn an_installation_without_agents_lists_none() {
    let app = TestApp::unseeded().await;
    assert_snapshot!(app.get("/api/agents").await.line(), @r#"200 {"data":[],"meta":{"timestamp":1767225600000,"event":0}}"#);
}
