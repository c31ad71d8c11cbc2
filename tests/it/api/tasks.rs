//! `/api/tasks`

use insta::assert_snapshot;
use serde_json::json;

use crate::support::TestApp;

#[tokio::test]
async fn a_new_task_is_pending_and_has_its_documented_keys() {
    let app = TestApp::new().await;
    let reply = app
        .post("/api/tasks", json!({ "description": "Write the parser" }))
        .await;
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_snapshot!(reply.page(), @r#"
    201
    {
      "data": {
        "taskType": "descriptionOnly",
        "id": "<id 1>",
        "description": "Write the parser",
        "status": {
          "type": "pending"
        },
        "createdAt": 1767225600000,
        "updatedAt": 1767225600000,
        "sessionId": null,
        "source": {
          "sourceType": "api",
          "userId": "anonymous",
          "conversationId": null
        },
        "agentWorkspace": "<tmp>/workspaces/<id 1>",
        "attachments": [],
        "currentAgent": null,
        "agentChain": [],
        "parentId": null,
        "masterTaskId": null,
        "context": {},
        "agentRole": null,
        "specialistTags": [],
        "estimatedDuration": null,
        "priority": 2,
        "dependsOn": [],
        "agentContext": {},
        "handoffInstructions": {},
        "incrementId": null,
        "stage": null,
        "round": null,
        "routeAttempts": 0,
        "waitingReason": null,
        "blocked": false
      },
      "meta": {
        "timestamp": 1767225600000
      }
    }
    "#);
    let id = reply.data()["id"].as_str().unwrap().to_owned();
    let again = app.get(&format!("/api/tasks/{id}")).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.body, reply.body);
}

#[tokio::test]
async fn the_caller_says_where_a_task_comes_from_and_where_its_agents_work() {
    let app = TestApp::new().await;
    let folder = app.data_dir.path().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
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
    assert_snapshot!(refused(app.data_dir.database().to_str().unwrap()).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentWorkspace: is a file, not a directory"}}"#);
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
async fn a_task_that_is_not_there_is_not_found_at_every_path() {
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
async fn what_cannot_be_an_id_is_not_found() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/tasks/a%2Fb").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: a/b"}}"#);
    assert_snapshot!(app.get("/api/tasks/..").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: .."}}"#);
    assert_snapshot!(app.get("/api/tasks/%F0%9F%8E%B6%00").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: 🎶\u0000"}}"#);
    assert_snapshot!(app.get("/api/tasks/%ff").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Invalid URL: Invalid UTF-8 in `id`"}}"#);
}

#[tokio::test]
async fn a_status_is_set_by_a_word_or_an_object() {
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
async fn what_is_no_status_is_refused_with_the_words_that_are() {
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
async fn setting_the_status_that_is_there_changes_nothing() {
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
    assert_snapshot!(app.put(&format!("/api/tasks/{id}/planning"), body).await.page(), @r#"
    200
    {
      "data": {
        "taskType": "planned",
        "id": "<id 1>",
        "description": "Write the parser",
        "summary": "A parser",
        "requirements": [
          "reads JSON"
        ],
        "acceptanceCriteria": [
          "the tests pass"
        ],
        "plan": [
          "lexer",
          "grammar"
        ],
        "status": {
          "type": "active"
        },
        "createdAt": 1767225600000,
        "updatedAt": 1767225600000,
        "sessionId": null,
        "source": {
          "sourceType": "api",
          "userId": "anonymous",
          "conversationId": null
        },
        "agentWorkspace": "<tmp>/workspaces/<id 1>",
        "attachments": [],
        "currentAgent": "planner",
        "agentChain": [
          {
            "agentName": "planner",
            "startedAt": 1767225600000,
            "completedAt": null,
            "output": "",
            "id": "<id 2>",
            "fromAgent": null,
            "mode": "delegate",
            "outcome": null,
            "error": null
          }
        ],
        "parentId": null,
        "masterTaskId": null,
        "context": {},
        "agentRole": null,
        "specialistTags": [],
        "estimatedDuration": null,
        "priority": 2,
        "dependsOn": [],
        "agentContext": {},
        "handoffInstructions": {},
        "incrementId": null,
        "stage": null,
        "round": null,
        "routeAttempts": 0,
        "waitingReason": null,
        "blocked": false
      },
      "meta": {
        "timestamp": 1767225600000
      }
    }
    "#);
}

#[tokio::test]
async fn planning_fields_that_are_not_given_keep_their_value() {
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
async fn the_history_of_a_task_tells_everything_in_order() {
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
    assert_snapshot!(app.get(&at("history")).await.page(), @r#"
    200
    {
      "data": {
        "events": [
          {
            "timestamp": 1767225600000,
            "eventType": "task_created",
            "data": {
              "description": "Write the parser"
            },
            "number": 1
          },
          {
            "timestamp": 1767225600000,
            "eventType": "planning_updated",
            "data": {},
            "number": 2
          },
          {
            "timestamp": 1767225600000,
            "eventType": "agent_handoff_started",
            "data": {
              "agentName": "developer"
            },
            "handoffId": "<id 1>",
            "number": 3
          },
          {
            "timestamp": 1767225601000,
            "eventType": "agent_handoff_completed",
            "data": {
              "agentName": "developer",
              "outputLength": "4"
            },
            "handoffId": "<id 1>",
            "number": 4
          },
          {
            "timestamp": 1767225601000,
            "eventType": "agent_handoff_started",
            "data": {
              "agentName": "qa"
            },
            "handoffId": "<id 2>",
            "number": 5
          },
          {
            "timestamp": 1767225601000,
            "eventType": "agent_handoff_cancelled",
            "data": {
              "agentName": "qa",
              "reason": "too late"
            },
            "handoffId": "<id 2>",
            "number": 6
          },
          {
            "timestamp": 1767225601000,
            "eventType": "message_queued",
            "data": {
              "messageId": "<id 3>"
            },
            "number": 7
          },
          {
            "timestamp": 1767225601000,
            "eventType": "status_changed",
            "data": {
              "from": "waiting",
              "to": "completed"
            },
            "number": 8
          }
        ]
      },
      "meta": {
        "timestamp": 1767225601000
      }
    }
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
    assert_snapshot!(app.get("/api/tasks?view=summary").await.page(), @r#"
    200
    {
      "data": [
        {
          "id": "<id 1>",
          "description": "Write the parser",
          "status": {
            "type": "active"
          },
          "createdAt": 1767225600000,
          "updatedAt": 1767225600000,
          "currentAgent": "qa"
        },
        {
          "id": "<id 2>",
          "description": "Idle",
          "status": {
            "type": "pending"
          },
          "createdAt": 1767225600000,
          "updatedAt": 1767225600000,
          "currentAgent": null
        }
      ],
      "meta": {
        "timestamp": 1767225600000
      }
    }
    "#);
}

#[tokio::test]
async fn a_list_in_full_shows_the_tasks_as_they_are_shown_alone() {
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
