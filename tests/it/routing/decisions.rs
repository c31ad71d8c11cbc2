//! What people decide in the middle of things, without processes: the hand-offs are ended by hand.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp};

/// An installation with one agent for everything, and one for judging.
async fn crew() -> TestApp {
    let app = TestApp::new().await;
    for (name, roles) in [
        (
            "ada",
            json!(["implementation", "testing", "fixing", "verification"]),
        ),
        ("zed", json!(["testing", "verification"])),
    ] {
        let agent = json!({ "provider": "command", "program": "/bin/true", "roles": roles });
        app.put(&format!("/api/agents/{name}"), agent).await.data();
    }
    app
}

async fn increment(app: &TestApp) -> String {
    let made = app
        .post("/api/increments", json!({ "title": "t" }))
        .await
        .data();
    made["id"].as_str().unwrap().to_owned()
}

async fn shown(app: &TestApp, id: &str) -> Value {
    app.get(&format!("/api/increments/{id}")).await.data()
}

/// Returns the last task of a stage.
async fn last(app: &TestApp, id: &str, stage: &str) -> String {
    let shown = shown(app, id).await;
    let tasks = shown["tasks"].as_array().unwrap();
    let task = tasks.iter().rfind(|task| task["stage"] == stage).unwrap();
    task["id"].as_str().unwrap().to_owned()
}

async fn begin(app: &TestApp, task: &str) -> String {
    let routed = app
        .post(&format!("/api/route/{task}"), json!({}))
        .await
        .data();
    routed["currentAgent"].as_str().unwrap().to_owned()
}

async fn end(app: &TestApp, task: &str, result: &str) {
    let output = json!({ "output": format!(r#"{{"result": "{result}", "summary": "{result}"}}"#) });
    app.put(&format!("/api/tasks/{task}/handoff/complete"), output)
        .await
        .data();
}

async fn work(app: &TestApp, id: &str, stage: &str, result: &str) -> String {
    let task = last(app, id, stage).await;
    let agent = begin(app, &task).await;
    end(app, &task, result).await;
    agent
}

async fn set(app: &TestApp, task: &str, status: &str) -> Reply {
    app.put(
        &format!("/api/tasks/{task}/status"),
        json!({ "status": status }),
    )
    .await
}

fn stands(shown: &Value) -> (String, u64) {
    let state = shown["state"].as_str().unwrap().to_owned();
    (state, shown["round"].as_u64().unwrap())
}

#[tokio::test]
async fn what_a_person_has_ended_stays_ended() {
    let app = crew().await;
    let task = app
        .post(
            "/api/tasks",
            json!({ "description": "d", "agentRole": "testing" }),
        )
        .await
        .data();
    let task = task["id"].as_str().unwrap();
    begin(&app, task).await;
    set(&app, task, "completed").await.data();
    end(&app, task, "failed").await;
    let ended = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(ended["status"]["type"], "completed");
    // The same for a stage: no round begins.
    let id = increment(&app).await;
    work(&app, &id, "implementation", "passed").await;
    let test = last(&app, &id, "test").await;
    begin(&app, &test).await;
    set(&app, &test, "completed").await.data();
    end(&app, &test, "failed").await;
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 1));
    work(&app, &id, "verify", "passed").await;
    assert_eq!(stands(&shown(&app, &id).await), ("done".to_owned(), 1));
    app.assert_invariants();
}

#[tokio::test]
async fn a_stage_whose_round_is_over_cannot_be_changed() {
    let app = crew().await;
    let id = increment(&app).await;
    work(&app, &id, "implementation", "passed").await;
    let first = last(&app, &id, "test").await;
    work(&app, &id, "test", "failed").await;
    for task in [
        first,
        shown(&app, &id).await["tasks"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned(),
    ] {
        let refused = set(&app, &task, "pending").await;
        assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
        assert!(
            refused.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains("which is in round 2")
        );
    }
    for stage in ["fix", "test", "verify"] {
        work(&app, &id, stage, "passed").await;
    }
    assert_eq!(stands(&shown(&app, &id).await), ("done".to_owned(), 2));
    app.assert_invariants();
}

#[tokio::test]
async fn a_test_that_fails_behind_a_verification_is_verified_again() {
    let app = crew().await;
    let id = increment(&app).await;
    work(&app, &id, "implementation", "passed").await;
    work(&app, &id, "test", "passed").await;
    work(&app, &id, "verify", "blocked").await;
    assert_eq!(stands(&shown(&app, &id).await), ("blocked".to_owned(), 1));
    // The person has the test done again, and it fails now.
    let test = last(&app, &id, "test").await;
    set(&app, &test, "pending").await.data();
    assert_eq!(
        stands(&shown(&app, &id).await),
        ("blocked".to_owned(), 1),
        "the verification still is"
    );
    work(&app, &id, "test", "failed").await;
    let second = shown(&app, &id).await;
    assert_eq!(stands(&second), ("active".to_owned(), 2));
    let verifications = second["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| task["stage"] == "verify");
    assert_eq!(verifications.count(), 2);
    assert_eq!(
        second["tasks"][2]["blocked"], false,
        "nobody needs to look at the old one"
    );
    for stage in ["fix", "test", "verify"] {
        work(&app, &id, stage, "passed").await;
    }
    assert_eq!(stands(&shown(&app, &id).await), ("done".to_owned(), 2));
    // What is done can be found to be wrong later.
    let verify = last(&app, &id, "verify").await;
    set(&app, &verify, "failed").await.data();
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 3));
    app.assert_invariants();
}

#[tokio::test]
async fn an_increment_that_goes_on_is_not_blocked_any_more() {
    let app = crew().await;
    let id = increment(&app).await;
    work(&app, &id, "implementation", "failed").await;
    assert_eq!(stands(&shown(&app, &id).await), ("blocked".to_owned(), 1));
    let implementation = last(&app, &id, "implementation").await;
    set(&app, &implementation, "completed").await.data();
    let goes_on = shown(&app, &id).await;
    assert_eq!(
        (&goes_on["state"], &goes_on["blockedBy"]),
        (&json!("active"), &json!(null))
    );
    work(&app, &id, "test", "blocked").await;
    let test = last(&app, &id, "test").await;
    set(&app, &test, "failed").await.data();
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 2));
    app.assert_invariants();
}

