//! `/api/tasks`

use insta::assert_snapshot;
use serde_json::json;

use super::pick;
use crate::support::{TestApp, redact};

#[tokio::test]
async fn a_new_task_is_pending_and_is_read_back_as_it_was_created() {
    let app = TestApp::new().await;
    let body = json!({ "description": "Write the parser" });
    let reply = app.post("/api/tasks", body).await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.data()["status"], json!({ "type": "pending" }));
    let id = reply.data()["id"].as_str().unwrap().to_owned();
    let again = app.get(&format!("/api/tasks/{id}")).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.data(), reply.data());
}

#[tokio::test]
async fn the_caller_sets_the_source_and_the_workspace_of_a_task() {
    let app = TestApp::new().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().canonicalize().unwrap();
    let body = json!({
        "description": "d",
        "source": { "sourceType": "chat", "userId": "ada", "conversationId": "c-1" },
        "agentWorkspace": folder,
    });
    let task = app.post("/api/tasks", body).await.data();
    assert_eq!(
        task["source"],
        json!({ "sourceType": "chat", "userId": "ada", "conversationId": "c-1" })
    );
    assert_eq!(task["agentWorkspace"], folder.to_str().unwrap());
    let partly = json!({ "description": "d", "source": { "userId": "ada" } });
    let task = app.post("/api/tasks", partly).await.data();
    assert_eq!(
        task["source"],
        json!({ "sourceType": "api", "userId": "ada", "conversationId": null })
    );
}

