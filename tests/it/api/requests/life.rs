//! The life of a request, step by step

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{act, act_as_operator, approve, claim, create, dispatch_nothing, id, in_state, show};
use crate::api::pick;
use crate::support::{TestApp, redact};

/// Lists the transitions of a request: the new state, and who changed it.
fn steps(request: &Value) -> Vec<String> {
    let transitions = request["transitions"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    transitions
        .map(|step| format!("{} by {}", word(&step["to"]), word(&step["by"])))
        .collect()
}

#[tokio::test]
async fn a_request_is_created_approved_claimed_and_finished() {
    let app = TestApp::new().await;
    let body = json!({
        "title": "Refactor the parser", "body": "It reads\nevery line twice.", "kind": "implementation",
        "priority": "P1", "effort": "M",
        "source": { "sourceType": "file", "file": "/notes/todo.md", "line": 12 },
    });
    let created = app.post("/api/requests", body).await;
    assert_eq!(created.status, 201);
    let id = id(&created);
    assert_eq!(show(&app, &id).await, created.data());
    app.clock.advance(1_000);
    let approved = act_as_operator(&app, &id, "approve", json!({})).await;
    assert_eq!(
        pick(
            &approved.data(),
            &["state", "updatedAt", "approvedAt", "attempts"]
        ),
        json!({
            "state": "delegated", "updatedAt": 1_767_225_601_000_i64, "approvedAt": 1_767_225_601_000_i64, "attempts": 0,
        })
    );
    assert_eq!(show(&app, &id).await, approved.data());
    app.clock.advance(1_000);
    let claimed = act(&app, &id, "claim", json!({ "agent": "worker" })).await;
    assert_eq!(
        pick(&claimed.data(), &["state", "attempts", "lease"]),
        json!({
            "state": "claimed", "attempts": 1,
            "lease": { "agent": "worker", "fencing": 1, "expiresAt": 1_767_225_602_000_i64 + 900_000 },
        })
    );
    assert_eq!(show(&app, &id).await, claimed.data());
    app.clock.advance(1_000);
    let kept = act(&app, &id, "heartbeat", json!({ "fencing": 1 })).await;
    assert_eq!(
        kept.data()["lease"]["expiresAt"],
        1_767_225_603_000_i64 + 900_000
    );
    assert_eq!(show(&app, &id).await, kept.data());
    let answer = json!({ "response": "It reads\nthem once.", "fencing": 1 });
    let done = act(&app, &id, "done", answer).await;
    assert_eq!(
        pick(&done.data(), &["state", "response", "attempts", "lease"]),
        json!({ "state": "done", "response": "It reads\nthem once.", "attempts": 1, "lease": null })
    );
    assert_eq!(
        steps(&done.data()),
        [
            "needs by anonymous",
            "delegated by operator",
            "claimed by worker",
            "done by worker"
        ]
    );
    assert_eq!(show(&app, &id).await, done.data());
    assert_eq!(app.get("/api/requests").await.data(), json!([done.data()]));
}

#[tokio::test]
async fn a_request_marked_next_is_claimed_and_finished() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    let next = act_as_operator(&app, &id, "next", json!({})).await.data();
    assert_eq!(
        (&next["state"], &next["approvedAt"]),
        (&json!("next"), &json!(1_767_225_600_000_i64))
    );
    assert_eq!(claim(&app, &id, "worker").await, 1);
    let done = act(&app, &id, "done", json!({ "response": "" }))
        .await
        .data();
    assert_eq!(
        (&done["state"], &done["response"]),
        (&json!("done"), &json!(""))
    );
    assert_eq!(
        steps(&done),
        [
            "needs by anonymous",
            "next by operator",
            "claimed by worker",
            "done by anonymous"
        ]
    );
}

#[tokio::test]
async fn the_operator_finishes_a_request_without_a_claim() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    let done = act_as_operator(&app, &id, "done", json!({ "response": "No." }))
        .await
        .data();
    assert_eq!(
        (
            &done["state"],
            &done["response"],
            &done["attempts"],
            &done["lease"]
        ),
        (&json!("done"), &json!("No."), &json!(0), &Value::Null)
    );
    assert_eq!(
        done["transitions"][1],
        json!({ "from": "needs", "to": "done", "by": "operator", "at": 1_767_225_600_000_i64, "reason": null })
    );
}

#[tokio::test]
async fn a_requeued_request_waits_for_a_person_and_may_be_approved_again() {
    let app = TestApp::new().await;
    let id = in_state(&app, "claimed").await;
    app.clock.advance(1_000);
    let back = act(
        &app,
        &id,
        "requeue",
        json!({ "reason": "The key\nhas expired" }),
    )
    .await;
    assert_eq!(
        pick(&back.data(), &["state", "attempts", "lease", "recovery"]),
        json!({
            "state": "needs", "attempts": 1, "lease": null,
            "recovery": [{
                "date": 1_767_225_601_000_i64, "reason": "The key\nhas expired", "earlierRun": null,
                "action": "Re-queued for a decision by the operator",
            }],
        })
    );
    assert_eq!(
        back.data()["transitions"][3],
        json!({
            "from": "claimed", "to": "needs", "by": "anonymous", "at": 1_767_225_601_000_i64,
            "reason": "The key\nhas expired",
        })
    );
    assert_eq!(show(&app, &id).await, back.data());
    approve(&app, &id).await;
    assert_eq!(claim(&app, &id, "other").await, 2);
    let done = act(&app, &id, "done", json!({ "response": "Done." }))
        .await
        .data();
    assert_eq!(done["attempts"], 2);
    assert_eq!(done["recovery"], back.data()["recovery"]);
}

