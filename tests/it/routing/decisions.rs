//! Decisions of people while an increment runs, without processes: the tests end the hand-offs themselves.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp};

/// Adds one agent with every role (ada), and one that only tests and verifies (zed).
async fn app_with_agents() -> TestApp {
    let app = TestApp::new().await;
    for (name, roles) in [
        (
            "ada",
            json!(["implementation", "testing", "fixing", "verification"]),
        ),
        ("zed", json!(["testing", "verification"])),
    ] {
        let agent = json!({ "provider": "command", "program": "/bin/true", "roles": roles });
        app.operator()
            .put(&format!("/api/agents/{name}"), agent)
            .await
            .data();
    }
    app
}

async fn create_increment(app: &TestApp) -> String {
    let made = app
        .post("/api/increments", json!({ "title": "t" }))
        .await
        .data();
    made["id"].as_str().unwrap().to_owned()
}

async fn get_increment(app: &TestApp, id: &str) -> Value {
    app.get(&format!("/api/increments/{id}")).await.data()
}

/// Returns the last task of a stage.
async fn last_task(app: &TestApp, id: &str, stage: &str) -> String {
    let increment = get_increment(app, id).await;
    let tasks = increment["tasks"].as_array().unwrap();
    let task = tasks.iter().rfind(|task| task["stage"] == stage).unwrap();
    task["id"].as_str().unwrap().to_owned()
}

/// Routes a task and returns the agent.
async fn route(app: &TestApp, task: &str) -> String {
    let routed = app
        .post(&format!("/api/route/{task}"), json!({}))
        .await
        .data();
    routed["currentAgent"].as_str().unwrap().to_owned()
}

/// Completes the hand-off with a report.
async fn complete(app: &TestApp, task: &str, result: &str) {
    let output = json!({ "output": format!(r#"{{"result": "{result}", "summary": "{result}"}}"#) });
    app.put(&format!("/api/tasks/{task}/handoff/complete"), output)
        .await
        .data();
}

/// Routes and completes the last task of a stage. Returns the agent.
async fn run_stage(app: &TestApp, id: &str, stage: &str, result: &str) -> String {
    let task = last_task(app, id, stage).await;
    let agent = route(app, &task).await;
    complete(app, &task, result).await;
    agent
}

async fn set_status(app: &TestApp, task: &str, status: &str) -> Reply {
    app.put(
        &format!("/api/tasks/{task}/status"),
        json!({ "status": status }),
    )
    .await
}

async fn increment_state(app: &TestApp, id: &str) -> (String, u64) {
    state_and_round(&get_increment(app, id).await)
}

fn state_and_round(increment: &Value) -> (String, u64) {
    let state = increment["state"].as_str().unwrap().to_owned();
    (state, increment["round"].as_u64().unwrap())
}

#[tokio::test]
async fn a_task_that_a_person_ended_stays_ended() {
    let app = app_with_agents().await;
    let task = app
        .post(
            "/api/tasks",
            json!({ "description": "d", "agentRole": "testing" }),
        )
        .await
        .data();
    let task = task["id"].as_str().unwrap();
    route(&app, task).await;
    set_status(&app, task, "completed").await.data();
    complete(&app, task, "failed").await;
    let ended = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(ended["status"]["type"], "completed");
    // The same holds for a stage: no further round starts.
    let id = create_increment(&app).await;
    run_stage(&app, &id, "implementation", "passed").await;
    let test = last_task(&app, &id, "test").await;
    route(&app, &test).await;
    set_status(&app, &test, "completed").await.data();
    complete(&app, &test, "failed").await;
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 1));
    run_stage(&app, &id, "verify", "passed").await;
    assert_eq!(increment_state(&app, &id).await, ("done".to_owned(), 1));
    app.assert_invariants();
}

#[tokio::test]
async fn a_stage_of_a_finished_round_cannot_be_changed() {
    let app = app_with_agents().await;
    let id = create_increment(&app).await;
    run_stage(&app, &id, "implementation", "passed").await;
    let first = last_task(&app, &id, "test").await;
    run_stage(&app, &id, "test", "failed").await;
    for task in [
        first,
        get_increment(&app, &id).await["tasks"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned(),
    ] {
        let refused = set_status(&app, &task, "pending").await;
        assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
        assert!(
            refused.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains("its increment is in round 2")
        );
    }
    for stage in ["fix", "test", "verify"] {
        run_stage(&app, &id, stage, "passed").await;
    }
    assert_eq!(increment_state(&app, &id).await, ("done".to_owned(), 2));
    app.assert_invariants();
}

#[tokio::test]
async fn a_test_that_fails_after_its_verification_is_verified_again() {
    let app = app_with_agents().await;
    let id = create_increment(&app).await;
    run_stage(&app, &id, "implementation", "passed").await;
    run_stage(&app, &id, "test", "passed").await;
    run_stage(&app, &id, "verify", "blocked").await;
    assert_eq!(increment_state(&app, &id).await, ("blocked".to_owned(), 1));
    // The person reopens the test, and it fails now.
    let test = last_task(&app, &id, "test").await;
    set_status(&app, &test, "pending").await.data();
    assert_eq!(
        increment_state(&app, &id).await,
        ("blocked".to_owned(), 1),
        "the verification is still blocked"
    );
    run_stage(&app, &id, "test", "failed").await;
    let second = get_increment(&app, &id).await;
    assert_eq!(state_and_round(&second), ("active".to_owned(), 2));
    let verifications = second["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| task["stage"] == "verify");
    assert_eq!(verifications.count(), 2);
    assert_eq!(
        second["tasks"][2]["blocked"], false,
        "the old verification needs no person"
    );
    for stage in ["fix", "test", "verify"] {
        run_stage(&app, &id, stage, "passed").await;
    }
    assert_eq!(increment_state(&app, &id).await, ("done".to_owned(), 2));
    // A finished verification can be failed later.
    let verify = last_task(&app, &id, "verify").await;
    set_status(&app, &verify, "failed").await.data();
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 3));
    app.assert_invariants();
}

#[tokio::test]
async fn an_increment_that_continues_is_no_longer_blocked() {
    let app = app_with_agents().await;
    let id = create_increment(&app).await;
    run_stage(&app, &id, "implementation", "failed").await;
    assert_eq!(increment_state(&app, &id).await, ("blocked".to_owned(), 1));
    let implementation = last_task(&app, &id, "implementation").await;
    set_status(&app, &implementation, "completed").await.data();
    let increment = get_increment(&app, &id).await;
    assert_eq!(
        (&increment["state"], &increment["blockedBy"]),
        (&json!("active"), &json!(null))
    );
    run_stage(&app, &id, "test", "blocked").await;
    let test = last_task(&app, &id, "test").await;
    set_status(&app, &test, "failed").await.data();
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 2));
    app.assert_invariants();
}

