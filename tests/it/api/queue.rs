//! `/api/tasks/{id}/queue`

use insta::assert_snapshot;
use serde_json::json;

use super::pick;
use crate::support::TestApp;

#[tokio::test]
async fn messages_are_queued_oldest_first() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/queue");
    assert_snapshot!(app.get(&path).await.line(), @r#"200 {"data":{"messages":[]},"meta":{"timestamp":1767225600000,"event":1}}"#);
    assert_snapshot!(app.post(&path, json!({ "content": "first" })).await.line(), @r#"201 {"data":{"id":"<id 1>","content":"first","receivedAt":1767225600000,"deliveredAt":null,"handoffId":null},"meta":{"timestamp":1767225600000}}"#);
    app.clock.advance(7);
    app.post(&path, json!({ "content": "second 🎶" }))
        .await
        .data();
    let queue = app.get(&path).await.data();
    let fields = ["content", "receivedAt"];
    assert_eq!(
        [0, 1].map(|place| pick(&queue["messages"][place], &fields)),
        [
            json!({ "content": "first", "receivedAt": 1_767_225_600_000_i64 }),
            json!({ "content": "second 🎶", "receivedAt": 1_767_225_600_007_i64 }),
        ]
    );
    let task = app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(task["updatedAt"], 1_767_225_600_007_i64);
}

#[tokio::test]
async fn an_empty_message_is_refused() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let refused = async |body| {
        app.post(&format!("/api/tasks/{id}/queue"), body)
            .await
            .line()
    };
    assert_snapshot!(refused(json!({ "content": "\n" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"content: must not be empty"}}"#);
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `content`"}}"#);
    assert_snapshot!(refused(json!({ "content": ["a"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"content: invalid type: sequence, expected a string"}}"#);
    assert_snapshot!(refused(json!({ "content": "a", "from": "me" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"from: unknown field `from`, expected `content`"}}"#);
}