#[tokio::test]
async fn two_expired_leases_leave_a_request_stuck_until_it_is_approved_again() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    for (attempt, is_stuck) in [(1, false), (2, true)] {
        approve(&app, &id).await;
        assert_eq!(claim(&app, &id, "worker").await, attempt);
        app.clock.advance(900_000);
        dispatch_nothing(&app).await;
        assert_eq!(show(&app, &id).await["stuck"], is_stuck);
    }
    let request = app.get(&format!("/api/requests/{id}")).await;
    assert_eq!(request.data()["state"], "needs");
    assert_eq!(request.data()["lease"], Value::Null);
    assert_snapshot!(redact(&request.data()["recovery"].to_string()), @r#"[{"date":1767226500000,"reason":"The lease of worker ran out without a heartbeat","earlierRun":null,"action":"Re-queued for a decision by the operator"},{"date":1767227400000,"reason":"The lease of worker ran out without a heartbeat","earlierRun":null,"action":"Stopped after attempt 2: the request is stuck and waits for the operator"}]"#);
    assert_snapshot!(request.data()["transitions"][6].to_string(), @r#"{"from":"claimed","to":"needs","by":"dispatcher","at":1767227400000,"reason":"The lease of worker ran out without a heartbeat"}"#);
    approve(&app, &id).await;
    assert_eq!(show(&app, &id).await["stuck"], false);
}

#[tokio::test]
async fn a_response_is_read_back_unchanged() {
    let app = TestApp::new().await;
    let id = in_state(&app, "claimed").await;
    let path = format!("/api/requests/{id}/response");
    assert_snapshot!(app.get(&path).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Request <id 1> has no response yet: it is claimed; wait for it with GET /api/requests/<id 1>?wait=25"}}"#);
    let response = "# Done\r\n\tüber \"alles\" \u{1b}[2J 🎶\n";
    act(&app, &id, "done", json!({ "response": response }))
        .await
        .data();
    let reply = app.get(&path).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.headers["content-type"],
        "text/markdown; charset=utf-8"
    );
    assert_eq!(reply.body, response.as_bytes());
    assert_snapshot!(app.get("/api/requests/nope/response").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Request not found: nope"}}"#);
    assert_snapshot!(app.request(Method::POST, &path, "").await.line(), @r#"405 {"error":{"code":"METHOD_NOT_ALLOWED","message":"POST is not allowed at /api/requests/<id 1>/response; see /api/docs for the methods of each path"}}"#);
}

#[tokio::test]
async fn events_carry_the_request_id_and_appear_in_the_history_of_the_source_task() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let body = json!({
        "title": "Test it", "body": "", "kind": "fix", "source": { "sourceType": "task", "taskId": task },
    });
    let request = id(&app.post("/api/requests", body).await);
    approve(&app, &request).await;
    claim(&app, &request, "worker").await;
    act(&app, &request, "requeue", json!({ "reason": "No time" }))
        .await
        .data();
    act_as_operator(&app, &request, "done", json!({ "response": "Never mind" }))
        .await
        .data();
    // The stream ends after the last event, because the server is stopping.
    app.engine.stopping().cancel();
    let stream = app.get("/api/events?after=1").await;
    assert_snapshot!(redact(std::str::from_utf8(&stream.body).unwrap()), @r#"
    id: 1

    id: 2
    data: {"timestamp":1767225600000,"eventType":"request_created","data":{"kind":"fix","priority":"P2","title":"Test it"},"requestId":"<id 1>","number":2,"taskId":"<id 2>","masterTaskId":"<id 2>"}

    id: 3
    data: {"timestamp":1767225600000,"eventType":"request_approved","data":{"by":"operator","from":"needs","to":"delegated"},"requestId":"<id 1>","number":3}

    id: 4
    data: {"timestamp":1767225600000,"eventType":"request_claimed","data":{"by":"worker","from":"delegated","to":"claimed"},"requestId":"<id 1>","number":4}

    id: 5
    data: {"timestamp":1767225600000,"eventType":"request_requeued","data":{"by":"anonymous","from":"claimed","reason":"No time","to":"needs"},"requestId":"<id 1>","number":5}

    id: 6
    data: {"timestamp":1767225600000,"eventType":"request_done","data":{"by":"operator","from":"needs","to":"done"},"requestId":"<id 1>","number":6}
    "#);
    let history = app.get(&format!("/api/tasks/{task}/history")).await.data();
    let types: Vec<_> = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["eventType"].clone())
        .collect();
    assert_eq!(types, ["task_created", "request_created"]);
}