#[tokio::test]
async fn a_person_can_retry_a_blocked_increment() {
    let app = app_with_agents().await;
    let id = create_increment(&app).await;
    let retry = format!("/api/increments/{id}/retry");
    let early = app.operator().post(&retry, json!({})).await;
    assert_eq!(early.error(), (409, "CONFLICT".to_owned()));
    run_stage(&app, &id, "implementation", "passed").await;
    for round in 1..=5 {
        run_stage(&app, &id, "test", "failed").await;
        if round < 5 {
            run_stage(&app, &id, "fix", "passed").await;
        }
    }
    assert_eq!(increment_state(&app, &id).await, ("blocked".to_owned(), 5));
    // Failing it again changes nothing and sends no second mail.
    let mail = async || {
        app.get("/api/mail?to=operator")
            .await
            .data()
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(mail().await, 1);
    let body = json!({ "status": { "type": "failed", "message": "still" } });
    app.put(
        &format!("/api/tasks/{}/status", last_task(&app, &id, "test").await),
        body,
    )
    .await
    .data();
    assert_eq!(mail().await, 1);
    let again = app.operator().post(&retry, json!({})).await.data();
    assert_eq!(state_and_round(&again), ("active".to_owned(), 6));
    // A task blocked by a report is retried in the same round.
    run_stage(&app, &id, "fix", "blocked").await;
    let again = app.operator().post(&retry, json!({})).await.data();
    assert_eq!(state_and_round(&again), ("active".to_owned(), 6));
    for stage in ["fix", "test", "verify"] {
        run_stage(&app, &id, stage, "passed").await;
    }
    assert_eq!(increment_state(&app, &id).await, ("done".to_owned(), 6));
    assert_eq!(
        app.operator()
            .post("/api/increments/nope/retry", json!({}))
            .await
            .error(),
        (404, "NOT_FOUND".to_owned())
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_stage_that_a_person_handed_off_uses_its_agents_report() {
    let app = app_with_agents().await;
    let id = create_increment(&app).await;
    let implementation = last_task(&app, &id, "implementation").await;
    app.start_run(&implementation, "qa", "a-token").await;
    let report = json!({ "result": "passed", "summary": "Wrote it" });
    app.with_token(
        "a-token",
        Method::POST,
        &format!("/api/tasks/{implementation}/report"),
        report,
    )
    .await
    .data();
    app.put(
        &format!("/api/tasks/{implementation}/handoff/complete"),
        json!({ "output": "done" }),
    )
    .await
    .data();
    let ended = app
        .get(&format!("/api/tasks/{implementation}"))
        .await
        .data();
    assert_eq!(ended["status"]["type"], "completed");
    assert_eq!(ended["agentContext"]["workCompleted"], "Wrote it");
    app.assert_invariants();
}

#[tokio::test]
async fn an_agent_cannot_hide_that_it_implemented_the_work_under_test() {
    let app = app_with_agents().await;
    // The agent delegates the implementation from inside its run.
    let id = create_increment(&app).await;
    let task = last_task(&app, &id, "implementation").await;
    app.start_run(&task, "qa", "a-token").await;
    let body = json!({ "agentName": "ada", "prompt": "Write it" });
    let child = app
        .with_token(
            "a-token",
            Method::POST,
            &format!("/api/tasks/{task}/handoff"),
            body,
        )
        .await
        .data();
    let child = child["id"].as_str().unwrap();
    app.put(
        &format!("/api/tasks/{child}/handoff/complete"),
        json!({ "output": "x" }),
    )
    .await
    .data();
    // Nor can it change the role of its own task.
    let role = json!({ "agentRole": "testing" });
    let refused = app
        .with_token(
            "a-token",
            Method::PATCH,
            &format!("/api/tasks/{task}"),
            role.clone(),
        )
        .await;
    assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
    let context = json!({ "agentContext": { "branch": "b" } });
    app.with_token(
        "a-token",
        Method::PATCH,
        &format!("/api/tasks/{task}?merge=true"),
        context,
    )
    .await
    .data();
    app.put(
        &format!("/api/tasks/{task}/handoff/complete"),
        json!({ "output": "x" }),
    )
    .await
    .data();
    set_status(&app, &task, "completed").await.data();
    assert_eq!(run_stage(&app, &id, "test", "passed").await, "zed");
    // A cancelled run counts as well.
    let id = create_increment(&app).await;
    let task = last_task(&app, &id, "implementation").await;
    assert_eq!(route(&app, &task).await, "ada");
    app.post(&format!("/api/tasks/{task}/handoff/cancel"), json!({}))
        .await
        .data();
    set_status(&app, &task, "completed").await.data();
    assert_eq!(run_stage(&app, &id, "test", "passed").await, "zed");
    // A role that is set later makes no difference.
    app.patch(&format!("/api/tasks/{task}"), role).await.data();
    assert_eq!(run_stage(&app, &id, "verify", "passed").await, "zed");
    app.assert_invariants();
}

#[tokio::test]
async fn a_task_created_later_inherits_the_context_of_its_dependencies() {
    let app = app_with_agents().await;
    let make = async |body: Value| {
        let made = app.post("/api/tasks", body).await.data();
        made["id"].as_str().unwrap().to_owned()
    };
    let first = make(json!({ "description": "d", "agentRole": "implementation" })).await;
    route(&app, &first).await;
    complete(&app, &first, "passed").await;
    let after = make(json!({ "description": "d", "dependsOn": [first], "agentContext": { "mine": 1, "testStatus": "none" } })).await;
    let after = app.get(&format!("/api/tasks/{after}")).await.data();
    assert_eq!(
        after["agentContext"],
        json!({ "mine": 1, "testStatus": "none", "workCompleted": "passed", "previousAgent": "ada" })
    );
    let first = app.get(&format!("/api/tasks/{first}")).await.data();
    assert_eq!(
        after["agentWorkspace"], first["agentWorkspace"],
        "both tasks share the workspace"
    );
    let only_if_failed = make(json!({ "description": "d", "dependsOn": [{ "taskId": first["id"], "outcome": "failed" }] })).await;
    let waits = app
        .get(&format!("/api/tasks/{only_if_failed}"))
        .await
        .data();
    assert_eq!(waits["agentContext"], json!({}));
    let changed = app
        .patch(
            &format!("/api/tasks/{only_if_failed}"),
            json!({ "dependsOn": [first["id"]] }),
        )
        .await
        .data();
    assert_eq!(changed["agentContext"]["previousAgent"], "ada");
    app.assert_invariants();
}

#[tokio::test]
async fn a_malformed_report_does_not_corrupt_later_tasks() {
    let app = app_with_agents().await;
    let make = async |body: Value| {
        let made = app.post("/api/tasks", body).await.data();
        made["id"].as_str().unwrap().to_owned()
    };
    let first = make(json!({ "description": "d", "agentRole": "implementation" })).await;
    let after =
        make(json!({ "description": "d", "agentRole": "testing", "dependsOn": [first] })).await;
    route(&app, &first).await;
    let deep = (0..124).fold(json!(1), |inner, _| json!([inner]));
    let report = json!({
        "result": "passed", "summary": "s", "details": deep, "agentContext": { "previousAgent": 7, "filesModified": "a", "attempts": -1 },
    });
    app.put(
        &format!("/api/tasks/{first}/handoff/complete"),
        json!({ "output": report.to_string() }),
    )
    .await
    .data();
    let waiter = app.get(&format!("/api/tasks/{after}")).await.data();
    assert_eq!(waiter["agentContext"]["previousAgent"], "ada");
    assert_eq!(waiter["agentContext"]["filesModified"], json!(null));
    app.patch(&format!("/api/tasks/{after}"), json!({ "priority": 1 }))
        .await
        .data();
    // The ledger can still be exported.
    let (_folder, archive) = crate::archive::export(&app).await;
    assert!(archive.join("registry").exists());
    app.assert_invariants();
}

#[tokio::test]
async fn the_depth_of_tasks_that_runs_create_is_limited() {
    let app = app_with_agents().await;
    let mut task = app.task("first").await;
    for depth in 1..20 {
        let token = format!("token-{depth}");
        if depth == 1 {
            app.start_run(&task, "qa", &token).await;
        } else {
            // The router chooses the agents of the tasks that runs create, so they count on.
            route(&app, &task).await;
            app.claim_run(&token).await;
        }
        let body = json!({ "description": "again", "agentRole": "implementation" });
        let made = app
            .with_token(&token, Method::POST, "/api/tasks", body)
            .await;
        if depth == 10 {
            assert_eq!(made.error(), (422, "LIMIT_EXCEEDED".to_owned()));
            let increment = app
                .with_token(
                    &token,
                    Method::POST,
                    "/api/increments",
                    json!({ "title": "t" }),
                )
                .await;
            assert_eq!(increment.error(), (422, "LIMIT_EXCEEDED".to_owned()));
            return;
        }
        let made = made.data();
        assert_eq!(made["parentId"], task.as_str());
        task = made["id"].as_str().unwrap().to_owned();
    }
    panic!("no limit was enforced");
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_one_caller() {
    let app = app_with_agents().await;
    let task = app.task("d").await;
    app.start_run(&task, "qa", "a-token").await;
    let send = async |token: Option<&str>| {
        let mut request = axum::http::Request::post("/api/mail")
            .header("host", "localhost")
            .header("idempotency-key", "k");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = json!({ "to": ["ada"], "subject": "pay me" }).to_string();
        app.send(request.body(body.into()).unwrap()).await
    };
    assert_eq!(
        send(Some(crate::support::OPERATOR_TOKEN)).await.data()["from"],
        "operator"
    );
    for other in [Some("a-token"), None] {
        assert_eq!(send(other).await.error(), (409, "CONFLICT".to_owned()));
    }
    assert_eq!(
        send(Some(crate::support::OPERATOR_TOKEN)).await.data()["from"],
        "operator"
    );
}

#[tokio::test]
async fn an_increment_is_blocked_exactly_while_a_stage_of_its_round_is_blocked() {
    let app = app_with_agents().await;
    // A stage that a person completes does not hide a failed one.
    let id = create_increment(&app).await;
    let (implementation, verify) = (
        last_task(&app, &id, "implementation").await,
        last_task(&app, &id, "verify").await,
    );
    set_status(&app, &implementation, "failed").await.data();
    set_status(&app, &verify, "completed").await.data();
    assert_eq!(increment_state(&app, &id).await, ("blocked".to_owned(), 1));
    // A manual hand-off unblocks the increment, and so does a status that is not final.
    let hand_off = async |task: &str| {
        app.post(
            &format!("/api/tasks/{task}/handoff"),
            json!({ "agentName": "qa", "prompt": "p" }),
        )
        .await
    };
    set_status(&app, &implementation, "waiting").await.data();
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 1));
    set_status(&app, &implementation, "pending").await.data();
    route(&app, &implementation).await;
    app.post(
        &format!("/api/tasks/{implementation}/handoff/cancel"),
        json!({}),
    )
    .await
    .data();
    assert_eq!(increment_state(&app, &id).await, ("blocked".to_owned(), 1));
    hand_off(&implementation).await.data();
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 1));
    assert_eq!(
        app.operator()
            .post(&format!("/api/increments/{id}/retry"), json!({}))
            .await
            .error(),
        (409, "CONFLICT".to_owned())
    );
    // The agent's report counts, although a person handed the task over.
    complete(&app, &implementation, "passed").await;
    run_stage(&app, &id, "test", "passed").await;
    assert_eq!(increment_state(&app, &id).await, ("done".to_owned(), 1));
    // A reopened verification makes the increment active again.
    set_status(&app, &verify, "waiting").await.data();
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 1));
    set_status(&app, &verify, "completed").await.data();
    app.assert_invariants();
}