#[tokio::test]
async fn a_workspace_must_be_an_absolute_folder() {
    let app = TestApp::new().await;
    let refused = async |workspace: &str| {
        let body = json!({ "description": "d", "agentWorkspace": workspace });
        app.post("/api/tasks", body).await.line()
    };
    assert_snapshot!(refused("relative").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: must be an absolute path"}}"#);
    assert_snapshot!(refused("/tmp/../etc").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: must not contain `..`"}}"#);
    assert_snapshot!(refused("/").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: must not be the root directory"}}"#);
    assert_snapshot!(refused("/proc/self/root").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: must not be in /proc, which leads to the files of other processes"}}"#);
    for inside in ["", "runs", "workspaces"] {
        let answer = refused(app.data_dir.path().join(inside).to_str().unwrap()).await;
        assert!(
            answer.contains(
                "agentWorkspace: must not be in the data directory, except in a folder of"
            ),
            "{answer}"
        );
    }
    assert_snapshot!(refused("/etc/passwd").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: is a file, not a directory"}}"#);
    assert_eq!(app.get("/api/tasks").await.data(), json!([]));
}

#[tokio::test]
async fn a_description_can_be_any_text_but_empty() {
    let app = TestApp::new().await;
    for text in [
        "🎶 naïve\r\n\t\"quoted\" \\ \u{7f}\u{1b}[2J",
        "\u{feff}",
        "'; DROP TABLE tasks; --",
    ] {
        let id = app.task(text).await;
        let task = app.get(&format!("/api/tasks/{id}")).await.data();
        assert_eq!(task["description"], text);
    }
    let empty = async |text| {
        app.post("/api/tasks", json!({ "description": text }))
            .await
            .line()
    };
    assert_snapshot!(empty("").await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: must not be empty"}}"#);
    assert_eq!(empty("  \n\t").await, empty("").await);
}

#[tokio::test]
async fn an_unknown_task_is_not_found_at_every_path() {
    let app = TestApp::new().await;
    let id = "0198f3c0-0000-7000-8000-000000000000";
    let alone = app.get(&format!("/api/tasks/{id}")).await.line();
    assert_snapshot!(alone, @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: <id 1>"}}"#);
    for path in [
        "/history",
        "/queue",
        "/handoffs",
        "/attachments/a.txt",
        "?wait=idle",
    ] {
        let reply = app.get(&format!("/api/tasks/{id}{path}")).await;
        assert_eq!(reply.line(), alone, "{path}");
    }
    for (path, body) in [
        ("status", json!({ "status": "completed" })),
        ("planning", json!({ "summary": "s" })),
        ("handoff/complete", json!({ "output": "o" })),
    ] {
        let reply = app.put(&format!("/api/tasks/{id}/{path}"), body).await;
        assert_eq!(reply.error(), (404, "NOT_FOUND".to_owned()), "{path}");
    }
    for (path, body) in [
        ("queue", json!({ "content": "c" })),
        ("handoff", json!({ "agentName": "qa", "prompt": "p" })),
        ("handoff/cancel", json!({})),
        ("attachments?filename=a", json!({})),
    ] {
        let reply = app.post(&format!("/api/tasks/{id}/{path}"), body).await;
        assert_eq!(reply.error(), (404, "NOT_FOUND".to_owned()), "{path}");
    }
    assert!(!app.data_dir.path().join("uploads").exists());
}

#[tokio::test]
async fn an_invalid_id_is_not_found() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/tasks/a%2Fb").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: a/b"}}"#);
    assert_snapshot!(app.get("/api/tasks/..").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: .."}}"#);
    assert_snapshot!(app.get("/api/tasks/%F0%9F%8E%B6%00").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: 🎶\u0000"}}"#);
    assert_snapshot!(app.get("/api/tasks/%ff").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Invalid URL: Invalid UTF-8 in `id`"}}"#);
}

#[tokio::test]
async fn a_status_is_set_by_name_or_by_object() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/status");
    app.clock.advance(5);
    let task = app
        .put(&path, json!({ "status": "completed" }))
        .await
        .data();
    assert_eq!(task["status"], json!({ "type": "completed" }));
    assert_eq!(task["updatedAt"], 1_767_225_600_005_i64);
    let failed = json!({ "status": { "type": "failed", "message": "no disk" } });
    let task = app.put(&path, failed).await.data();
    assert_eq!(
        task["status"],
        json!({ "type": "failed", "message": "no disk" })
    );
    let task = app.put(&path, json!({ "status": "failed" })).await.data();
    assert_eq!(task["status"], json!({ "type": "failed", "message": "" }));
    for word in ["pending", "active", "waiting"] {
        let task = app
            .put(&path, json!({ "status": { "type": word } }))
            .await
            .data();
        assert_eq!(task["status"], json!({ "type": word }));
    }
}

#[tokio::test]
async fn an_unknown_status_is_refused_with_a_list_of_known_ones() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let refused = async |status| {
        let path = format!("/api/tasks/{id}/status");
        app.put(&path, json!({ "status": status })).await.line()
    };
    assert_snapshot!(refused(json!("done")).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"status: invalid value: string \"done\", expected a status: pending, active, waiting, completed, failed, or an object with that as `type`"}}"#);
    assert_snapshot!(refused(json!(3)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"status: invalid type: integer `3`, expected a status: pending, active, waiting, completed, failed, or an object with that as `type`"}}"#);
    assert_snapshot!(refused(json!({ "type": "done" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"status.type: unknown variant `done`, expected one of `pending`, `active`, `waiting`, `completed`, `failed`"}}"#);
    assert_snapshot!(refused(json!({ "message": "m" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"status: missing field `type`"}}"#);
    assert_snapshot!(refused(json!({ "type": "waiting", "message": "m" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"status: only the status `failed` may have a message"}}"#);
}

#[tokio::test]
async fn setting_the_current_status_changes_nothing() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    app.clock.advance(5);
    let path = format!("/api/tasks/{id}/status");
    let task = app.put(&path, json!({ "status": "pending" })).await.data();
    assert_eq!(task["updatedAt"], task["createdAt"]);
    let history = app.get(&format!("/api/tasks/{id}/history")).await.data();
    assert_eq!(history["events"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_planned_task_keeps_its_current_agent_and_its_chain() {
    let app = TestApp::new().await;
    let id = app.task("Write the parser").await;
    app.post(
        &format!("/api/tasks/{id}/handoff"),
        json!({ "agentName": "planner", "prompt": "p" }),
    )
    .await
    .data();
    let body = json!({
        "summary": "A parser",
        "requirements": ["reads JSON"],
        "acceptanceCriteria": ["the tests pass"],
        "plan": ["lexer", "grammar"],
    });
    let before = app.get(&format!("/api/tasks/{id}")).await.data();
    let path = format!("/api/tasks/{id}/planning");
    let planned = app.put(&path, body.clone()).await.data();
    assert_eq!(planned["taskType"], "planned");
    let fields = ["summary", "requirements", "acceptanceCriteria", "plan"];
    assert_eq!(pick(&planned, &fields), body);
    let fields = ["status", "currentAgent", "agentChain"];
    assert_eq!(pick(&planned, &fields), pick(&before, &fields));
}

#[tokio::test]
async fn absent_planning_fields_keep_their_value() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/planning");
    let task = app.put(&path, json!({ "plan": ["one"] })).await.data();
    assert_eq!(task["taskType"], "planned");
    assert_eq!(task["summary"], "");
    assert_eq!(task["requirements"], json!([]));
    let task = app.put(&path, json!({ "summary": "s" })).await.data();
    assert_eq!(
        (&task["summary"], &task["plan"]),
        (&json!("s"), &json!(["one"]))
    );
    let task = app.put(&path, json!({ "plan": [] })).await.data();
    assert_eq!((&task["summary"], &task["plan"]), (&json!("s"), &json!([])));
}

#[tokio::test]
async fn a_plan_with_no_or_wrong_fields_is_refused() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let refused = async |body| {
        app.put(&format!("/api/tasks/{id}/planning"), body)
            .await
            .line()
    };
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"give at least one of summary, requirements, acceptanceCriteria and plan"}}"#);
    assert_snapshot!(refused(json!({ "plan": "one" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"plan: invalid type: string \"one\", expected a sequence"}}"#);
    assert_snapshot!(refused(json!({ "plan": ["one", 2] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"plan[1]: invalid type: integer `2`, expected a string"}}"#);
    assert_snapshot!(refused(json!({ "acceptance_criteria": [] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"acceptance_criteria: unknown field `acceptance_criteria`, expected one of `summary`, `requirements`, `acceptanceCriteria`, `plan`"}}"#);
}

#[tokio::test]
async fn the_history_of_a_task_lists_every_event_in_order() {
    let app = TestApp::new().await;
    let id = app.task("Write the parser").await;
    let at = |path: &str| format!("/api/tasks/{id}/{path}");
    app.put(&at("planning"), json!({ "summary": "s" }))
        .await
        .data();
    app.post(
        &at("handoff"),
        json!({ "agentName": "developer", "prompt": "p" }),
    )
    .await
    .data();
    app.clock.advance(1_000);
    app.put(&at("handoff/complete"), json!({ "output": "dön🎶" }))
        .await
        .data();
    app.post(&at("handoff"), json!({ "agentName": "qa", "prompt": "p" }))
        .await
        .data();
    app.post(&at("handoff/cancel"), json!({ "reason": "too late" }))
        .await
        .data();
    app.post(&at("queue"), json!({ "content": "c" }))
        .await
        .data();
    app.put(&at("status"), json!({ "status": "completed" }))
        .await
        .data();
    let history = app.get(&at("history")).await.data();
    let events = history["events"].as_array().unwrap().iter();
    let events = events.map(|event| format!("{} {}", event["eventType"], event["data"]));
    assert_snapshot!(redact(&events.collect::<Vec<_>>().join("\n")), @r#"
    "task_created" {"description":"Write the parser"}
    "planning_updated" {}
    "agent_handoff_started" {"agentName":"developer"}
    "message_added" {"content":"dön🎶","type":"assistant_message"}
    "agent_handoff_completed" {"agentName":"developer","outputLength":"4"}
    "agent_handoff_started" {"agentName":"qa"}
    "agent_handoff_cancelled" {"agentName":"qa","reason":"too late"}
    "message_queued" {"messageId":"<id 1>"}
    "status_changed" {"from":"waiting","to":"completed"}
    "#);
}

#[tokio::test]
async fn a_summary_has_six_keys_and_no_chain() {
    let app = TestApp::new().await;
    let id = app.task("Write the parser").await;
    app.post(
        &format!("/api/tasks/{id}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    app.task("Idle").await;
    let summaries = app.get("/api/tasks?view=summary").await.data();
    let fields = ["description", "status", "currentAgent"];
    assert_eq!(
        pick(&summaries[0], &fields),
        json!({ "description": "Write the parser", "status": { "type": "active" }, "currentAgent": "qa" })
    );
    for summary in summaries.as_array().unwrap() {
        assert_eq!(summary.as_object().unwrap().len(), 6);
    }
}

#[tokio::test]
async fn a_full_list_shows_each_task_as_get_does() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    app.post(
        &format!("/api/tasks/{id}/handoff"),
        json!({ "agentName": "qa", "prompt": "p" }),
    )
    .await
    .data();
    let alone = app.get(&format!("/api/tasks/{id}")).await.data();
    for path in ["/api/tasks", "/api/tasks?view=full"] {
        assert_eq!(app.get(path).await.data(), json!([alone]));
    }
}
