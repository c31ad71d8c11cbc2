//! Invalid requests, responses and reasons

use axum::http::Method;
use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{act, act_as_operator, id, in_state, refusal, show};
use crate::api::pick;
use crate::support::TestApp;

/// Returns a valid request with one field replaced.
fn with(key: &str, value: Value) -> Value {
    let mut body = json!({ "title": "Look", "body": "There.", "kind": "fix" });
    body[key] = value;
    body
}

async fn assert_no_requests(app: &TestApp) {
    assert_eq!(app.get("/api/requests").await.data(), json!([]));
    assert_eq!(
        app.get("/api/requests?withdrawn=true").await.data(),
        json!([])
    );
    assert!(app.events().await.is_empty());
}

#[tokio::test]
async fn absent_fields_have_their_default_values() {
    let app = TestApp::new().await;
    let body = json!({ "title": " Look\tthere ", "body": "", "kind": "x" });
    let request = app.post("/api/requests", body).await.data();
    assert_eq!(
        pick(
            &request,
            &[
                "title",
                "body",
                "state",
                "priority",
                "effort",
                "source",
                "agentWorkspace"
            ]
        ),
        json!({
            "title": " Look\tthere ", "body": "", "state": "needs", "priority": "P2", "effort": null,
            "source": { "sourceType": "person", "taskId": null, "file": null, "line": null, "userId": "anonymous" },
            "agentWorkspace": null,
        })
    );
}

