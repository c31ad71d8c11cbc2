//! Routed tasks whose runs fail.

use reqwest::Method;
use serde_json::{Value, json};

use super::{create_task, get, print_report, send, task_with_role};
use crate::support::{Events, Sandbox};

fn agents_of(task: &Value) -> Vec<&str> {
    let chain = task["agentChain"].as_array().unwrap();
    chain
        .iter()
        .map(|entry| entry["agentName"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn another_agent_retries_after_a_failed_run() {
    let sandbox = Sandbox::new()
        .with_specialist("a-broken", "testing", &["python", "mcp"], "exit 7")
        .with_specialist(
            "b-good",
            "testing",
            &["python"],
            &print_report("passed", "Green"),
        );
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client, &task_with_role("testing", &["python", "mcp"])).await;
    events.wait_for("status_changed", "completed").await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(agents_of(&ended), ["a-broken", "b-good"]);
    assert_eq!(
        (&ended["routeAttempts"], &ended["blocked"]),
        (&json!(2), &json!(false))
    );
}

#[tokio::test]
async fn after_the_last_attempt_the_task_is_blocked_and_the_operator_gets_mail() {
    let sandbox = Sandbox::new()
        .with_specialist("one", "testing", &[], "echo wrong >&2; exit 7")
        .with_specialist("two", "testing", &[], "exit 8")
        .with_specialist("three", "testing", &[], &print_report("passed", "Green"));
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client, &task_with_role("testing", &[])).await;
    // The other two agents fail.
    send(
        &server.operator(),
        Method::PATCH,
        "/api/agents/three",
        &json!({ "available": false }),
    )
    .await;
    events.wait_for("task_blocked", "2 times").await;
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
    // A person reopens the task: one more attempt, by an agent that qualifies now.
    send(
        &server.operator(),
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
    events.wait_for("status_changed", "completed").await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(agents_of(&ended)[2], "three");
    assert_eq!(
        (&ended["routeAttempts"], &ended["blocked"]),
        (&json!(3), &json!(false))
    );
    sandbox.assert_invariants();
}

#[tokio::test]
async fn a_cancelled_hand_off_is_not_retried() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("read _ <'{}'; echo done", gate.path().display());
    let sandbox = sandbox.with_specialist("dev", "implementation", &[], &script);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client, &task_with_role("implementation", &[])).await;
    events.wait_for("run_started", "dev").await;
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
    assert_eq!(choice["reason"], "The task is blocked: Cancelled: not now");
}

#[tokio::test]
async fn a_failed_report_fails_the_task_and_releases_its_waiters() {
    let sandbox = Sandbox::new()
        .with_specialist("tess", "testing", &[], &print_report("failed", "Red"))
        .with_specialist("fixer", "fixing", &[], &print_report("passed", "Mended"));
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let test = create_task(&client, &task_with_role("testing", &[])).await;
    let only_if_failed = json!({ "description": "f", "agentRole": "fixing", "dependsOn": [{ "taskId": test, "outcome": "failed" }] });
    let fix = create_task(&client, &only_if_failed).await;
    let after = json!({ "description": "a", "agentRole": "fixing", "dependsOn": [test] });
    let after = create_task(&client, &after).await;
    events.wait_for("status_changed", "\"completed\"").await;
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
        "its dependency did not complete"
    );
    assert_eq!(fix["agentContext"]["knownIssues"], json!(["Red"]));
}
