//! Mail that is refused

use axum::http::Method;
use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Map, Value, json};

use super::{send, subjects};
use crate::support::TestApp;

/// Returns a valid mail to qa with one field replaced.
fn with(key: &str, value: Value) -> Value {
    let mut body = json!({ "to": ["qa"], "subject": "Look" });
    body[key] = value;
    body
}

#[tokio::test]
async fn an_invalid_field_is_named() {
    let app = TestApp::new().await;
    let refused = async |key: &str, value: Value| send(&app, with(key, value)).await.line();
    assert_snapshot!(app.request(Method::POST, "/api/mail", "").await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is empty; send a JSON object"}}"#);
    assert_snapshot!(send(&app, json!({})).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `to`"}}"#);
    assert_snapshot!(send(&app, json!({ "to": ["qa"] })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `subject`"}}"#);
    assert_snapshot!(send(&app, json!(["qa"])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused("to", json!("qa")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"to: invalid type: string \"qa\", expected a sequence"}}"#);
    assert_snapshot!(refused("to", json!([7])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"to[0]: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(refused("to", json!([""])).await, @r#"400 {"error":{"code":"UNKNOWN_AGENT","message":"Unknown agent: ","details":{"agents":["developer","developer-review","orchestrator","planner","qa"]}}}"#);
    assert_snapshot!(refused("cc", json!(["q\u{0}a"])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"cc[0]: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused("subject", json!(" \t")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"subject: must not be empty"}}"#);
    assert_snapshot!(refused("subject", json!("two\nlines")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"subject: must be one line"}}"#);
    assert_snapshot!(refused("subject", json!("a\u{0}b")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"subject: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused("body", json!("a\u{0}b")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"body: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused("body", json!(null)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"body: invalid type: null, expected a string"}}"#);
    assert_snapshot!(refused("type", json!("letter")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"type: unknown variant `letter`, expected one of `task_handoff`, `test_failure_report`, `fix_complete`, `verification_request`, `assignment`, `note`"}}"#);
    assert_snapshot!(refused("version", json!("2.0.0")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"version: unknown variant `2.0.0`, expected `1.0.0`"}}"#);
    assert_snapshot!(refused("urgency", json!("now")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"urgency: unknown variant `now`, expected one of `low`, `normal`, `high`, `urgent`"}}"#);
    assert_snapshot!(refused("context", json!([])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"context: invalid type: sequence, expected a map"}}"#);
    assert_snapshot!(refused("previousAttempts", json!(-1)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"previousAttempts: invalid value: integer `-1`, expected u32"}}"#);
    assert_snapshot!(refused("ackRequired", json!("yes")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ackRequired: invalid type: string \"yes\", expected a boolean"}}"#);
    assert_snapshot!(refused("threadId", json!("../x")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"threadId: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused("handoffType", json!("")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"handoffType: must not be empty; omit it instead"}}"#);
    assert_snapshot!(refused("taskId", json!("nope")).await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
    assert_snapshot!(refused("id", json!("mine")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"id: unknown field `id`, expected one of `version`, `type`, `from`, `to`, `cc`, `threadId`, `inReplyTo`, `subject`, `body`, `taskId`, `handoffType`, `context`, `previousAttempts`, `urgency`, `ackRequired`"}}"#);
    assert_eq!(subjects(&app, "").await, [""; 0]);
    assert!(app.events().await.is_empty());
}

#[tokio::test]
async fn subject_body_and_context_have_limits() {
    let app = TestApp::new().await;
    let Limits {
        mail,
        mail_subject,
        mail_recipients,
        ..
    } = Limits::default();
    let refused = async |key: &str, value: Value| send(&app, with(key, value)).await.line();
    assert_snapshot!(refused("subject", json!("é".repeat(mail_subject / 2 + 1))).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"subject is too large: the limit is 1000 bytes","details":{"limit":1000}}}"#);
    assert_snapshot!(refused("body", json!("a".repeat(mail + 1))).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"body is too large: the limit is 65536 bytes","details":{"limit":65536}}}"#);
    assert_snapshot!(refused("context", json!({ "a": "b".repeat(mail) })).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"context is too large: the limit is 65536 bytes","details":{"limit":65536}}}"#);
    assert_snapshot!(refused("handoffType", json!("a".repeat(1001))).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"handoffType is too large: the limit is 1000 bytes","details":{"limit":1000}}}"#);
    assert_snapshot!(refused("to", json!(vec!["qa"; mail_recipients + 1])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"to: `to` and `cc` have 101 addresses together; the limit is 100"}}"#);
    assert_eq!(subjects(&app, "").await, [""; 0]);
    let full = json!({
        "to": vec!["qa"; mail_recipients], "subject": "s".repeat(mail_subject), "body": "b".repeat(mail),
        "context": { "a": "c".repeat(mail - 8) },
    });
    assert_eq!(send(&app, full).await.status, 201);
}

#[tokio::test]
async fn a_role_with_too_many_agents_is_refused() {
    let limits = Limits {
        mail_recipients: 3,
        ..Limits::default()
    };
    let app = TestApp::with_limits(limits).await;
    let connection = crate::support::invariants::open(&app.data_dir.database());
    connection
        .execute("UPDATE agents SET roles = '[\"all\"]'", [])
        .unwrap();
    assert_snapshot!(send(&app, with("to", json!(["role:all"]))).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"to: 5 recipients exceed the limit of 3. Send several mails"}}"#);
    assert_eq!(subjects(&app, "").await, [""; 0]);
}

#[tokio::test]
async fn unusual_text_is_stored_unchanged() {
    let app = TestApp::new().await;
    let odd = "quotes \" ' ` \\, <b>&amp;</b>, \u{1b}[2J \u{202e} 🎶 %_; DROP TABLE mail; --";
    let mut context = Map::new();
    context.insert(
        odd.to_owned(),
        json!({ "nul": "\u{0}", "lines": "a\nb", "big": 1e300 }),
    );
    let body = json!({ "to": ["qa"], "subject": odd, "body": format!("{odd}\r\n{odd}\n"), "context": context });
    let sent = send(&app, body.clone()).await.data();
    for key in ["subject", "body", "context"] {
        assert_eq!(sent[key], body[key]);
    }
    assert_eq!(app.get("/api/mail").await.data(), json!([sent]));
}
