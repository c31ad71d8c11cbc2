//! Who gets a task, and why.

use reqwest::Method;
use serde_json::{Value, json};

use super::{get, make, need, report, send};
use crate::support::{Events, Workshop};

/// One row for each agent: name, score, and how the reason begins.
fn table(choice: &Value) -> Vec<(String, u64, String)> {
    let candidates = choice["candidates"].as_array().unwrap();
    candidates
        .iter()
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
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let wait = gate_script(gate.path());
    let workshop = workshop
        .specialist("alone", "testing", &["python"], "echo ok")
        .specialist("best", "testing", &["python", "mcp", "db"], "echo ok")
        .specialist("busy", "testing", &["python", "mcp"], &wait)
        .specialist("coder", "implementation", &["python", "mcp"], "echo ok")
        .specialist("other", "testing", &["cobol"], "echo ok")
        .configured("away", &json!({ "provider": "command", "program": "/bin/sh", "roles": ["testing"], "skills": ["python"], "available": false }))
        .configured("gone", &json!({ "provider": "command", "program": "/no/such/program", "roles": ["testing"], "skills": ["python", "mcp", "db"] }));
    let server = workshop.serve_with(4, &["--port", "0", "--no-route"]);
    let client = server.client();
    // One of them has something to do.
    let at_work = make(&client, &json!({ "description": "d" })).await;
    send(
        &client,
        Method::POST,
        &format!("/api/tasks/{at_work}/handoff"),
        &json!({ "agentName": "busy", "prompt": "p" }),
    )
    .await;
    let task = make(&client, &need("testing", &["python", "mcp"])).await;
    let choice = get(&client, &format!("/api/route/{task}")).await;
    assert_eq!(choice["agent"], "best");
    assert_eq!(
        (&choice["ready"], &choice["reason"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(
        table(&choice),
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
    // Nothing has changed, and nobody has begun.
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
async fn nobody_tests_what_it_made_if_another_one_is_there() {
    let both = json!({
        "provider": "command", "program": "/bin/sh", "arguments": ["-c", "echo done"],
        "roles": ["implementation", "testing"], "skills": ["python", "mcp"],
    });
    let workshop = Workshop::new().configured("both", &both).specialist(
        "tess",
        "testing",
        &["python"],
        "echo ok",
    );
    let server = workshop.serve(2);
    let client = server.client();
    let made = make(&client, &need("implementation", &["python"])).await;
    let test = json!({ "description": "t", "agentRole": "testing", "specialistTags": ["python", "mcp"], "dependsOn": [made] });
    let test = make(&client, &test).await;
    let mut events = Events::listen(&client).await;
    events.until_on(&test, "status_changed", "completed").await;
    let task = get(&client, &format!("/api/tasks/{test}")).await;
    assert_eq!(
        task["agentChain"][0]["agentName"], "tess",
        "although both matches better"
    );
    // It is the only one left: then it does.
    send(
        &client,
        Method::PUT,
        &format!("/api/tasks/{test}/status"),
        &json!({ "status": "pending" }),
    )
    .await;
    events.until("agent_handoff_started", "tess").await;
}

#[tokio::test]
async fn the_urgent_go_first_then_the_oldest() {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let script = format!("read _ <'{}'; echo done", gate.path().display());
    let workshop = workshop.specialist("dev", "implementation", &[], &script);
    let server = workshop.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let make_with = async |priority: u8| {
        make(
            &client,
            &json!({ "description": "d", "agentRole": "implementation", "priority": priority }),
        )
        .await
    };
    let first = make_with(2).await;
    events.until("run_started", "dev").await;
    // The slot is taken, and the first that comes stands in line for it; the others wait for their turn.
    let in_line = make_with(2).await;
    events
        .until_on(&in_line, "agent_handoff_started", "dev")
        .await;
    let (late, early, urgent) = (make_with(3).await, make_with(2).await, make_with(0).await);
    let mut order = Vec::new();
    for _ in 0..4 {
        gate.let_one_through();
        let event = events.until("run_started", "dev").await;
        order.push(event["taskId"].as_str().unwrap().to_owned());
    }
    gate.let_one_through();
    assert_eq!(order, [in_line, urgent, early, late]);
    assert_ne!(order[0], first);
}

#[tokio::test]
async fn what_nobody_can_do_waits_until_somebody_can() {
    let workshop = Workshop::new().specialist("dev", "implementation", &[], &report("passed", "x"));
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = make(&client, &need("testing", &["python"])).await;
    let event = events.until("no_suitable_agent", "testing").await;
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
    // Another task goes its way meanwhile.
    let other = make(&client, &need("implementation", &[])).await;
    events.until("agent_handoff_completed", "dev").await;
    // Somebody comes who does not suit: nothing new is said of it.
    let agent = |skills: &[&str]| json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", "echo ok"], "roles": ["testing"], "skills": skills });
    send(&client, Method::PUT, "/api/agents/rusty", &agent(&["rust"])).await;
    send(
        &client,
        Method::PUT,
        "/api/agents/tess",
        &agent(&["python"]),
    )
    .await;
    events.until("agent_handoff_started", "tess").await;
    events.until_on(&task, "status_changed", "completed").await;
    let ended = get(&client, &format!("/api/tasks/{task}")).await;
    assert_eq!(
        (&ended["status"]["type"], &ended["waitingReason"]),
        (&json!("completed"), &json!(null))
    );
    let history = get(&client, &format!("/api/tasks/{task}/history")).await;
    let told = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["eventType"] == "no_suitable_agent");
    assert_eq!(told.count(), 1, "what was said is not said again");
    assert_ne!(other, task);
}

#[tokio::test]
async fn the_fallback_agent_gets_what_nobody_suits() {
    let workshop = Workshop::new().agent("anybody", "echo ok");
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let waits = make(&client, &need("testing", &[])).await;
    events.until("no_suitable_agent", "testing").await;
    // A server that begins with a fallback agent gives it what waited, too.
    server.stop();
    let server = workshop.serve_with(2, &["--port", "0", "--fallback-agent", "anybody"]);
    let client = server.client();
    let comes = make(&client, &need("testing", &["x"])).await;
    for task in [waits, comes] {
        let path = format!("/api/tasks/{task}");
        let mut events = Events::listen(&client).await;
        events.until_on(&task, "status_changed", "completed").await;
        let ended = get(&client, &path).await;
        assert_eq!(ended["agentChain"][0]["agentName"], "anybody");
        assert_eq!(ended["waitingReason"], json!(null));
        let history = get(&client, &format!("{path}/history")).await;
        assert!(history.to_string().contains("no_suitable_agent"));
    }
}

#[tokio::test]
async fn many_that_nobody_suits_are_set_aside_and_do_not_hold_up_others() {
    let workshop = Workshop::new().specialist("dev", "implementation", &[], "echo ok");
    let server = workshop.serve_with(1, &["--port", "0", "--no-route"]);
    let client = server.client();
    for _ in 0..700 {
        make(
            &client,
            &json!({ "description": "d", "agentRole": "testing", "priority": 0 }),
        )
        .await;
    }
    let last = make(&client, &need("implementation", &[])).await;
    server.stop();
    let server = workshop.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let event = events.until("agent_handoff_completed", "dev").await;
    assert_eq!(event["taskId"], last.as_str());
    let told = "SELECT count(*) || ' ' || (SELECT count(*) FROM tasks WHERE is_unsuited = 1) FROM events WHERE type = 'no_suitable_agent'";
    assert_eq!(workshop.read(told), "700 700");
    // Somebody else changes, and nothing is said again.
    send(
        &client,
        Method::PATCH,
        "/api/agents/dev",
        &json!({ "skills": ["x"] }),
    )
    .await;
    make(&client, &need("implementation", &[])).await;
    events.until("agent_handoff_completed", "dev").await;
    assert_eq!(workshop.read(told), "700 700");
}

#[tokio::test]
async fn a_task_without_a_role_or_that_waits_is_left_alone_and_says_why() {
    let workshop = Workshop::new().specialist("dev", "implementation", &[], "echo ok");
    let server = workshop.serve(2);
    let client = server.client();
    let plain = make(&client, &json!({ "description": "d" })).await;
    let choice = get(&client, &format!("/api/route/{plain}")).await;
    assert!(
        choice["reason"]
            .as_str()
            .unwrap()
            .starts_with("The task has no role"),
        "{choice}"
    );
    let waits = json!({ "description": "d", "agentRole": "implementation", "dependsOn": [{ "taskId": plain, "outcome": "failed" }] });
    let waits = make(&client, &waits).await;
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
    // Only if it failed, and not merely after it.
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
    events.until("agent_handoff_completed", "dev").await;
    // A role that comes later is enough.
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
        .until_on(&plain, "agent_handoff_completed", "dev")
        .await;
}
