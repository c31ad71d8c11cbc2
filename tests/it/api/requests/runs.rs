//! The rights of a run

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{
    act, act_as_operator, approve, create, dispatch_nothing, id, in_state, refusal, show,
    task_with_run,
};
use crate::support::{Reply, TestApp};

async fn post_as_run(app: &TestApp, path: &str, body: Value) -> Reply {
    app.with_token("sesame", Method::POST, path, body).await
}

fn request_from(source: &Value) -> Value {
    json!({ "title": "Look", "body": "", "kind": "fix", "source": source })
}

#[tokio::test]
async fn a_request_of_a_run_has_its_task_as_source_and_its_agent_as_author() {
    let app = TestApp::new().await;
    let task = task_with_run(&app, "sesame").await;
    let child = post_as_run(&app, "/api/tasks", json!({ "description": "c" }))
        .await
        .data();
    // A run cannot name a person as source.
    let person = json!({ "sourceType": "person", "userId": "boss" });
    let of_child = json!({ "sourceType": "task", "taskId": child["id"], "userId": "boss" });
    for (source, comes_from) in [
        (json!(null), json!(task)),
        (person, json!(task)),
        (of_child, child["id"].clone()),
    ] {
        let made = post_as_run(&app, "/api/requests", request_from(&source)).await;
        assert_eq!(
            made.data()["source"],
            json!({ "sourceType": "task", "taskId": comes_from, "file": null, "line": null, "userId": null })
        );
        assert_eq!(made.data()["transitions"][0]["by"], "developer");
        assert_eq!(made.data()["state"], "needs");
        assert_eq!(show(&app, &id(&made)).await, made.data());
    }
    let history = app.get(&format!("/api/tasks/{task}/history")).await.data();
    let events = history["events"].as_array().unwrap().iter();
    assert_eq!(
        events
            .filter(|event| event["eventType"] == "request_created")
            .count(),
        2
    );
}

#[tokio::test]
async fn a_run_may_name_a_file_as_source() {
    let app = TestApp::new().await;
    task_with_run(&app, "sesame").await;
    let file =
        json!({ "sourceType": "file", "file": "/notes/todo.md", "line": 3, "userId": "boss" });
    let made = post_as_run(&app, "/api/requests", request_from(&file))
        .await
        .data();
    assert_eq!(
        made["source"],
        json!({ "sourceType": "file", "taskId": null, "file": "/notes/todo.md", "line": 3, "userId": null })
    );
    assert_eq!(made["transitions"][0]["by"], "developer");
}