#[tokio::test]
async fn no_stage_of_a_finished_round_continues() {
    let app = app_with_agents().await;
    let id = create_increment(&app).await;
    run_stage(&app, &id, "implementation", "passed").await;
    let test = last_task(&app, &id, "test").await;
    run_stage(&app, &id, "test", "passed").await;
    let verify = last_task(&app, &id, "verify").await;
    route(&app, &verify).await;
    // The person fails the test while the verification runs.
    set_status(&app, &test, "failed").await.data();
    app.post(&format!("/api/tasks/{verify}/handoff/cancel"), json!({}))
        .await
        .data();
    let ended = app.get(&format!("/api/tasks/{verify}")).await.data();
    assert_eq!(
        (&ended["status"]["type"], &ended["blocked"]),
        (&json!("failed"), &json!(false))
    );
    for path in [
        format!("/api/tasks/{test}/handoff"),
        format!("/api/tasks/{verify}/handoff"),
    ] {
        let refused = app
            .post(&path, json!({ "agentName": "qa", "prompt": "p" }))
            .await;
        assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
    }
    assert_eq!(
        app.patch(&format!("/api/tasks/{test}"), json!({ "priority": 0 }))
            .await
            .error(),
        (409, "CONFLICT".to_owned())
    );
    for stage in ["fix", "test", "verify"] {
        run_stage(&app, &id, stage, "passed").await;
    }
    assert_eq!(increment_state(&app, &id).await, ("done".to_owned(), 2));
    // A manual hand-off on a stage does not reopen a finished round.
    let test = last_task(&app, &id, "test").await;
    app.post(
        &format!("/api/tasks/{test}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    set_status(&app, &last_task(&app, &id, "verify").await, "failed")
        .await
        .data();
    app.put(
        &format!("/api/tasks/{test}/handoff/complete"),
        json!({ "output": "nothing" }),
    )
    .await
    .data();
    let ended = app.get(&format!("/api/tasks/{test}")).await.data();
    assert_eq!(
        ended["status"]["type"], "completed",
        "the status before the hand-off"
    );
    assert_eq!(increment_state(&app, &id).await, ("active".to_owned(), 3));
    app.assert_invariants();
}

#[tokio::test]
async fn a_running_task_whose_dependency_fails_waits_for_the_replacement() {
    let app = app_with_agents().await;
    let first = create_increment(&app).await;
    for stage in ["implementation", "test", "verify"] {
        run_stage(&app, &first, stage, "passed").await;
    }
    let second = app
        .post(
            "/api/increments",
            json!({ "title": "s", "dependsOn": [first] }),
        )
        .await
        .data();
    let second = second["id"].as_str().unwrap();
    let implementation = last_task(&app, second, "implementation").await;
    route(&app, &implementation).await;
    set_status(&app, &last_task(&app, &first, "verify").await, "failed")
        .await
        .data();
    app.post(
        &format!("/api/tasks/{implementation}/handoff/cancel"),
        json!({}),
    )
    .await
    .data();
    app.operator()
        .post(&format!("/api/increments/{second}/retry"), json!({}))
        .await
        .data();
    let waits = app
        .post(&format!("/api/route/{implementation}"), json!({}))
        .await;
    assert_eq!(waits.error(), (409, "CONFLICT".to_owned()));
    for stage in ["fix", "test", "verify"] {
        run_stage(&app, &first, stage, "passed").await;
    }
    for stage in ["implementation", "test", "verify"] {
        run_stage(&app, second, stage, "passed").await;
    }
    assert_eq!(increment_state(&app, second).await, ("done".to_owned(), 1));
    app.assert_invariants();
}
