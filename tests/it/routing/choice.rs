//! The router's choice of an agent, and its explanation.

use reqwest::Method;
use serde_json::{Value, json};

use super::{create_task, get, print_report, send, task_with_role};
use crate::support::{Events, Sandbox};

/// Returns a row for each candidate: name, score and reason.
fn candidates(choice: &Value) -> Vec<(String, u64, String)> {
    let rows = choice["candidates"].as_array().unwrap();
    rows.iter()
        .map(|candidate| {
            (
                candidate["agent"].as_str().unwrap().to_owned(),
                candidate["score"].as_u64().unwrap(),
                candidate["why"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn row(agent: &str, score: u64, why: &str) -> (String, u64, String) {
    (agent.to_owned(), score, why.to_owned())
}

#[tokio::test]
async fn the_choice_is_explained_agent_by_agent() {
    let gate_script = |gate: &std::path::Path| format!("read _ <'{}'; echo done", gate.display());
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let wait = gate_script(gate.path());
    let sandbox = sandbox
        .with_specialist("alone", "testing", &["python"], "echo ok")
        .with_specialist("best", "testing", &["python", "mcp", "db"], "echo ok")
        .with_specialist("busy", "testing", &["python", "mcp"], &wait)
        .with_specialist("coder", "implementation", &["python", "mcp"], "echo ok")
        .with_specialist("other", "testing", &["cobol"], "echo ok")
        .with_configured_agent("away", &json!({ "provider": "command", "program": "/bin/sh", "roles": ["testing"], "skills": ["python"], "available": false }))
        .with_configured_agent("gone", &json!({ "provider": "command", "program": "/no/such/program", "roles": ["testing"], "skills": ["python", "mcp", "db"] }));
    let server = sandbox.serve_with(4, &["--port", "0", "--no-route"]);
    let client = server.client();
    // One of the agents is busy.
    let at_work = create_task(&client, &json!({ "description": "d" })).await;
    send(
        &client,
        Method::POST,
        &format!("/api/tasks/{at_work}/handoff"),
        &json!({ "agentName": "busy", "prompt": "p" }),
    )
    .await;
    let task = create_task(&client, &task_with_role("testing", &["python", "mcp"])).await;
    let choice = get(&client, &format!("/api/route/{task}")).await;
    assert_eq!(choice["agent"], "best");
    assert_eq!(
        (&choice["ready"], &choice["reason"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(
        candidates(&choice),
        [
            row(
                "best",
                2,
                "Has the role and 2 of 2 skills; works on 0 other tasks"
            ),
            row("busy", 2, "Works on 1 task; best works on 0"),
            row("alone", 1, "Has 1 of the skills; best has 2"),
            row(
                "gone",
                2,
                "Program is not installed on this machine; see `chorus doctor`"
            ),
            row("away", 0, "Not available"),
            row("coder", 0, "Does not have the role testing"),
            row("other", 0, "Has none of the skills python, mcp"),
        ]
    );
    // An explanation changes nothing.
    let before = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(
        (&before["currentAgent"], &before["routeAttempts"]),
        (&json!(null), &json!(0))
    );
    let routed = send(
        &client,
        Method::POST,
        &format!("/api/route/{task}"),
        &json!({}),
    )
    .await;
    assert_eq!(routed["currentAgent"], "best");
    assert_eq!(routed["agentChain"][0]["mode"], "route");
    assert_eq!(routed["routeAttempts"], 1);
    gate.let_one_through();
}

#[tokio::test]
async fn an_agent_does_not_test_its_own_work_if_another_one_qualifies() {
    let both = json!({
        "provider": "command", "program": "/bin/sh", "arguments": ["-c", "echo done"],
        "roles": ["implementation", "testing"], "skills": ["python", "mcp"],
    });
    let sandbox = Sandbox::new()
        .with_configured_agent("both", &both)
        .with_specialist("tess", "testing", &["python"], "echo ok");
    let server = sandbox.serve(2);
    let client = server.client();
    let made = create_task(&client, &task_with_role("implementation", &["python"])).await;
    let test = json!({ "description": "t", "agentRole": "testing", "specialistTags": ["python", "mcp"], "dependsOn": [made] });
    let test = create_task(&client, &test).await;
    let mut events = Events::listen(&client).await;
    events
        .wait_for_on(&test, "status_changed", "completed")
        .await;
    let task = get(&client, &format!("/api/tasks/{test}")).await;
    assert_eq!(
        task["agentChain"][0]["agentName"], "tess",
        "although the agent both has more skills"
    );
    // The task is reopened, and the same agent tests again.
    send(
        &client,
        Method::PUT,
        &format!("/api/tasks/{test}/status"),
        &json!({ "status": "pending" }),
    )
    .await;
    events.wait_for("agent_handoff_started", "tess").await;
}

#[tokio::test]
async fn the_most_urgent_and_then_the_oldest_task_goes_first() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("read _ <'{}'; echo done", gate.path().display());
    let sandbox = sandbox.with_specialist("dev", "implementation", &[], &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let create_with = async |priority: u8| {
        create_task(
            &client,
            &json!({ "description": "d", "agentRole": "implementation", "priority": priority }),
        )
        .await
    };
    let first = create_with(2).await;
    events.wait_for("run_started", "dev").await;
    // The slot is taken. The next task is queued for it; the others wait to be routed.
    let queued = create_with(2).await;
    events
        .wait_for_on(&queued, "agent_handoff_started", "dev")
        .await;
    let (late, early, urgent) = (
        create_with(3).await,
        create_with(2).await,
        create_with(0).await,
    );
    let mut order = Vec::new();
    for _ in 0..4 {
        gate.let_one_through();
        let event = events.wait_for("run_started", "dev").await;
        order.push(event["taskId"].as_str().unwrap().to_owned());
    }
    gate.let_one_through();
    assert_eq!(order, [queued, urgent, early, late]);
    assert_ne!(order[0], first);
}

#[tokio::test]
async fn a_task_waits_until_an_agent_qualifies() {
    let sandbox =
        Sandbox::new().with_specialist("dev", "implementation", &[], &print_report("passed", "x"));
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client, &task_with_role("testing", &["python"])).await;
    let event = events.wait_for("no_suitable_agent", "testing").await;
    assert_eq!(event["taskId"], task.as_str());
    let reason = "No available agent has the role testing and one of the skills python";
    let waiting = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(
        (&waiting["waitingReason"], &waiting["blocked"]),
        (&json!(reason), &json!(false))
    );
    let listed: Value = client
        .get("/api/tasks", &[("view", "summary".to_owned())])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(listed[0]["waitingReason"], reason);
    let choice = get(&client, &format!("/api/route/{task}")).await;
    assert_eq!(
        (&choice["agent"], &choice["reason"]),
        (&json!(null), &json!(reason))
    );
    // Another task is routed meanwhile.
    let other = create_task(&client, &task_with_role("implementation", &[])).await;
    events.wait_for("agent_handoff_completed", "dev").await;
    // A new agent that does not qualify causes no second event.
    let agent = |skills: &[&str]| json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", "echo ok"], "roles": ["testing"], "skills": skills });
    let operator = server.operator();
    send(
        &operator,
        Method::PUT,
        "/api/agents/rusty",
        &agent(&["rust"]),
    )
    .await;
    send(
        &operator,
        Method::PUT,
        "/api/agents/tess",
        &agent(&["python"]),
    )
    .await;
    events.wait_for("agent_handoff_started", "tess").await;
    events
        .wait_for_on(&task, "status_changed", "completed")
        .await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(
        (&ended["status"]["type"], &ended["waitingReason"]),
        (&json!("completed"), &json!(null))
    );
    let history = get(&client, &format!("/api/tasks/{task}/history")).await;
    let reported = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["eventType"] == "no_suitable_agent");
    assert_eq!(reported.count(), 1, "the event is recorded once");
    assert_ne!(other, task);
}

#[tokio::test]
async fn the_fallback_agent_gets_tasks_for_which_no_agent_qualifies() {
    let sandbox = Sandbox::new().with_agent("anybody", "echo ok");
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let waits = create_task(&client, &task_with_role("testing", &[])).await;
    events.wait_for("no_suitable_agent", "testing").await;
    // A server started with a fallback agent gives it the waiting task as well.
    server.stop();
    let server = sandbox.serve_with(2, &["--port", "0", "--fallback-agent", "anybody"]);
    let client = server.client();
    let comes = create_task(&client, &task_with_role("testing", &["x"])).await;
    for task in [waits, comes] {
        let path = format!("/api/tasks/{task}");
        let mut events = Events::listen(&client).await;
        events
            .wait_for_on(&task, "status_changed", "completed")
            .await;
        let ended = get(&client, &path).await;
        assert_eq!(ended["agentChain"][0]["agentName"], "anybody");
        assert_eq!(ended["waitingReason"], json!(null));
        let history = get(&client, &format!("{path}/history")).await;
        assert!(history.to_string().contains("no_suitable_agent"));
    }
}

#[tokio::test]
async fn many_tasks_without_a_qualified_agent_do_not_block_others() {
    let sandbox = Sandbox::new().with_specialist("dev", "implementation", &[], "echo ok");
    let server = sandbox.serve_with(1, &["--port", "0", "--no-route"]);
    let client = server.client();
    for _ in 0..700 {
        create_task(
            &client,
            &json!({ "description": "d", "agentRole": "testing", "priority": 0 }),
        )
        .await;
    }
    let last = create_task(&client, &task_with_role("implementation", &[])).await;
    server.stop();
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let event = events.wait_for("agent_handoff_completed", "dev").await;
    assert_eq!(event["taskId"], last.as_str());
    let counts = "SELECT count(*) || ' ' || (SELECT count(*) FROM tasks WHERE is_unsuited = 1) FROM events WHERE type = 'no_suitable_agent'";
    assert_eq!(sandbox.query(counts), "700 700");
    // A change of another agent causes no further events.
    send(
        &server.operator(),
        Method::PATCH,
        "/api/agents/dev",
        &json!({ "skills": ["x"] }),
    )
    .await;
    create_task(&client, &task_with_role("implementation", &[])).await;
    events.wait_for("agent_handoff_completed", "dev").await;
    assert_eq!(sandbox.query(counts), "700 700");
}

#[tokio::test]
async fn a_task_without_a_role_or_with_unmet_dependencies_is_not_routed() {
    let sandbox = Sandbox::new().with_specialist("dev", "implementation", &[], "echo ok");
    let server = sandbox.serve(2);
    let client = server.client();
    let plain = create_task(&client, &json!({ "description": "d" })).await;
    let choice = get(&client, &format!("/api/route/{plain}")).await;
    assert!(
        choice["reason"]
            .as_str()
            .unwrap()
            .starts_with("The task has no role"),
        "{choice}"
    );
    let waits = json!({ "description": "d", "agentRole": "implementation", "dependsOn": [{ "taskId": plain, "outcome": "failed" }] });
    let waits = create_task(&client, &waits).await;
    let choice = get(&client, &format!("/api/route/{waits}")).await;
    assert_eq!(
        choice["reason"],
        format!("The task waits for {plain} (pending, must be failed)")
    );
    assert_eq!(
        (&choice["agent"], &choice["ready"]),
        (&json!("dev"), &json!(false))
    );
    let answer = client
        .send_json(Method::POST, &format!("/api/route/{waits}"), &json!({}))
        .await;
    assert!(
        answer
            .unwrap_err()
            .to_string()
            .contains("The task waits for")
    );
    // The dependency must fail; that it ended is not enough.
    send(
        &client,
        Method::PUT,
        &format!("/api/tasks/{plain}/status"),
        &json!({ "status": "completed" }),
    )
    .await;
    let choice = get(&client, &format!("/api/route/{waits}")).await;
    assert_eq!(choice["ready"], false);
    let mut events = Events::listen(&client).await;
    send(
        &client,
        Method::PUT,
        &format!("/api/tasks/{plain}/status"),
        &json!({ "status": { "type": "failed", "message": "m" } }),
    )
    .await;
    events.wait_for("agent_handoff_completed", "dev").await;
    // A role can be set later.
    send(
        &client,
        Method::PATCH,
        &format!("/api/tasks/{plain}"),
        &json!({ "agentRole": "implementation" }),
    )
    .await;
    send(
        &client,
        Method::PUT,
        &format!("/api/tasks/{plain}/status"),
        &json!({ "status": "pending" }),
    )
    .await;
    events
        .wait_for_on(&plain, "agent_handoff_completed", "dev")
        .await;
}