#[tokio::test]
async fn a_title_is_one_nonempty_line() {
    let app = TestApp::new().await;
    let refused = async |title: Value| app.post("/api/requests", with("title", title)).await.line();
    assert_snapshot!(refused(json!("")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must not be empty"}}"#);
    assert_snapshot!(refused(json!(" \t ")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must not be empty"}}"#);
    assert_snapshot!(refused(json!("two\nlines")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must be one line; put the rest into the body"}}"#);
    assert_snapshot!(refused(json!("two\rlines")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must be one line; put the rest into the body"}}"#);
    assert_snapshot!(refused(json!("a\u{0}b")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused(json!("x".repeat(1001))).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must not be longer than 1000 bytes; put the rest into the body"}}"#);
    assert_snapshot!(refused(json!("é".repeat(501))).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must not be longer than 1000 bytes; put the rest into the body"}}"#);
    assert_snapshot!(refused(json!(7)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(refused(json!(null)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: invalid type: null, expected a string"}}"#);
    assert_snapshot!(refused(json!(["a"])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: invalid type: sequence, expected a string"}}"#);
    assert_no_requests(&app).await;
    for title in [
        "x".repeat(1000),
        "é".repeat(500),
        "'; DROP TABLE requests; --".to_owned(),
        "\u{1b}[2J\u{202e} 🎶".to_owned(),
    ] {
        let reply = app.post("/api/requests", with("title", json!(title))).await;
        assert_eq!(show(&app, &id(&reply)).await["title"], json!(title));
    }
}

#[tokio::test]
async fn a_body_has_a_limit_in_bytes() {
    let app = TestApp::new().await;
    let limit = Limits::default().text;
    let refused = async |body: Value| app.post("/api/requests", with("body", body)).await.line();
    assert_snapshot!(refused(json!("x".repeat(limit + 1))).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"body is too large: the limit is 1048576 bytes","details":{"limit":1048576}}}"#);
    assert_snapshot!(refused(json!("é".repeat(limit / 2 + 1))).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"body is too large: the limit is 1048576 bytes","details":{"limit":1048576}}}"#);
    assert_snapshot!(refused(json!("a\u{0}")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"body: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"body: invalid type: map, expected a string"}}"#);
    assert_snapshot!(refused(json!(null)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"body: invalid type: null, expected a string"}}"#);
    assert_no_requests(&app).await;
    for body in ["x".repeat(limit), "\r\n\t \n".to_owned(), String::new()] {
        let reply = app.post("/api/requests", with("body", json!(body))).await;
        assert_eq!(show(&app, &id(&reply)).await["body"], json!(body));
    }
}

#[tokio::test]
async fn an_unknown_kind_priority_or_effort_is_refused() {
    let app = TestApp::new().await;
    let refused =
        async |key: &str, value: Value| app.post("/api/requests", with(key, value)).await.line();
    assert_snapshot!(refused("kind", json!("")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"kind: must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    for kind in [
        "Fix",
        "2fix",
        "-fix",
        "a b",
        "a_b",
        "fix\n",
        "é",
        "../x",
        "a'b",
        &"x".repeat(65),
    ] {
        let reply = app.post("/api/requests", with("kind", json!(kind))).await;
        assert_eq!(reply.error(), (400, "INVALID_BODY".to_owned()), "{kind}");
    }
    for (key, value) in [("priority", json!(1)), ("effort", json!(3))] {
        let reply = app.post("/api/requests", with(key, value)).await;
        assert!(refusal(&reply).starts_with(&format!("400 {key}: ")));
    }
    assert_snapshot!(refused("kind", json!(null)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"kind: invalid type: null, expected a string"}}"#);
    assert_snapshot!(refused("priority", json!("P3")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"priority: unknown variant `P3`, expected one of `P0`, `P1`, `P2`"}}"#);
    assert_snapshot!(refused("priority", json!("p1")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"priority: unknown variant `p1`, expected one of `P0`, `P1`, `P2`"}}"#);
    assert_snapshot!(refused("effort", json!("XL")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"effort: unknown variant `XL`, expected one of `S`, `M`, `L`"}}"#);
    assert_snapshot!(refused("effort", json!("s")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"effort: unknown variant `s`, expected one of `S`, `M`, `L`"}}"#);
    assert_no_requests(&app).await;
    for (key, value) in [
        ("priority", json!("P0")),
        ("effort", json!("L")),
        ("effort", json!(null)),
        ("kind", json!("x".repeat(64))),
    ] {
        let reply = app.post("/api/requests", with(key, value.clone())).await;
        assert_eq!(show(&app, &id(&reply)).await[key], value);
    }
}

#[tokio::test]
async fn a_source_is_a_task_a_line_of_a_file_or_a_person() {
    let app = TestApp::new().await;
    let refused = async |source: Value| {
        app.post("/api/requests", with("source", source))
            .await
            .line()
    };
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: missing field `sourceType`"}}"#);
    assert_snapshot!(refused(json!("file")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: invalid type: string \"file\", expected a source, such as {\"sourceType\": \"person\"}"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "mail" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.sourceType: unknown variant `mail`, expected one of `task`, `file`, `person`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "task" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: a source of type `task` requires `taskId`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "task", "taskId": "nope" })).await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "task", "taskId": "../x" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.taskId: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "task", "taskId": "nope", "line": 1 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: only a source of type `file` may have `file` and `line`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: a source of type `file` requires `file`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file", "file": " " })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: a source of type `file` requires `file`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file", "file": "a.md", "line": 0 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: `line` must be 1 or more"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file", "file": "a.md", "line": -1 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.line: invalid value: integer `-1`, expected u32"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file", "file": "a.md", "line": 4_294_967_296_u64 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.line: invalid value: integer `4294967296`, expected u32"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file", "file": "a\u{0}.md" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.file: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "file", "file": "a.md", "taskId": "nope" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: only a source of type `task` may have `taskId`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "person", "file": "a.md" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: only a source of type `file` may have `file` and `line`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "person", "taskId": "nope" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: only a source of type `task` may have `taskId`"}}"#);
    assert_snapshot!(refused(json!({ "sourceType": "person", "column": 1 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.column: unknown field `column`, expected one of `sourceType`, `taskId`, `file`, `line`, `userId`"}}"#);
    assert_no_requests(&app).await;
    let task = app.task("Write it").await;
    for (source, task_id, file, line, user) in [
        (
            json!(null),
            json!(null),
            json!(null),
            json!(null),
            json!("anonymous"),
        ),
        (
            json!({ "sourceType": "person" }),
            json!(null),
            json!(null),
            json!(null),
            json!("anonymous"),
        ),
        (
            json!({ "sourceType": "person", "userId": "Ada" }),
            json!(null),
            json!(null),
            json!(null),
            json!("Ada"),
        ),
        (
            json!({ "sourceType": "file", "file": "a.md" }),
            json!(null),
            json!("a.md"),
            json!(null),
            json!(null),
        ),
        (
            json!({ "sourceType": "file", "file": "a.md", "line": 1 }),
            json!(null),
            json!("a.md"),
            json!(1),
            json!(null),
        ),
        (
            json!({ "sourceType": "task", "taskId": task }),
            json!(task),
            json!(null),
            json!(null),
            json!(null),
        ),
    ] {
        let reply = app
            .post("/api/requests", with("source", source.clone()))
            .await;
        let kept = show(&app, &id(&reply)).await["source"].clone();
        let source_type = source["sourceType"].as_str().unwrap_or("person");
        assert_eq!(
            kept,
            json!({ "sourceType": source_type, "taskId": task_id, "file": file, "line": line, "userId": user })
        );
    }
}

#[tokio::test]
async fn the_workspace_defaults_to_that_of_the_source_task() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let source = json!({ "sourceType": "task", "taskId": task });
    let made = app
        .post("/api/requests", with("source", source))
        .await
        .data();
    let own = app.get(&format!("/api/tasks/{task}")).await.data()["agentWorkspace"].clone();
    assert_eq!(made["agentWorkspace"], own);
    let made = app
        .post("/api/requests", with("agentWorkspace", json!(null)))
        .await
        .data();
    assert_eq!(made["agentWorkspace"], Value::Null);
    assert_snapshot!(app.post("/api/requests", with("agentWorkspace", json!("here/there"))).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: must be an absolute path"}}"#);
    assert_snapshot!(app.post("/api/requests", with("agentWorkspace", json!(7))).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: invalid type: integer `7`, expected a string"}}"#);
}

#[tokio::test]
async fn a_malformed_request_is_refused() {
    let app = TestApp::new().await;
    let refused = async |body: &[u8]| {
        app.request(Method::POST, "/api/requests", body.to_vec())
            .await
            .line()
    };
    assert_snapshot!(refused(b"").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is empty; send a JSON object"}}"#);
    assert_snapshot!(refused(b"null").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(b"[]").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(b"{}").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `title`"}}"#);
    assert_snapshot!(refused(br#"{"title":"a","kind":"fix"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `body`"}}"#);
    assert_snapshot!(refused(br#"{"title":"a","body":"b"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `kind`"}}"#);
    assert_snapshot!(refused(br#"{"title":"a","body":"b","kind":"fix"} x"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"trailing characters at line 1 column 39"}}"#);
    assert_snapshot!(refused(br#"{"title":"a","body":"b","kind":"fix","title":"c"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"duplicate field `title`"}}"#);
    assert_snapshot!(refused(br#"{"title":"a","body":"b","kind":"fix","state":"delegated"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"state: unknown field `state`, expected one of `title`, `body`, `kind`, `priority`, `effort`, `source`, `agentWorkspace`"}}"#);
    assert_snapshot!(refused(b"{\"title\":\"\xff\",\"body\":\"b\",\"kind\":\"fix\"}").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: invalid unicode code point at line 1 column 11"}}"#);
    assert_snapshot!(refused(br#"{"title":"\ud800","body":"b","kind":"fix"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: unexpected end of hex escape at line 1 column 17"}}"#);
    assert_no_requests(&app).await;
}

#[tokio::test]
async fn a_response_and_a_reason_are_texts_within_the_limit() {
    let app = TestApp::new().await;
    let id = in_state(&app, "claimed").await;
    let before = show(&app, &id).await;
    let refused = async |action: &str, body: Value| act(&app, &id, action, body).await.line();
    let limit = Limits::default().text;
    assert_snapshot!(refused("done", json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `response`"}}"#);
    assert_snapshot!(refused("done", json!({ "response": null })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"response: invalid type: null, expected a string"}}"#);
    assert_snapshot!(refused("done", json!({ "response": 7 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"response: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(refused("done", json!({ "response": "a\u{0}" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"response: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused("done", json!({ "response": "x".repeat(limit + 1) })).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"response is too large: the limit is 1048576 bytes","details":{"limit":1048576}}}"#);
    assert_snapshot!(refused("done", json!({ "response": "r", "fencing": "1" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"fencing: invalid type: string \"1\", expected u32"}}"#);
    assert_snapshot!(refused("done", json!({ "response": "r", "fencing": -1 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"fencing: invalid value: integer `-1`, expected u32"}}"#);
    assert_snapshot!(refused("done", json!({ "response": "r", "agent": "a" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: unknown field `agent`, expected `response` or `fencing`"}}"#);
    assert_snapshot!(refused("requeue", json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `reason`"}}"#);
    assert_snapshot!(refused("requeue", json!({ "reason": "" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"reason: must not be empty"}}"#);
    assert_snapshot!(refused("requeue", json!({ "reason": " \n" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"reason: must not be empty"}}"#);
    assert_snapshot!(refused("requeue", json!({ "reason": "x".repeat(limit + 1) })).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"reason is too large: the limit is 1048576 bytes","details":{"limit":1048576}}}"#);
    assert_snapshot!(refused("requeue", json!({ "reason": "r", "response": "r" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"response: unknown field `response`, expected `reason` or `fencing`"}}"#);
    assert_snapshot!(refused("heartbeat", json!({ "leaseSeconds": 0 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"leaseSeconds: must be 1 to 86400"}}"#);
    assert_snapshot!(refused("heartbeat", json!({ "agent": "a" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: unknown field `agent`, expected `fencing` or `leaseSeconds`"}}"#);
    assert_snapshot!(refused("heartbeat", json!([])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_eq!(show(&app, &id).await, before);
    let response = "x".repeat(limit);
    act(
        &app,
        &id,
        "done",
        json!({ "response": response, "fencing": null }),
    )
    .await
    .data();
    assert_eq!(
        app.get(&format!("/api/requests/{id}/response")).await.body,
        response.as_bytes()
    );
}

#[tokio::test]
async fn an_approval_needs_no_body() {
    let app = TestApp::new().await;
    for action in ["approve", "next"] {
        let id = in_state(&app, "needs").await;
        let path = format!("/api/requests/{id}/{action}");
        let request = axum::http::Request::post(path)
            .header("host", "localhost")
            .header(
                "authorization",
                format!("Bearer {}", crate::support::OPERATOR_TOKEN),
            );
        let reply = app
            .send(request.body(axum::body::Body::empty()).unwrap())
            .await;
        assert_eq!(reply.status, 200);
        assert_eq!(
            act_as_operator(&app, &id, action, json!({})).await.status,
            409
        );
    }
}