#[tokio::test]
async fn a_blocked_increment_is_tried_again_when_a_person_says_so() {
    let app = crew().await;
    let id = increment(&app).await;
    let retry = format!("/api/increments/{id}/retry");
    let early = app.post(&retry, json!({})).await;
    assert_eq!(early.error(), (409, "CONFLICT".to_owned()));
    work(&app, &id, "implementation", "passed").await;
    for round in 1..=5 {
        work(&app, &id, "test", "failed").await;
        if round < 5 {
            work(&app, &id, "fix", "passed").await;
        }
    }
    assert_eq!(stands(&shown(&app, &id).await), ("blocked".to_owned(), 5));
    // One who sets it to failed once more changes nothing, and has no second mail.
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
        &format!("/api/tasks/{}/status", last(&app, &id, "test").await),
        body,
    )
    .await
    .data();
    assert_eq!(mail().await, 1);
    let again = app.post(&retry, json!({})).await.data();
    assert_eq!(stands(&again), ("active".to_owned(), 6));
    // What is blocked by a report is tried again as it is.
    work(&app, &id, "fix", "blocked").await;
    let again = app.post(&retry, json!({})).await.data();
    assert_eq!(stands(&again), ("active".to_owned(), 6));
    for stage in ["fix", "test", "verify"] {
        work(&app, &id, stage, "passed").await;
    }
    assert_eq!(stands(&shown(&app, &id).await), ("done".to_owned(), 6));
    assert_eq!(
        app.post("/api/increments/nope/retry", json!({}))
            .await
            .error(),
        (404, "NOT_FOUND".to_owned())
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_stage_that_a_person_handed_over_takes_the_report_of_its_agent() {
    let app = crew().await;
    let id = increment(&app).await;
    let implementation = last(&app, &id, "implementation").await;
    app.let_work(&implementation, "qa", "a-token").await;
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
async fn nobody_hides_that_it_made_what_is_tested() {
    let app = crew().await;
    // It asks another one to write it, from inside its run.
    let id = increment(&app).await;
    let task = last(&app, &id, "implementation").await;
    app.let_work(&task, "qa", "a-token").await;
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
    // It cannot give its own task another role either.
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
    let told = json!({ "agentContext": { "branch": "b" } });
    app.with_token(
        "a-token",
        Method::PATCH,
        &format!("/api/tasks/{task}?merge=true"),
        told,
    )
    .await
    .data();
    app.put(
        &format!("/api/tasks/{task}/handoff/complete"),
        json!({ "output": "x" }),
    )
    .await
    .data();
    set(&app, &task, "completed").await.data();
    assert_eq!(work(&app, &id, "test", "passed").await, "zed");
    // A run that failed may have made something too.
    let id = increment(&app).await;
    let task = last(&app, &id, "implementation").await;
    assert_eq!(begin(&app, &task).await, "ada");
    app.post(&format!("/api/tasks/{task}/handoff/cancel"), json!({}))
        .await
        .data();
    set(&app, &task, "completed").await.data();
    assert_eq!(work(&app, &id, "test", "passed").await, "zed");
    // Whatever its task is called later.
    app.patch(&format!("/api/tasks/{task}"), role).await.data();
    assert_eq!(work(&app, &id, "verify", "passed").await, "zed");
    app.assert_invariants();
}

#[tokio::test]
async fn what_was_left_behind_is_told_to_those_who_come_later_too() {
    let app = crew().await;
    let make = async |body: Value| {
        let made = app.post("/api/tasks", body).await.data();
        made["id"].as_str().unwrap().to_owned()
    };
    let first = make(json!({ "description": "d", "agentRole": "implementation" })).await;
    begin(&app, &first).await;
    end(&app, &first, "passed").await;
    let after = make(json!({ "description": "d", "dependsOn": [first], "agentContext": { "mine": 1, "testStatus": "none" } })).await;
    let after = app.get(&format!("/api/tasks/{after}")).await.data();
    assert_eq!(
        after["agentContext"],
        json!({ "mine": 1, "testStatus": "none", "workCompleted": "passed", "previousAgent": "ada" })
    );
    let first = app.get(&format!("/api/tasks/{first}")).await.data();
    assert_eq!(
        after["agentWorkspace"], first["agentWorkspace"],
        "it goes on with what was made"
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
async fn a_report_in_a_message_cannot_spoil_what_comes_after() {
    let app = crew().await;
    let make = async |body: Value| {
        let made = app.post("/api/tasks", body).await.data();
        made["id"].as_str().unwrap().to_owned()
    };
    let first = make(json!({ "description": "d", "agentRole": "implementation" })).await;
    let after =
        make(json!({ "description": "d", "agentRole": "testing", "dependsOn": [first] })).await;
    begin(&app, &first).await;
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
    let told = app.get(&format!("/api/tasks/{after}")).await.data();
    assert_eq!(told["agentContext"]["previousAgent"], "ada");
    assert_eq!(told["agentContext"]["filesModified"], json!(null));
    app.patch(&format!("/api/tasks/{after}"), json!({ "priority": 1 }))
        .await
        .data();
    // It can be exported.
    let (_folder, archive) = crate::archive::export(&app).await;
    assert!(archive.join("registry").exists());
    app.assert_invariants();
}

#[tokio::test]
async fn what_runs_make_below_themselves_is_not_endlessly_deep() {
    let app = crew().await;
    let mut task = app.task("first").await;
    for depth in 1..20 {
        let token = format!("token-{depth}");
        app.let_work(&task, "qa", &token).await;
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
    panic!("there is no limit");
}

#[tokio::test]
async fn a_key_is_for_one_who_asks() {
    let app = crew().await;
    let task = app.task("d").await;
    app.let_work(&task, "qa", "a-token").await;
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
        send(Some(crate::support::OPERATOR)).await.data()["from"],
        "operator"
    );
    for other in [Some("a-token"), None] {
        assert_eq!(send(other).await.error(), (409, "CONFLICT".to_owned()));
    }
    assert_eq!(
        send(Some(crate::support::OPERATOR)).await.data()["from"],
        "operator"
    );
}

#[tokio::test]
async fn an_increment_is_blocked_exactly_while_a_stage_of_its_round_is() {
    let app = crew().await;
    // Another stage that a person completes does not hide that the first one failed.
    let id = increment(&app).await;
    let (implementation, verify) = (
        last(&app, &id, "implementation").await,
        last(&app, &id, "verify").await,
    );
    set(&app, &implementation, "failed").await.data();
    set(&app, &verify, "completed").await.data();
    assert_eq!(stands(&shown(&app, &id).await), ("blocked".to_owned(), 1));
    // Who takes it up by hand unblocks it, and a status that is not an end does too.
    let hand_off = async |task: &str| {
        app.post(
            &format!("/api/tasks/{task}/handoff"),
            json!({ "agentName": "qa", "prompt": "p" }),
        )
        .await
    };
    set(&app, &implementation, "waiting").await.data();
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 1));
    set(&app, &implementation, "pending").await.data();
    begin(&app, &implementation).await;
    app.post(
        &format!("/api/tasks/{implementation}/handoff/cancel"),
        json!({}),
    )
    .await
    .data();
    assert_eq!(stands(&shown(&app, &id).await), ("blocked".to_owned(), 1));
    hand_off(&implementation).await.data();
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 1));
    assert_eq!(
        app.post(&format!("/api/increments/{id}/retry"), json!({}))
            .await
            .error(),
        (409, "CONFLICT".to_owned())
    );
    // What its agent says at the end counts, although a person asked.
    end(&app, &implementation, "passed").await;
    work(&app, &id, "test", "passed").await;
    assert_eq!(stands(&shown(&app, &id).await), ("done".to_owned(), 1));
    // What is worked on again is not done.
    set(&app, &verify, "waiting").await.data();
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 1));
    set(&app, &verify, "completed").await.data();
    app.assert_invariants();
}

