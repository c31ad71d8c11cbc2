//! The rights of a run

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{id_of, send};
use crate::support::{Reply, TestApp};

async fn post_as_run(app: &TestApp, path: &str, body: Value) -> Reply {
    app.with_token("sesame", Method::POST, path, body).await
}

#[tokio::test]
async fn a_run_always_sends_as_its_agent() {
    let app = TestApp::new().await;
    let (own, other) = (app.task("Write it").await, app.task("Other").await);
    app.start_run(&own, "developer", "sesame").await;
    for from in [
        json!(null),
        json!("operator"),
        json!("router"),
        json!("qa"),
        json!("nobody"),
        json!(""),
    ] {
        let body = json!({ "to": ["qa"], "subject": "Look", "from": from });
        let mail = post_as_run(&app, "/api/mail", body).await.data();
        assert_eq!(
            (&mail["from"], &mail["fromVerified"]),
            (&json!("developer"), &json!(true)),
            "{from}"
        );
        assert_eq!(mail["taskId"], json!(own));
    }
    let child = post_as_run(&app, "/api/tasks", json!({ "description": "c" }))
        .await
        .data()["id"]
        .clone();
    let about = async |task: Value| {
        post_as_run(
            &app,
            "/api/mail",
            json!({ "to": ["qa"], "subject": "Look", "taskId": task }),
        )
        .await
    };
    assert_eq!(about(child.clone()).await.data()["taskId"], child);
    assert_snapshot!(about(json!(other)).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may change only its own task <id 1> and the tasks below it"}}"#);
    assert_snapshot!(about(json!("nope")).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
}

#[tokio::test]
async fn a_run_marks_only_mail_of_its_own_agent() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let mine = json!({ "to": ["developer", "operator"], "subject": "Mine" });
    let mine = id_of(&send(&app, mine).await);
    let other = id_of(&send(&app, json!({ "to": ["qa"], "subject": "Other" })).await);
    app.start_run(&task, "developer", "sesame").await;
    let marked = post_as_run(
        &app,
        &format!("/api/mail/{mine}/ack"),
        json!({ "recipient": "operator" }),
    )
    .await
    .data();
    assert_ne!(marked["recipients"][0]["acknowledgedAt"], json!(null));
    assert_eq!(marked["recipients"][1]["acknowledgedAt"], json!(null));
    for body in [json!({}), json!({ "recipient": "qa" })] {
        for action in ["ack", "read"] {
            let path = format!("/api/mail/{other}/{action}");
            assert_eq!(post_as_run(&app, &path, body.clone()).await.status, 403);
        }
    }
    let path = format!("/api/mail/{other}/ack");
    assert_snapshot!(post_as_run(&app, &path, json!({})).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"Mail <id 1> is not addressed to developer. A run may mark only the mail of its own agent"}}"#);
    assert_eq!(
        app.get("/api/mail?to=qa&unread=true").await.data()[0]["id"],
        json!(other)
    );
}
