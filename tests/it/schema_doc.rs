//! docs/schema.md says what is true: its queries run, and it names every table and view.

use std::process::Command;

use serde_json::json;

use crate::support::{TestApp, requests};

const DOCUMENT: &str = include_str!("../../docs/schema.md");

/// Runs a statement with the shell that operators use.
fn sqlite3(app: &TestApp, sql: &str) -> String {
    let output = Command::new("sqlite3")
        .arg("-readonly")
        .arg(app.data_dir.database())
        .arg(sql)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{sql}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Makes an installation in which something of every kind has happened, just now.
async fn lived_in() -> TestApp {
    let app = TestApp::new().await;
    let now = chorus::clock::Clock::system().now();
    app.clock
        .advance(now.as_millis() - app.clock.now().as_millis());
    for name in ["first", "second"] {
        let task = app.task(name).await;
        for output in ["one", "two"] {
            let handoff = json!({ "agentName": "qa", "prompt": "Look" });
            app.post(&format!("/api/tasks/{task}/handoff"), handoff)
                .await
                .data();
            app.put(
                &format!("/api/tasks/{task}/handoff/complete"),
                json!({ "output": output }),
            )
            .await
            .data();
        }
        app.post(
            &format!("/api/tasks/{task}/handoff"),
            json!({ "agentName": "planner", "prompt": "Plan" }),
        )
        .await
        .data();
        app.post(&format!("/api/tasks/{task}/handoff/cancel"), json!({}))
            .await
            .data();
        app.post(
            &format!("/api/tasks/{task}/handoff"),
            json!({ "agentName": "developer", "prompt": "Go" }),
        )
        .await
        .data();
        app.post(
            &format!("/api/tasks/{task}/attachments?filename=a.txt"),
            json!("bytes"),
        )
        .await
        .data();
    }
    let moved = json!({
        "fromAgent": "qa", "toAgent": "planner", "reason": "r", "userIntent": "u", "conversationHistory": [], "invoke": false,
    });
    app.post("/api/sessions/s/handoffs", moved).await.data();
    requests::populate(&app.db, &app.clock).await;
    app.task("third").await;
    let agent =
        json!({ "provider": "command", "program": "/bin/true", "roles": ["implementation"] });
    app.operator().put("/api/agents/maker", agent).await.data();
    let increment = app.post("/api/increments", json!({ "title": "t" })).await;
    let first = increment.data()["tasks"][0]["id"].clone();
    let first = first.as_str().unwrap();
    app.post(&format!("/api/route/{first}"), json!({}))
        .await
        .data();
    let output = json!({ "output": r#"Done. {"result": "blocked", "summary": "No network"}"# });
    app.put(&format!("/api/tasks/{first}/handoff/complete"), output)
        .await
        .data();
    // The task that changed last has a chain.
    app.clock.advance(1);
    let task = app.task("last").await;
    let handoff = json!({ "agentName": "qa", "prompt": "Look" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    let mail = json!({ "to": ["qa"], "subject": "Look", "urgency": "urgent", "ackRequired": true });
    app.post("/api/mail", mail).await.data();
    // It should have been acknowledged since.
    let late = "UPDATE mail_recipients SET ack_due_at = 1";
    let connection = crate::support::invariants::open(&app.data_dir.database());
    let trigger = "DROP TRIGGER mail_recipients_keep_what_happened";
    connection
        .execute_batch(&format!("{trigger}; {late}"))
        .unwrap();
    app
}

#[tokio::test]
async fn every_query_of_the_document_runs_and_finds_something() {
    let app = lived_in().await;
    let queries: Vec<_> = DOCUMENT
        .split("```sql\n")
        .skip(1)
        .map(|part| part.split("```").next().unwrap().trim())
        .collect();
    assert!(queries.len() >= 10, "{}", queries.len());
    for query in queries {
        assert!(
            !sqlite3(&app, query).trim().is_empty(),
            "this finds nothing:\n{query}"
        );
    }
}

#[tokio::test]
async fn the_document_names_every_table_view_and_column_of_a_view() {
    let app = TestApp::new().await;
    let names = sqlite3(
        &app,
        // An index of words keeps tables of its own, which are no business of an operator.
        "SELECT type, name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite%'",
    );
    for line in names.lines() {
        let (kind, name) = line.split_once('|').unwrap();
        assert!(
            DOCUMENT.contains(&format!("| `{name}` |")),
            "{kind} {name} is not documented"
        );
        if kind == "view" {
            for column in sqlite3(
                &app,
                &format!("SELECT name FROM pragma_table_info('{name}')"),
            )
            .lines()
            {
                let row = DOCUMENT
                    .lines()
                    .find(|line| line.starts_with(&format!("| `{name}` |")))
                    .unwrap();
                assert!(
                    row.contains(&format!("`{column}`")),
                    "{name}.{column} is not documented"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_views_for_programs_of_other_systems_have_their_columns() {
    let app = TestApp::new().await;
    let tool = json!({
        "name": "to_qa", "description": "d", "targetAgent": "qa", "handoffInstructions": "Look twice",
        "contextVariables": [{ "name": "lead_id", "type": "string" }],
    });
    app.operator().post("/api/tools", tool).await.data();
    let moved = json!({
        "fromAgent": "qa", "toAgent": "planner", "reason": "It's \"why\"", "userIntent": "a\nb", "harnessTraceId": "h-1",
        "conversationHistory": [{ "role": "user", "content": null }],
    });
    app.post("/api/sessions/s/handoffs", moved).await.data();
    let task = app.get("/api/sessions/s").await.data()["taskId"].clone();
    let task = task.as_str().unwrap();
    let child = app
        .post(
            &format!("/api/tasks/{task}/tools/to_qa"),
            json!({ "lead_id": "123" }),
        )
        .await
        .data();
    let child = child["id"].as_str().unwrap();
    for (query, expected) in [
        (
            "SELECT id <> '', session_id, from_agent, to_agent, reason, conversation_history, harness_trace_id, user_intent, created_at
               FROM agent_handoffs",
            "1|s|qa|planner|It's \"why\"|[{\"role\":\"user\",\"content\":null}]|h-1|a\nb|2026-01-01 00:00:00.000",
        ),
        (
            "SELECT agent_name, type, content, data ->> 'variables', created_at FROM task_messages WHERE type = 'handoff' ORDER BY id DESC LIMIT 1",
            "planner|handoff|Routed to qa|{\"lead_id\":\"123\"}|2026-01-01 00:00:00.000",
        ),
        (
            "SELECT context ->> 'lead_id', _handoff_from, _handoff_tool, _handoff_instructions, _handoff_chain, master_task_id = parent_id
               FROM task_context WHERE parent_id IS NOT NULL",
            "123|planner|to_qa|Look twice|[\"qa\",\"planner\"]|1",
        ),
    ] {
        assert_eq!(sqlite3(&app, query).trim_end(), expected, "{query}");
    }
    let of = |view: &str| {
        sqlite3(
            &app,
            &format!("SELECT DISTINCT task_id FROM {view} ORDER BY task_id <> '{task}'"),
        )
    };
    assert_eq!(of("task_messages").trim(), task);
    assert_eq!(of("task_context").trim(), format!("{task}\n{child}"));
}
