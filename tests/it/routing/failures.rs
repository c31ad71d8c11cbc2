//! What becomes of a task whose run fails.

use reqwest::Method;
use serde_json::{Value, json};

use super::{get, make, need, report, send};
use crate::support::{Events, Workshop};

fn agents(task: &Value) -> Vec<&str> {
    let chain = task["agentChain"].as_array().unwrap();
    chain
        .iter()
        .map(|entry| entry["agentName"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn another_agent_tries_after_a_run_that_failed() {
    let workshop = Workshop::new()
        .specialist("a-broken", "testing", &["python", "mcp"], "exit 7")
        .specialist("b-good", "testing", &["python"], &report("passed", "Green"));
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = make(&client, &need("testing", &["python", "mcp"])).await;
    events.until("status_changed", "completed").await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(agents(&ended), ["a-broken", "b-good"]);
    assert_eq!(
        (&ended["routeAttempts"], &ended["blocked"]),
        (&json!(2), &json!(false))
    );
}

#[tokio::test]
async fn after_the_limit_the_task_is_blocked_and_the_operator_has_mail() {
    let workshop = Workshop::new()
        .specialist("one", "testing", &[], "echo wrong >&2; exit 7")
        .specialist("two", "testing", &[], "exit 8")
        .specialist("three", "testing", &[], &report("passed", "Green"));
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = make(&client, &need("testing", &[])).await;
    // The two that are first by name fail.
    send(
        &client,
        Method::PATCH,
        "/api/agents/three",
        &json!({ "available": false }),
    )
    .await;
    events.until("task_blocked", "2 times").await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(ended["agentChain"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&ended["routeAttempts"], &ended["blocked"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(ended["status"]["type"], "waiting");
    let mail: Value = client
        .get("/api/mail", &[("to", "operator".to_owned())])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(mail.as_array().unwrap().len(), 1);
    assert_eq!(mail[0]["taskId"], task.as_str());
    assert_eq!(
        (&mail[0]["from"], &mail[0]["fromVerified"]),
        (&json!("router"), &json!(true))
    );
    assert_eq!(mail[0]["urgency"], "high");
    // A person lets it go on: one more attempt, by whoever suits now.
    send(
        &client,
        Method::PATCH,
        "/api/agents/three",
        &json!({ "available": true }),
    )
    .await;
    send(
        &client,
        Method::PUT,
        &format!("/api/tasks/{task}/status"),
        &json!({ "status": "pending" }),
    )
    .await;
    events.until("status_changed", "completed").await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(agents(&ended)[2], "three");
    assert_eq!(
        (&ended["routeAttempts"], &ended["blocked"]),
        (&json!(3), &json!(false))
    );
    workshop.assert_invariants();
}

#[tokio::test]
async fn what_a_person_cancels_is_not_tried_again() {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let script = format!("read _ <'{}'; echo done", gate.path().display());
    let workshop = workshop.specialist("dev", "implementation", &[], &script);
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = make(&client, &need("implementation", &[])).await;
    events.until("run_started", "dev").await;
    send(
        &client,
        Method::POST,
        &format!("/api/tasks/{task}/handoff/cancel"),
        &json!({ "reason": "not now" }),
    )
    .await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(
        (&ended["blocked"], &ended["waitingReason"]),
        (&json!(true), &json!("Cancelled: not now"))
    );
    assert_eq!(ended["agentChain"].as_array().unwrap().len(), 1);
    let choice = get(&client, &format!("/api/route/{task}")).await;
    assert_eq!(choice["reason"], "It is blocked: Cancelled: not now");
}

#[tokio::test]
async fn a_report_of_failure_ends_the_task_and_lets_those_go_on_that_wait_for_it() {
    let workshop = Workshop::new()
        .specialist("tess", "testing", &[], &report("failed", "Red"))
        .specialist("fixer", "fixing", &[], &report("passed", "Mended"));
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let test = make(&client, &need("testing", &[])).await;
    let only_if_failed = json!({ "description": "f", "agentRole": "fixing", "dependsOn": [{ "taskId": test, "outcome": "failed" }] });
    let fix = make(&client, &only_if_failed).await;
    let after = json!({ "description": "a", "agentRole": "fixing", "dependsOn": [test] });
    let after = make(&client, &after).await;
    events.until("status_changed", "\"completed\"").await;
    let (test, fix, after) = (
        get(&client, &format!("/api/tasks/{test}")).await,
        get(&client, &format!("/api/tasks/{fix}")).await,
        get(&client, &format!("/api/tasks/{after}")).await,
    );
    assert_eq!(
        test["status"],
        json!({ "type": "failed", "message": "Red" })
    );
    assert_eq!(fix["status"]["type"], "completed");
    assert_eq!(
        after["status"]["type"], "pending",
        "it waits for what never came"
    );
    assert_eq!(fix["agentContext"]["knownIssues"], json!(["Red"]));
}
