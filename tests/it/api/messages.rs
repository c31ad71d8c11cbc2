//! `/api/tasks/{id}/messages`, `/api/tasks/{id}/conversation` and `/api/tasks/{id}/tree`

use std::time::Duration;

use chorus::domain::MessageType;
use chorus::engine::Followed;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::TestApp;

async fn say(app: &TestApp, task: &str, kind: &str, content: &str) -> Value {
    let body = json!({ "type": kind, "content": content });
    app.post(&format!("/api/tasks/{task}/messages"), body)
        .await
        .data()
}

#[tokio::test]
async fn messages_of_every_type_are_listed_in_order() {
    let app = TestApp::new().await;
    let task = app.task("talk").await;
    for kind in MessageType::ALL {
        say(
            &app,
            &task,
            kind.as_str(),
            &format!("a {} \u{1b}", kind.as_str()),
        )
        .await;
    }
    let said = app.get(&format!("/api/tasks/{task}/messages")).await.data();
    let types: Vec<_> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["type"].clone())
        .collect();
    assert_eq!(types, MessageType::ALL.map(|kind| json!(kind.as_str())));
    assert_eq!(said[3]["content"], "a tool_call \u{1b}");
    let first = app
        .post(
            &format!("/api/tasks/{task}/messages"),
            json!({ "type": "thinking", "content": "x" }),
        )
        .await;
    assert_snapshot!(first.line(), @r#"201 {"data":{"number":11,"timestamp":1767225600000,"taskId":"<id 1>","handoffId":null,"agentName":null,"type":"thinking","content":"x","data":null},"meta":{"timestamp":1767225600000}}"#);
}

