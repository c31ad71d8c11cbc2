//! `/api/tasks/{id}/handoff…` and `/api/handoffs`

use axum::http::Method;
use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::{Reply, TestApp};

async fn start(app: &TestApp, id: &str, agent: &str) -> Reply {
    let body = json!({ "agentName": agent, "prompt": "Write the parser" });
    app.post(&format!("/api/tasks/{id}/handoff"), body).await
}

async fn complete(app: &TestApp, id: &str, output: &str) -> Reply {
    app.put(
        &format!("/api/tasks/{id}/handoff/complete"),
        json!({ "output": output }),
    )
    .await
}

fn open_handoff(task: &Value) -> String {
    task["agentChain"].as_array().unwrap().last().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_handoff_makes_the_agent_current_and_the_task_active() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    app.clock.advance(1_000);
    let task = start(&app, &id, "developer").await.data();
    assert_eq!(
        pick(&task, &["status", "updatedAt", "currentAgent"]),
        json!({ "status": { "type": "active" }, "updatedAt": 1_767_225_601_000_i64, "currentAgent": "developer" })
    );
    assert_eq!(
        pick(
            &task["agentChain"][0],
            &["agentName", "startedAt", "completedAt", "output"]
        ),
        json!({ "agentName": "developer", "startedAt": 1_767_225_601_000_i64, "completedAt": null, "output": "" })
    );
}

#[tokio::test]
async fn a_completed_handoff_leaves_its_output_and_the_task_waiting() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    start(&app, &id, "developer").await.data();
    app.clock.advance(2_000);
    let task = complete(&app, &id, "All done").await.data();
    assert_eq!(task["status"], json!({ "type": "waiting" }));
    assert_eq!(task["currentAgent"], Value::Null);
    let entry = &task["agentChain"][0];
    assert_eq!(entry["completedAt"], 1_767_225_602_000_i64);
    assert_eq!(entry["output"], "All done");
    assert_eq!(
        (&entry["outcome"], &entry["error"]),
        (&json!("completed"), &Value::Null)
    );
}

#[tokio::test]
async fn a_cancelled_handoff_has_the_reason_as_its_output() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/handoff/cancel");
    start(&app, &id, "developer").await.data();
    let task = app
        .post(&path, json!({ "reason": "too slow" }))
        .await
        .data();
    let entry = &task["agentChain"][0];
    assert_eq!(
        (&entry["outcome"], &entry["output"], &entry["error"]),
        (&json!("cancelled"), &json!("too slow"), &json!("too slow"))
    );
    assert_eq!(task["status"], json!({ "type": "waiting" }));
    assert_eq!(task["currentAgent"], Value::Null);
}