#[tokio::test]
async fn a_run_may_not_name_a_foreign_task_as_source() {
    let app = TestApp::new().await;
    let other = app.task("Other").await;
    task_with_run(&app, "sesame").await;
    let source = json!({ "sourceType": "task", "taskId": other });
    assert_snapshot!(post_as_run(&app, "/api/requests", request_from(&source)).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may change only its own task <id 1> and the tasks below it"}}"#);
    let source = json!({ "sourceType": "task", "taskId": "nope" });
    assert_snapshot!(post_as_run(&app, "/api/requests", request_from(&source)).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
    assert_eq!(app.get("/api/requests").await.data(), json!([]));
}

#[tokio::test]
async fn a_run_always_claims_as_its_agent() {
    let app = TestApp::new().await;
    task_with_run(&app, "sesame").await;
    let id = create(&app, "Look").await;
    approve(&app, &id).await;
    let path = |action: &str| format!("/api/requests/{id}/{action}");
    let claimed = post_as_run(&app, &path("claim"), json!({ "agent": "qa" }))
        .await
        .data();
    assert_eq!(claimed["lease"]["agent"], "developer");
    assert_eq!(claimed["transitions"][2]["by"], "developer");
    assert_eq!(
        post_as_run(&app, &path("heartbeat"), json!({ "fencing": 1 }))
            .await
            .status,
        200
    );
    let done = post_as_run(
        &app,
        &path("done"),
        json!({ "response": "r", "fencing": 1 }),
    )
    .await
    .data();
    assert_eq!(
        (&done["state"], &done["transitions"][3]["by"]),
        (&json!("done"), &json!("developer"))
    );
}

#[tokio::test]
async fn a_run_cannot_renew_or_end_the_claim_of_another() {
    let app = TestApp::new().await;
    task_with_run(&app, "sesame").await;
    let id = in_state(&app, "claimed").await;
    let before = show(&app, &id).await;
    let mut said = String::new();
    for (action, body) in [
        ("heartbeat", json!({ "fencing": 1 })),
        ("done", json!({ "response": "r", "fencing": 1 })),
        ("requeue", json!({ "reason": "r" })),
    ] {
        let reply = post_as_run(&app, &format!("/api/requests/{id}/{action}"), body).await;
        said += &(refusal(&reply) + "\n");
    }
    assert_snapshot!(said, @"
    403 Request <id 1> is not claimed by this run of developer. Claim it first
    403 Request <id 1> is not claimed by this run of developer. Claim it first
    403 Request <id 1> is not claimed by this run of developer. Claim it first
    ");
    assert_eq!(show(&app, &id).await, before);
    act(&app, &id, "done", json!({ "response": "r" }))
        .await
        .data();
}

#[tokio::test]
async fn a_run_may_read_all_requests() {
    let app = TestApp::new().await;
    task_with_run(&app, "sesame").await;
    let id = in_state(&app, "done").await;
    for path in [
        "/api/requests".to_owned(),
        format!("/api/requests/{id}"),
        "/api/dispatch".to_owned(),
        "/api/dispatch/routes".to_owned(),
    ] {
        let reply = app
            .with_token("sesame", Method::GET, &path, json!(null))
            .await;
        assert_eq!(reply.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_claim_of_a_run_lasts_until_its_hand_off_ends() {
    let app = TestApp::new().await;
    let task = task_with_run(&app, "sesame").await;
    let other = app.task("Other").await;
    app.start_run(&other, "developer", "open").await;
    let id = in_state(&app, "next").await;
    let path = |action: &str| format!("/api/requests/{id}/{action}");
    let body = json!({ "agent": "developer", "leaseSeconds": 1 });
    post_as_run(&app, &path("claim"), body).await.data();
    for _ in 0..5 {
        app.clock.advance(600_000);
        dispatch_nothing(&app).await;
        assert_eq!(show(&app, &id).await["state"], "claimed");
    }
    // Another run of the same agent has another hand-off.
    let done = path("done");
    let body = json!({ "response": "Mine." });
    let reply = app.with_token("open", Method::POST, &done, body);
    assert_snapshot!(refusal(&reply.await), @"403 Request <id 1> is not claimed by this run of developer. Claim it first");
    app.post(&format!("/api/tasks/{task}/handoff/cancel"), json!({}))
        .await
        .data();
    let back = show(&app, &id).await;
    assert_eq!(back["state"], "needs");
    assert_eq!(back["lease"], Value::Null);
    assert_snapshot!(back["transitions"][3]["reason"].as_str().unwrap(), @"Agent developer claimed the request and ended without a response. Its hand-off: cancelled");
    assert_eq!(back["transitions"][3]["by"], "dispatcher");
    app.assert_invariants();
}

#[tokio::test]
async fn the_operator_takes_a_request_from_a_run_that_goes_on() {
    let app = TestApp::new().await;
    let task = task_with_run(&app, "sesame").await;
    for action in ["done", "requeue"] {
        let id = in_state(&app, "next").await;
        let claim = json!({ "agent": "developer" });
        post_as_run(&app, &format!("/api/requests/{id}/claim"), claim)
            .await
            .data();
        let body = match action {
            "done" => json!({ "response": "By hand." }),
            _ => json!({ "reason": "By hand." }),
        };
        act_as_operator(&app, &id, action, body).await.data();
        let task = app.get(&format!("/api/tasks/{task}")).await.data();
        assert_eq!(task["currentAgent"], "developer", "{action}");
    }
    app.assert_invariants();
}