#[tokio::test]
async fn the_author_is_the_current_agent_except_for_user_messages() {
    let app = TestApp::new().await;
    let task = app.task("talk").await;
    let handoff = json!({ "agentName": "qa", "prompt": "Look" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    say(&app, &task, "assistant_message", "I look").await;
    say(&app, &task, "user_message", "Well?").await;
    let said = app.get(&format!("/api/tasks/{task}/messages")).await.data();
    let lines: Vec<_> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("{} {}", line["agentName"], line["content"]))
        .collect();
    assert_eq!(
        lines,
        ["null \"Look\"", "\"qa\" \"I look\"", "null \"Well?\""]
    );
}

#[tokio::test]
async fn long_conversations_are_paged() {
    let app = TestApp::new().await;
    let task = app.task("talk").await;
    for number in 0..7 {
        say(&app, &task, "user_message", &number.to_string()).await;
    }
    for path in ["messages", "conversation"] {
        let (mut after, mut seen, mut pages) = (String::new(), Vec::new(), 0);
        loop {
            let page = app
                .get(&format!("/api/tasks/{task}/{path}?limit=3{after}"))
                .await
                .json();
            seen.extend(
                page["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|line| line["content"].clone()),
            );
            pages += 1;
            let Some(next) = page["meta"]["next"].as_str() else {
                break;
            };
            after = format!("&after={next}");
        }
        assert_eq!(pages, 3);
        assert_eq!(
            seen,
            (0..7)
                .map(|number| json!(number.to_string()))
                .collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn an_invalid_message_is_refused() {
    let app = TestApp::new().await;
    let task = app.task("talk").await;
    let path = format!("/api/tasks/{task}/messages");
    let post = |body: Value| app.post(&path, body);
    assert_snapshot!(post(json!({ "type": "shout", "content": "x" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"type: unknown variant `shout`, expected one of `user_message`, `assistant_message`, `thinking`, `tool_call`, `tool_result`, `skill_load`, `subtask_created`, `error`, `status_change`, `handoff`"}}"#);
    assert_snapshot!(post(json!({ "type": "thinking", "content": "" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"content: must not be empty"}}"#);
    assert_snapshot!(post(json!({ "type": "thinking" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `content`"}}"#);
    assert_snapshot!(post(json!({ "type": "thinking", "content": "a\u{0}" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"content: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(app.post("/api/tasks/none/messages", json!({ "type": "thinking", "content": "x" })).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: none"}}"#);
    assert_snapshot!(app.get(&format!("{path}?limit=0")).await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(app.get("/api/tasks/none/conversation").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: none"}}"#);
    assert_snapshot!(app.get("/api/tasks/none/tree").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: none"}}"#);
}

#[tokio::test]
async fn a_waiter_on_the_root_task_waits_for_all_descendants() {
    let app = TestApp::new().await;
    for (name, target) in [("to_qa", "qa"), ("to_planner", "planner")] {
        let tool = json!({ "name": name, "description": "d", "targetAgent": target });
        app.operator().post("/api/tools", tool).await.data();
    }
    let first = app.task("chain").await;
    let handoff = json!({ "agentName": "developer", "prompt": "p" });
    app.post(&format!("/api/tasks/{first}/handoff"), handoff)
        .await
        .data();
    let waiter = app.get_in_background(&format!("/api/tasks/{first}?wait=settled&timeout=60"));
    let mut current = first.clone();
    for tool in ["to_qa", "to_planner"] {
        let child = app
            .post(&format!("/api/tasks/{current}/tools/{tool}"), json!({}))
            .await
            .data();
        current = child["id"].as_str().unwrap().to_owned();
    }
    // The root task itself has already completed.
    let idle = app
        .get(&format!("/api/tasks/{first}?wait=idle&timeout=60"))
        .await
        .data();
    assert_eq!(idle["currentAgent"], json!(null));
    let early = app
        .get(&format!("/api/tasks/{first}?wait=settled&timeout=0"))
        .await;
    assert_eq!(early.data()["id"], json!(first));
    assert!(!waiter.is_finished());
    app.put(
        &format!("/api/tasks/{current}/handoff/complete"),
        json!({ "output": "done" }),
    )
    .await
    .data();
    assert_eq!(waiter.await.unwrap().data()["status"]["type"], "completed");
    let tree = app.get(&format!("/api/tasks/{current}/tree")).await.data();
    assert_eq!(tree["id"], json!(first));
    let (second, third) = (&tree["children"][0], &tree["children"][0]["children"][0]);
    let nodes = [&tree, second, third].map(|node| {
        let handoff = &node["handoffs"][0];
        (
            node["status"]["type"].clone(),
            handoff["agentName"].clone(),
            handoff["fromAgent"].clone(),
        )
    });
    assert_eq!(
        nodes,
        [
            (json!("completed"), json!("developer"), json!(null)),
            (json!("completed"), json!("qa"), json!("developer")),
            (json!("waiting"), json!("planner"), json!("qa")),
        ]
    );
    assert_eq!(third["children"], json!([]));
}

#[tokio::test]
async fn a_filtered_stream_has_only_events_of_the_family() {
    let app = TestApp::new().await;
    let (mine, other) = (app.task("mine").await, app.task("other").await);
    let tool = json!({ "name": "to_qa", "description": "d", "targetAgent": "qa" });
    app.operator().post("/api/tools", tool).await.data();
    app.post(
        &format!("/api/tasks/{other}/queue"),
        json!({ "content": "x" }),
    )
    .await
    .data();
    let child = app
        .post(&format!("/api/tasks/{mine}/tools/to_qa"), json!({}))
        .await
        .data();
    let id = child["id"].as_str().unwrap().parse().unwrap();
    let mut follower = app.engine.follow(Some(0), Some(&id)).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 7 {
        let next = follower.next(Duration::from_mins(1)).await.unwrap();
        let Followed::Events(piece) = next else {
            panic!("only {seen:?} arrived");
        };
        for event in piece.events {
            assert_eq!(event.master_task_id.as_ref().unwrap().as_str(), mine);
            seen.push(event.event_type.as_str().to_owned());
        }
    }
    assert_eq!(seen[0], "task_created");
    assert_eq!(seen[6], "agent_handoff_started");
    assert_eq!(app.get("/api/events?task=none").await.error().0, 404);
}