#[tokio::test]
async fn nothing_of_a_round_that_is_over_goes_on() {
    let app = crew().await;
    let id = increment(&app).await;
    work(&app, &id, "implementation", "passed").await;
    let test = last(&app, &id, "test").await;
    work(&app, &id, "test", "passed").await;
    let verify = last(&app, &id, "verify").await;
    begin(&app, &verify).await;
    // The person finds that the test was wrong, while the verification is under way.
    set(&app, &test, "failed").await.data();
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
        work(&app, &id, stage, "passed").await;
    }
    assert_eq!(stands(&shown(&app, &id).await), ("done".to_owned(), 2));
    // What a person had begun on a stage ends with the round, too.
    let test = last(&app, &id, "test").await;
    app.post(
        &format!("/api/tasks/{test}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    set(&app, &last(&app, &id, "verify").await, "failed")
        .await
        .data();
    app.put(
        &format!("/api/tasks/{test}/handoff/complete"),
        json!({ "output": "nothing" }),
    )
    .await
    .data();
    let ended = app.get(&format!("/api/tasks/{test}")).await.data();
    assert_eq!(ended["status"]["type"], "completed", "it was before");
    assert_eq!(stands(&shown(&app, &id).await), ("active".to_owned(), 3));
    app.assert_invariants();
}

#[tokio::test]
async fn what_was_at_work_when_its_predecessor_failed_waits_for_the_successor() {
    let app = crew().await;
    let first = increment(&app).await;
    for stage in ["implementation", "test", "verify"] {
        work(&app, &first, stage, "passed").await;
    }
    let second = app
        .post(
            "/api/increments",
            json!({ "title": "s", "dependsOn": [first] }),
        )
        .await
        .data();
    let second = second["id"].as_str().unwrap();
    let implementation = last(&app, second, "implementation").await;
    begin(&app, &implementation).await;
    set(&app, &last(&app, &first, "verify").await, "failed")
        .await
        .data();
    app.post(
        &format!("/api/tasks/{implementation}/handoff/cancel"),
        json!({}),
    )
    .await
    .data();
    app.post(&format!("/api/increments/{second}/retry"), json!({}))
        .await
        .data();
    let waits = app
        .post(&format!("/api/route/{implementation}"), json!({}))
        .await;
    assert_eq!(waits.error(), (409, "CONFLICT".to_owned()));
    for stage in ["fix", "test", "verify"] {
        work(&app, &first, stage, "passed").await;
    }
    for stage in ["implementation", "test", "verify"] {
        work(&app, second, stage, "passed").await;
    }
    assert_eq!(stands(&shown(&app, second).await), ("done".to_owned(), 1));
    app.assert_invariants();
}
