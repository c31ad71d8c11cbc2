//! `chorus alert`, and where else alerts are shown.

use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};
use crate::support::{Sandbox, redact, run_agent};

/// Raises an alert and returns its id.
async fn raise(desk: &Desk, message: &str) -> String {
    let body = json!({ "message": message });
    let alert = desk.app.post("/api/alerts", body).await.data();
    alert["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_alert_is_raised_listed_and_resolved() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["alert", "list"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    let task = desk.app.task("Write it").await;
    assert_snapshot!(desk.run(["alert", "create", "The disk\nis full", "--task", &task]).await, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    desk.app.clock.advance(5_000);
    let piped = desk.chorus(["alert", "create", "-"]).input("From a pipe");
    assert_snapshot!(transcript(piped).await.unwrap(), @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    assert_snapshot!(desk.run(["alert", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	a person	<id 2>	-	The disk is full
    <id 3>	2026-01-01 00:00:05	a person	-	-	From a pipe
    --- stderr
    ");
    let alerts = desk.app.get("/api/alerts").await.data();
    let [first, second] = [0, 1].map(|place| alerts[place]["id"].as_str().unwrap().to_owned());
    assert_eq!(alerts[0]["message"], "The disk\nis full");
    assert_eq!(alerts[1]["message"], "From a pipe");
    desk.app.clock.advance(5_000);
    assert_snapshot!(desk.run(["alert", "resolve", &first]).await, @"
    exit 0
    --- stdout
    <id 1> resolved
    --- stderr
    ");
    assert_snapshot!(desk.run(["alert", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:05	a person	-	-	From a pipe
    --- stderr
    ");
    assert_snapshot!(desk.run(["alert", "list", "--all"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	a person	<id 2>	2026-01-01 00:00:10	The disk is full
    <id 3>	2026-01-01 00:00:05	a person	-	-	From a pipe
    --- stderr
    ");
    assert_snapshot!(desk.run(["alert", "list", "--all", "--limit", "1"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	a person	<id 2>	2026-01-01 00:00:10	The disk is full
    --- stderr
    More rows: --after <id 1>
    ");
    assert_snapshot!(desk.run(["alert", "list", "--all", "--after", &second]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["alert", "list", "--json"]).await, @r#"
    exit 0
    --- stdout
    {"data":[{"id":"<id 1>","message":"From a pipe","taskId":null,"file":null,"line":null,"raisedAt":1767225605000,"raisedBy":"anonymous","resolvedAt":null,"resolvedBy":null}],"meta":{"timestamp":1767225610000,"event":4}}
    --- stderr
    "#);
    assert_snapshot!(desk.run(["alert", "resolve", &second, "--json"]).await, @r#"
    exit 0
    --- stdout
    {"data":{"id":"<id 1>","message":"From a pipe","taskId":null,"file":null,"line":null,"raisedAt":1767225605000,"raisedBy":"anonymous","resolvedAt":1767225610000,"resolvedBy":"operator"},"meta":{"timestamp":1767225610000}}
    --- stderr
    "#);
}

#[tokio::test]
async fn several_are_resolved_and_those_that_cannot_be_are_named() {
    let desk = Desk::open().await;
    let (first, second) = (raise(&desk, "one").await, raise(&desk, "two").await);
    assert_snapshot!(desk.run(["alert", "resolve", &first, "nope", &first, &second]).await, @"
    exit 3
    --- stdout
    <id 1> resolved
    <id 2> resolved
    --- stderr
    error: Alert not found: nope
    Alert <id 1> was already resolved by operator
    hint: `chorus alert list` lists the alerts
    ");
    assert_snapshot!(desk.run(["alert", "resolve", &second]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Alert <id 1> was already resolved by operator
    ");
    assert_snapshot!(desk.run(["alert", "resolve"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <ALERT>...

    Usage: chorus alert resolve <ALERT>...

    For more information, try '--help'.
    ");
    assert_eq!(desk.app.get("/api/alerts").await.data(), json!([]));
}

#[tokio::test]
async fn an_alert_that_says_nothing_or_is_about_nothing_is_refused() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["alert", "create", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: MESSAGE: must not be empty
    ");
    assert_snapshot!(desk.run(["alert", "create", "Look", "--task", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["alert", "create"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <MESSAGE>

    Usage: chorus alert create <MESSAGE>

    For more information, try '--help'.
    ");
    assert_eq!(desk.app.get("/api/alerts").await.data(), json!([]));
}

#[tokio::test]
async fn a_list_of_tasks_says_that_alerts_are_active() {
    let desk = Desk::open().await;
    desk.app.task("Write it").await;
    let first = raise(&desk, "one").await;
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Write it
    --- stderr
    1 alert is active: chorus alert list
    ");
    raise(&desk, "two").await;
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Write it
    --- stderr
    2 alerts are active: chorus alert list
    ");
    desk.run(["alert", "resolve", &first]).await;
    for place in 0..100 {
        raise(&desk, &place.to_string()).await;
    }
    assert_snapshot!(desk.run(["task", "list", "--status", "failed"]).await, @"
    exit 0
    --- stdout
    --- stderr
    More than 100 alerts are active: chorus alert list
    ");
}

#[tokio::test]
async fn an_alert_with_terminal_escapes_is_shown_harmless() {
    let desk = Desk::open().await;
    raise(&desk, "\u{1b}[2J\u{7}red\u{9b}31m\rover").await;
    let seen = desk.run(["alert", "list"]).await;
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!seen.contains(is_harmful), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_raises_an_alert_about_its_task_and_cannot_resolve_it() {
    let script = "id=$(chorus alert create 'The key has expired') && chorus alert resolve $id 2>&1";
    let sandbox = Sandbox::new().with_agent("worker", script);
    let server = sandbox.serve(1);
    let client = server.client();
    let handoff = run_agent(&client, "worker").await;
    assert_snapshot!(redact(handoff.output.as_str()), @"
    The agent gave a final message, but its program then ended with exit code 1. Standard error is empty; see the log.
    The final message:
    error: A run of worker may not resolve alerts, because the operator must see them. Leave the alert open
    ");
    let alerts: serde_json::Value = client
        .get("/api/alerts", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(alerts[0]["taskId"], json!(handoff.task_id));
    assert_eq!(alerts[0]["raisedBy"], "worker");
    assert_eq!(alerts[0]["resolvedAt"], json!(null));
}
