//! Invalid bodies, unknown paths and wrong methods

use axum::http::Method;
use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::json;

use crate::support::TestApp;

/// Posts bytes as a new task, checks that no task was created, and returns the answer.
async fn refused(body: impl AsRef<[u8]>) -> String {
    let app = TestApp::new().await;
    let reply = app
        .request(Method::POST, "/api/tasks", body.as_ref().to_vec())
        .await;
    assert_eq!(app.get("/api/tasks").await.data(), json!([]));
    reply.line()
}

#[tokio::test]
async fn an_unknown_field_is_named() {
    assert_snapshot!(refused(r#"{"description": "d", "descripton": "e"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"descripton: unknown field `descripton`, expected one of `description`, `source`, `agentWorkspace`, `agentRole`, `agent_role`, `specialistTags`, `specialist_tags`, `estimatedDuration`, `estimated_duration`, `priority`, `dependsOn`, `agentContext`, `agent_context`, `handoffInstructions`, `handoff_instructions`"}}"#);
    assert_snapshot!(refused(r#"{"description": "d", "source": {"user": "ada"}}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.user: unknown field `user`, expected one of `sourceType`, `userId`, `conversationId`"}}"#);
}

#[tokio::test]
async fn a_mistyped_field_is_named() {
    assert_snapshot!(refused(r#"{"description": 3}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: invalid type: integer `3`, expected a string"}}"#);
    assert_snapshot!(refused(r#"{"description": null}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: invalid type: null, expected a string"}}"#);
    assert_snapshot!(refused(r#"{"description": "d", "source": {"userId": []}}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.userId: invalid type: sequence, expected a string"}}"#);
    assert_snapshot!(refused(r#"{"description": "d", "source": "api"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source: invalid type: string \"api\", expected an object"}}"#);
}

#[tokio::test]
async fn a_missing_or_repeated_field_is_named() {
    assert_snapshot!(refused("{}").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `description`"}}"#);
    assert_snapshot!(refused(r#"{"description": "a", "description": "b"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"duplicate field `description`"}}"#);
}

#[tokio::test]
async fn a_body_that_is_not_a_json_object_is_refused() {
    assert_snapshot!(refused("").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is empty; send a JSON object"}}"#);
    assert_snapshot!(refused("description=d").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(r#"["d", null, null]"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(r#""d""#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused("null").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(r#"{"description": "d""#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"EOF while parsing an object at line 1 column 19"}}"#);
    assert_snapshot!(refused(r#"{"description": "d",}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"trailing comma at line 1 column 21"}}"#);
    assert_snapshot!(refused(r#"{"description": "d"} {}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"trailing characters at line 1 column 22"}}"#);
    assert_snapshot!(refused("\u{feff}{\"description\": \"d\"}").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
}

#[tokio::test]
async fn text_that_cannot_be_stored_is_refused() {
    assert_snapshot!(refused(r#"{"description": "a\u0000b"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused(r#"{"description": "\ud800"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: unexpected end of hex escape at line 1 column 24"}}"#);
    assert_snapshot!(refused(r#"{"description": "\udc00\ud800"}"#).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: lone leading surrogate in hex escape at line 1 column 23"}}"#);
    assert_snapshot!(refused(b"{\"description\": \"\xff\xfe\"}").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: invalid unicode code point at line 1 column 18"}}"#);
    assert_snapshot!(refused(b"{\"description\": \"a\nb\"}").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0"}}"#);
}

#[tokio::test]
async fn deep_nesting_is_refused() {
    let deep = format!("{{\"description\": {}", "[".repeat(100_000));
    assert_snapshot!(refused(deep).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: invalid type: sequence, expected a string"}}"#);
    let deep = format!("{{\"source\": {}", "{\"source\":".repeat(100_000));
    assert_snapshot!(refused(deep).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"source.source: unknown field `source`, expected one of `sourceType`, `userId`, `conversationId`"}}"#);
}

#[tokio::test]
async fn a_surrogate_pair_is_one_character() {
    let app = TestApp::new().await;
    let body = r#"{"description": "\ud83c\udfb6"}"#;
    let task = app.request(Method::POST, "/api/tasks", body).await.data();
    assert_eq!(task["description"], "🎶");
}

#[tokio::test]
async fn a_body_needs_no_content_type_and_may_have_surrounding_white_space() {
    let app = TestApp::new().await;
    let body = " \r\n{\"description\": \"d\"}\n";
    assert_eq!(
        app.request(Method::POST, "/api/tasks", body).await.status,
        201
    );
}

#[tokio::test]
async fn a_body_over_the_limit_is_too_large() {
    let app = TestApp::with_limits(Limits {
        body: 100,
        ..Limits::default()
    })
    .await;
    let body = |length: usize| {
        let frame = json!({ "description": "" }).to_string().len();
        json!({ "description": "x".repeat(length - frame) })
    };
    assert_eq!(app.post("/api/tasks", body(100)).await.status, 201);
    assert_snapshot!(app.post("/api/tasks", body(101)).await.line(), @r#"413 {"error":{"code":"TOO_LARGE","message":"body is too large: the limit is 100 bytes","details":{"limit":100}}}"#);
}

#[tokio::test]
async fn a_content_length_over_the_limit_is_refused_before_the_body_is_read() {
    let app = TestApp::with_limits(Limits {
        body: 100,
        ..Limits::default()
    })
    .await;
    let announced = async |length: usize, body: axum::body::Body| {
        let request = axum::http::Request::post("/api/tasks")
            .header("host", "localhost")
            .header("content-length", length);
        app.send(request.body(body).unwrap()).await
    };
    let endless = axum::body::Body::from_stream(futures_util::stream::pending::<
        Result<Vec<u8>, std::io::Error>,
    >());
    assert_eq!(
        announced(101, endless).await.error(),
        (413, "TOO_LARGE".to_owned())
    );
    let body = format!("{:<100}", json!({ "description": "d" }));
    assert_eq!(announced(100, body.into()).await.status, 201);
}

#[tokio::test]
async fn a_body_of_unknown_length_is_cut_off_at_the_limit() {
    let app = TestApp::with_limits(Limits {
        body: 100,
        ..Limits::default()
    })
    .await;
    let endless = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 64]));
    let body = axum::body::Body::from_stream(endless);
    assert_snapshot!(app.request(Method::POST, "/api/tasks", body).await.line(), @r#"413 {"error":{"code":"TOO_LARGE","message":"body is too large: the limit is 100 bytes","details":{"limit":100}}}"#);
}

#[tokio::test]
async fn a_truncated_body_is_refused() {
    let app = TestApp::new().await;
    let broken = futures_util::stream::iter([
        Ok(b"{\"description\": ".to_vec()),
        Err(std::io::Error::other("the line was cut")),
    ]);
    let body = axum::body::Body::from_stream(broken);
    assert_snapshot!(app.request(Method::POST, "/api/tasks", body).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body ended early: the line was cut; send the request again"}}"#);
}

#[tokio::test]
async fn an_unknown_path_answers_with_an_error_envelope() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/nope").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"No such path: /nope; see /api/docs for all paths"}}"#);
    assert_snapshot!(app.get("/api/tasks/").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"No such path: /api/tasks/; see /api/docs for all paths"}}"#);
    assert_snapshot!(app.post("/api", json!({})).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"No such path: /api; see /api/docs for all paths"}}"#);
}

#[tokio::test]
async fn a_wrong_method_answers_with_an_error_envelope() {
    let app = TestApp::new().await;
    let reply = app.request(Method::DELETE, "/api/tasks", "").await;
    assert_eq!(reply.headers["allow"], "GET,HEAD,POST");
    assert_snapshot!(reply.line(), @r#"405 {"error":{"code":"METHOD_NOT_ALLOWED","message":"DELETE is not allowed at /api/tasks; see /api/docs for the methods of each path"}}"#);
    let reply = app.request(Method::POST, "/api/agents", "").await;
    assert_snapshot!(reply.line(), @r#"405 {"error":{"code":"METHOD_NOT_ALLOWED","message":"POST is not allowed at /api/agents; see /api/docs for the methods of each path"}}"#);
}