#[tokio::test]
async fn a_handoff_is_cancelled_without_any_body() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    for (place, body) in [
        "",
        "null",
        "{}",
        r#"{"reason": null}"#,
        r#"{"reason": " "}"#,
    ]
    .into_iter()
    .enumerate()
    {
        start(&app, &id, "developer").await.data();
        let path = format!("/api/tasks/{id}/handoff/cancel");
        let task = app.request(Method::POST, &path, body).await.data();
        assert_eq!(task["agentChain"][place]["output"], "Cancelled", "{body}");
    }
    let path = format!("/api/tasks/{id}/handoff/cancel");
    assert_snapshot!(app.request(Method::POST, &path, r#"{"why": "x"}"#).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"why: unknown field `why`, expected `reason`"}}"#);
    assert_snapshot!(app.request(Method::POST, &path, "x").await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
}

#[tokio::test]
async fn a_second_agent_cannot_start_beside_the_first() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    start(&app, &id, "developer").await.data();
    let before = app.get(&format!("/api/tasks/{id}")).await.data();
    assert_snapshot!(start(&app, &id, "qa").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent already active on task: developer"}}"#);
    assert_snapshot!(start(&app, &id, "developer").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent already active on task: developer"}}"#);
    assert_eq!(app.get(&format!("/api/tasks/{id}")).await.data(), before);
}

#[tokio::test]
async fn completing_or_cancelling_needs_an_open_handoff() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    assert_snapshot!(complete(&app, &id, "o").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"No agent is active on task <id 1>, because it was never handed off. Start a hand-off first"}}"#);
    start(&app, &id, "qa").await.data();
    complete(&app, &id, "first").await.data();
    assert_snapshot!(complete(&app, &id, "second").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"No agent is active on task <id 1>: its last hand-off, to qa, has ended. See `chorus task show <id 1>`"}}"#);
    let cancelled = app
        .post(&format!("/api/tasks/{id}/handoff/cancel"), json!({}))
        .await;
    assert_snapshot!(cancelled.line(), @r#"409 {"error":{"code":"CONFLICT","message":"No agent is active on task <id 1>: its last hand-off, to qa, has ended. See `chorus task show <id 1>`"}}"#);
    let task = app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(task["agentChain"][0]["output"], "first");
}

#[tokio::test]
async fn an_unknown_agent_is_refused_with_a_list_of_known_agents() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    assert_snapshot!(start(&app, &id, "desinger").await.page(), @r#"
    400
    {
      "error": {
        "code": "UNKNOWN_AGENT",
        "message": "Unknown agent: desinger",
        "details": {
          "agents": [
            "developer",
            "developer-review",
            "orchestrator",
            "planner",
            "qa"
          ]
        }
      }
    }
    "#);
    let task = app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(
        (&task["currentAgent"], &task["agentChain"]),
        (&Value::Null, &json!([]))
    );
}

#[tokio::test]
async fn agent_names_match_in_the_spellings_of_people_and_models() {
    let app = TestApp::new().await;
    for asked in [
        "developer-review",
        "Developer Review",
        "`developer_review`",
        " @DEVELOPER-REVIEW\n",
    ] {
        let id = app.task("d").await;
        let task = start(&app, &id, asked).await.data();
        assert_eq!(task["currentAgent"], "developer-review", "{asked:?}");
    }
}

#[tokio::test]
async fn a_handoff_of_an_ended_task_keeps_the_status() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    app.put(
        &format!("/api/tasks/{id}/status"),
        json!({ "status": "completed" }),
    )
    .await
    .data();
    let task = start(&app, &id, "qa").await.data();
    assert_eq!(task["status"], json!({ "type": "completed" }));
    let task = complete(&app, &id, "o").await.data();
    assert_eq!(task["status"], json!({ "type": "completed" }));
}

#[tokio::test]
async fn a_status_that_was_set_during_a_handoff_stays() {
    let app = TestApp::new().await;
    for status in [
        json!({ "type": "completed" }),
        json!({ "type": "failed", "message": "m" }),
        json!({ "type": "pending" }),
    ] {
        for is_cancelled in [false, true] {
            let id = app.task("d").await;
            start(&app, &id, "qa").await.data();
            let path = format!("/api/tasks/{id}/status");
            app.put(&path, json!({ "status": status })).await.data();
            let ended = if is_cancelled {
                let path = format!("/api/tasks/{id}/handoff/cancel");
                app.post(&path, json!({})).await.data()
            } else {
                complete(&app, &id, "o").await.data()
            };
            assert_eq!(ended["status"], status);
        }
    }
}

