//! The documented keys of contexts and instructions, in `snake_case`

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp};

const CONTEXT: &str = r#"{"previous_agent": "me", "work_completed": "X", "files_modified": ["a.rs"], "test_status": "pending",
    "known_issues": [], "implementation_notes": "n", "previous_failures": [], "attempts": 0, "my_own_key": 1}"#;

fn context() -> Value {
    serde_json::from_str(CONTEXT).unwrap()
}

fn camel_case_context() -> Value {
    json!({
        "previousAgent": "me", "workCompleted": "X", "filesModified": ["a.rs"], "testStatus": "pending",
        "knownIssues": [], "implementationNotes": "n", "previousFailures": [], "attempts": 0, "my_own_key": 1
    })
}

async fn patch(app: &TestApp, task: &str, query: &str, body: Value) -> Reply {
    app.patch(&format!("/api/tasks/{task}{query}"), body).await
}

fn message(reply: &Reply) -> String {
    let message = reply.json()["error"]["message"].clone();
    format!("{} {}", reply.status.as_u16(), message.as_str().unwrap())
}

#[tokio::test]
async fn a_new_task_takes_both_spellings() {
    let app = TestApp::new().await;
    let body = json!({
        "description": "Detect the mode", "agent_role": "testing", "specialist_tags": ["python"], "estimated_duration": 120,
        "agent_context": context(),
        "handoff_instructions": { "next_role": "testing", "test_script": "./t.sh", "expected_duration": "15 minutes",
                                  "notes_from_implementer": "n", "reproduction_steps": ["x"] },
    });
    let task = app.post("/api/tasks", body).await.data();
    assert_eq!(task["agentRole"], "testing");
    assert_eq!(task["specialistTags"], json!(["python"]));
    assert_eq!(task["estimatedDuration"], 120);
    assert_eq!(task["agentContext"], camel_case_context());
    assert_eq!(
        task["handoffInstructions"],
        json!({ "nextRole": "testing", "testScript": "./t.sh", "expectedDuration": "15 minutes",
                "notesFromImplementer": "n", "reproductionSteps": ["x"] })
    );
}

#[tokio::test]
async fn a_merge_in_snake_case_replaces_the_value_in_camel_case() {
    let app = TestApp::new().await;
    let task = app.task("Detect the mode").await;
    let old = json!({ "agentContext": { "workCompleted": "old", "knownIssues": ["old"], "filesModified": ["old"] } });
    patch(&app, &task, "", old).await.data();
    let new = json!({ "agent_context": { "work_completed": "new", "known_issues": null, "other_key": 1 } });
    let merged = patch(&app, &task, "?merge=true", new).await.data();
    assert_eq!(
        merged["agentContext"],
        json!({ "workCompleted": "new", "filesModified": ["old"], "other_key": 1 })
    );
    let role =
        json!({ "agent_role": "testing", "estimated_duration": 60, "specialist_tags": ["mcp"] });
    let changed = patch(&app, &task, "", role).await.data();
    assert_eq!(changed["agentRole"], "testing");
    assert_eq!(changed["estimatedDuration"], 60);
    let cleared = patch(&app, &task, "", json!({ "agent_role": null }))
        .await
        .data();
    assert_eq!(cleared["agentRole"], Value::Null);
}

#[tokio::test]
async fn a_key_in_both_spellings_is_refused_and_changes_nothing() {
    let app = TestApp::new().await;
    let task = app.task("Detect the mode").await;
    let before = app.get(&format!("/api/tasks/{task}")).await.data();
    let mut table = String::new();
    for body in [
        json!({ "agentContext": { "work_completed": "a", "workCompleted": "a" } }),
        json!({ "agent_context": { "workCompleted": "a", "work_completed": null } }),
        json!({ "handoffInstructions": { "nextRole": "testing", "next_role": "fixing" } }),
        json!({ "agentContext": {}, "agent_context": {} }),
        json!({ "agentRole": "testing", "agent_role": "testing" }),
        json!({ "agent_context": { "files_modified": "a.rs" } }),
        json!({ "agent_context": null }),
        json!({ "work_completed": "a" }),
    ] {
        for query in ["", "?merge=true"] {
            let reply = patch(&app, &task, query, body.clone()).await;
            assert_eq!(reply.status, 400, "{body}");
            if query.is_empty() {
                table += &(message(&reply) + "\n");
            }
        }
    }
    assert_snapshot!(table, @"
    400 agentContext: has both `work_completed` and `workCompleted`, which are the same key; give one of them
    400 agent_context: has both `work_completed` and `workCompleted`, which are the same key; give one of them
    400 handoffInstructions: has both `next_role` and `nextRole`, which are the same key; give one of them
    400 duplicate field `agentContext`
    400 duplicate field `agentRole`
    400 agentContext.filesModified: must be an array of strings
    400 agent_context: invalid type: null, expected a map
    400 work_completed: unknown field `work_completed`, expected one of `agentRole`, `agent_role`, `specialistTags`, `specialist_tags`, `estimatedDuration`, `estimated_duration`, `priority`, `dependsOn`, `agentContext`, `agent_context`, `handoffInstructions`, `handoff_instructions`, `agentWorkspace`
    ");
    let both = json!({ "description": "d", "agentContext": { "next_role": "x", "nextRole": "x" } });
    assert_eq!(app.post("/api/tasks", both).await.status, 400);
    assert_eq!(app.get(&format!("/api/tasks/{task}")).await.data(), before);
}

#[tokio::test]
async fn a_report_takes_both_spellings() {
    let app = TestApp::new().await;
    let task = app.task("Detect the mode").await;
    app.start_run(&task, "developer", "sesame").await;
    let path = format!("/api/tasks/{task}/report");
    let report = async |body: Value| app.with_token("sesame", Method::POST, &path, body).await;
    let body = json!({ "result": "passed", "agent_context": context() });
    let reported = report(body).await.data();
    assert_eq!(reported["agentContext"], camel_case_context());
    let both =
        json!({ "result": "passed", "agentContext": { "test_status": "a", "testStatus": "b" } });
    assert_snapshot!(message(&report(both).await), @"400 agentContext: has both `test_status` and `testStatus`, which are the same key; give one of them");
}
