//! Reading and acknowledging, per recipient

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{id_of, mark_as_operator, send, send_note};
use crate::support::TestApp;

#[tokio::test]
async fn acknowledging_a_mail_also_marks_it_as_read() {
    let app = TestApp::new().await;
    let id = send_note(&app, "qa", "Look").await;
    app.clock.advance(1000);
    let first = app.post(&format!("/api/mail/{id}/ack"), json!({})).await;
    assert_snapshot!(first.data()["recipients"], @r#"[{"recipient":"qa","cc":false,"deliveredAt":null,"readAt":1767225601000,"acknowledgedAt":1767225601000,"handoffId":null}]"#);
    app.clock.advance(1000);
    for action in ["ack", "read"] {
        let again = app
            .post(&format!("/api/mail/{id}/{action}"), json!({}))
            .await;
        assert_eq!((again.status.as_u16(), again.data()), (200, first.data()));
    }
    assert_eq!(app.events().await.len(), 2);
}

#[tokio::test]
async fn acknowledging_keeps_the_time_of_reading() {
    let app = TestApp::new().await;
    let id = send_note(&app, "qa", "Look").await;
    let mark = async |action: &str| {
        app.clock.advance(1000);
        let marked = app
            .post(&format!("/api/mail/{id}/{action}"), Value::Null)
            .await;
        let own = marked.data()["recipients"][0].clone();
        (own["readAt"].clone(), own["acknowledgedAt"].clone())
    };
    let (read, nothing) = mark("read").await;
    assert_eq!(nothing, json!(null));
    let (still, acknowledged) = mark("ack").await;
    assert_eq!(still, read);
    assert_eq!(acknowledged.as_i64(), read.as_i64().map(|at| at + 1000));
    let shown = app.get(&format!("/api/mail/{id}")).await.data();
    assert_eq!(shown["recipients"][0]["acknowledgedAt"], acknowledged);
}

#[tokio::test]
async fn each_recipient_is_marked_separately() {
    let app = TestApp::new().await;
    let body = json!({ "to": ["qa", "planner"], "cc": ["operator"], "subject": "Look" });
    let id = id_of(&send(&app, body).await);
    let path = format!("/api/mail/{id}/ack");
    let marked = app.post(&path, json!({ "recipient": "QA" })).await.data();
    let read = |mail: &Value| -> Vec<bool> {
        let all = mail["recipients"].as_array().unwrap().iter();
        all.map(|each| each["readAt"] != json!(null)).collect()
    };
    assert_eq!(read(&marked), [true, false, false]);
    // The operator acts for `operator` by default, and may act for any recipient.
    let marked = mark_as_operator(&app, &id, "read", json!({})).await.data();
    assert_eq!(read(&marked), [true, false, true]);
    let marked = mark_as_operator(&app, &id, "read", json!({ "recipient": "planner" })).await;
    assert_eq!(read(&marked.data()), [true, true, true]);
}

#[tokio::test]
async fn only_recipients_mark_mail_and_only_the_operator_acts_as_operator() {
    let app = TestApp::new().await;
    let several = id_of(&send(&app, json!({ "to": ["qa", "planner"], "subject": "Look" })).await);
    let own = send_note(&app, "operator", "Look").await;
    let ack =
        async |id: &str, body: Value| app.post(&format!("/api/mail/{id}/ack"), body).await.line();
    assert_snapshot!(ack(&several, json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"recipient: mail <id 1> has several recipients. Name one of: qa, planner"}}"#);
    assert_snapshot!(ack(&several, json!({ "recipient": "developer" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"recipient: developer is not a recipient of mail <id 1>. Name one of: qa, planner"}}"#);
    assert_snapshot!(ack(&several, json!({ "recipient": 7 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"recipient: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(ack(&several, json!({ "recipient": "a\u{0}" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"recipient: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(ack(&several, json!({ "as": "qa" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"as: unknown field `as`, expected `recipient`"}}"#);
    assert_snapshot!(ack(&own, json!({})).await, @r#"401 {"error":{"code":"UNAUTHORIZED","message":"Operator token required to mark mail <id 1>, which is addressed to the operator. Send the header `Authorization: Bearer <contents of operator.token>`, or name another `recipient`"}}"#);
    assert_snapshot!(ack(&own, json!({ "recipient": "operator" })).await, @r#"401 {"error":{"code":"UNAUTHORIZED","message":"Operator token required to mark mail <id 1>, which is addressed to the operator. Send the header `Authorization: Bearer <contents of operator.token>`, or name another `recipient`"}}"#);
    assert_snapshot!(ack("nope", json!({})).await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Mail not found: nope"}}"#);
    assert_snapshot!(ack("..%2fx", json!({})).await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Mail not found: ../x"}}"#);
    assert_eq!(
        app.get("/api/mail?unread=true")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        mark_as_operator(&app, &own, "ack", json!({})).await.status,
        200
    );
    assert_snapshot!(app.get("/api/mail/nope").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Mail not found: nope"}}"#);
}