#[tokio::test]
async fn a_handoff_without_a_prompt_or_an_agent_is_refused() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let refused = async |body| {
        app.post(&format!("/api/tasks/{id}/handoff"), body)
            .await
            .line()
    };
    assert_snapshot!(refused(json!({ "agentName": "qa" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `prompt`"}}"#);
    assert_snapshot!(refused(json!({ "prompt": "p" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `agentName`"}}"#);
    assert_snapshot!(refused(json!({ "agentName": "qa", "prompt": " \n" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"prompt: must not be empty"}}"#);
    assert_snapshot!(refused(json!({ "agentName": "", "prompt": "p" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentName: must not be empty"}}"#);
    assert_snapshot!(refused(json!({ "agentName": "qa", "prompt": "p", "resume": "yes" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"resume: invalid type: string \"yes\", expected a boolean"}}"#);
    assert_snapshot!(refused(json!({ "agent": "qa", "prompt": "p" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: unknown field `agent`, expected one of `agentName`, `prompt`, `reason`, `resume`, `new`, `detached`"}}"#);
    assert_snapshot!(refused(json!({ "agentName": "qa", "prompt": "p", "resume": true })).await, @r#"409 {"error":{"code":"CONFLICT","message":"Agent qa has no session on this task to resume. Start without `resume`"}}"#);
}

#[tokio::test]
async fn a_prompt_over_the_limit_is_too_large() {
    let app = TestApp::with_limits(Limits {
        prompt: 10,
        ..Limits::default()
    })
    .await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/handoff");
    let body = |prompt: &str| json!({ "agentName": "qa", "prompt": prompt });
    assert_snapshot!(app.post(&path, body("ten bytes 🎶")).await.line(), @r#"413 {"error":{"code":"TOO_LARGE","message":"prompt is too large: the limit is 10 bytes","details":{"limit":10}}}"#);
    assert_eq!(app.post(&path, body("ten bytes.")).await.status, 200);
}

#[tokio::test]
async fn completing_needs_an_output_that_may_be_empty() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    start(&app, &id, "qa").await.data();
    let path = format!("/api/tasks/{id}/handoff/complete");
    assert_snapshot!(app.put(&path, json!({})).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `output`"}}"#);
    assert_snapshot!(app.put(&path, json!({ "output": null })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"output: invalid type: null, expected a string"}}"#);
    assert_eq!(app.put(&path, json!({ "output": "" })).await.status, 200);
}

#[tokio::test]
async fn the_full_record_changes_when_the_handoff_ends() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let body = json!({ "agentName": "qa", "prompt": "Test it", "reason": "to be sure" });
    let task = app
        .post(&format!("/api/tasks/{id}/handoff"), body)
        .await
        .data();
    let path = format!("/api/handoffs/{}", open_handoff(&task));
    let open = app.get(&path).await.data();
    assert_eq!(
        pick(&open, &["prompt", "reason", "outcome", "usage", "costUsd"]),
        json!({ "prompt": "Test it", "reason": "to be sure", "outcome": null, "usage": null, "costUsd": null })
    );
    assert_eq!(open["run"]["state"], "queued");
    app.clock.advance(1_000);
    complete(&app, &id, "It works").await.data();
    let ended = app.get(&path).await.data();
    assert_eq!(
        pick(&ended, &["completedAt", "output", "outcome"]),
        json!({ "completedAt": 1_767_225_601_000_i64, "output": "It works", "outcome": "completed" })
    );
    assert_eq!(
        pick(&ended["run"], &["state", "outcome", "endedAt"]),
        json!({ "state": "ended", "outcome": "cancelled", "endedAt": 1_767_225_601_000_i64 })
    );
}

#[tokio::test]
async fn the_handoffs_of_a_task_are_listed_in_chain_order() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/handoffs");
    assert_eq!(app.get(&path).await.data(), json!([]));
    for agent in ["developer", "qa", "developer"] {
        start(&app, &id, agent).await.data();
        complete(&app, &id, agent).await.data();
    }
    let listed = app.get(&path).await.data();
    let names: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["agentName"].clone())
        .collect();
    assert_eq!(names, ["developer", "qa", "developer"]);
    for handoff in listed.as_array().unwrap() {
        let alone = app
            .get(&format!(
                "/api/handoffs/{}",
                handoff["id"].as_str().unwrap()
            ))
            .await;
        assert_eq!(alone.data(), *handoff);
    }
}

#[tokio::test]
async fn an_unknown_handoff_is_not_found() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/handoffs/0198f3c0").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Hand-off not found: 0198f3c0"}}"#);
    assert_snapshot!(app.get("/api/handoffs/a%20b?wait=0").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Hand-off not found: a b"}}"#);
}
