//! The invariants detect violations: each is broken by hand once.

use std::path::Path;

use serde_json::json;

use crate::support::{TestApp, invariants, requests};

/// Makes a database with a completed, a cancelled and an open hand-off, each with a queued message and two attachments, one of
/// them removed; then a transfer, a session, requests in every state, and an increment.
async fn good_database() -> TestApp {
    let app = TestApp::new().await;
    for (number, end) in ["complete", "cancel", "none"].into_iter().enumerate() {
        let task = app.task(&format!("task {number}")).await;
        let path = format!("/api/tasks/{task}");
        let handoff = json!({ "agentName": "developer", "prompt": "do it" });
        app.post(&format!("{path}/handoff"), handoff).await.data();
        match end {
            "complete" => app
                .put(
                    &format!("{path}/handoff/complete"),
                    json!({ "output": "done" }),
                )
                .await
                .data(),
            "cancel" => app
                .post(&format!("{path}/handoff/cancel"), json!({}))
                .await
                .data(),
            _ => json!(null),
        };
        app.post(&format!("{path}/queue"), json!({ "content": "hello" }))
            .await
            .data();
        for filename in ["a", "b"] {
            let attach = format!("{path}/attachments?filename={filename}");
            app.post(&attach, json!("bytes")).await.data();
        }
        let detach = format!("{path}/attachments/a");
        app.request(axum::http::Method::DELETE, &detach, "")
            .await
            .data();
    }
    transfer_and_record_session(&app).await;
    requests::populate(&app.db, &app.clock).await;
    start_increment(&app).await;
    app.engine.close().await;
    app
}

/// Creates an increment and completes its implementation.
async fn start_increment(app: &TestApp) {
    let agent =
        json!({ "provider": "command", "program": "/bin/true", "roles": ["implementation"] });
    app.operator().put("/api/agents/maker", agent).await.data();
    let made = app.post("/api/increments", json!({ "title": "t" })).await;
    let first = made.data()["tasks"][0]["id"].clone();
    let first = first.as_str().unwrap();
    app.post(&format!("/api/route/{first}"), json!({}))
        .await
        .data();
    app.put(
        &format!("/api/tasks/{first}/handoff/complete"),
        json!({ "output": "done" }),
    )
    .await
    .data();
}

/// Transfers the fourth task to a fifth, and records a session, whose task is the sixth.
async fn transfer_and_record_session(app: &TestApp) {
    let task = app.task("task 3").await;
    let handoff = json!({ "agentName": "developer", "prompt": "do it" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    let tool = json!({ "name": "to_qa", "description": "When it is done.", "targetAgent": "qa" });
    app.operator().post("/api/tools", tool).await.data();
    app.post(&format!("/api/tasks/{task}/tools/to_qa"), json!({}))
        .await
        .data();
    let moved = json!({
        "fromAgent": "developer", "toAgent": "qa", "reason": "r", "userIntent": "u", "conversationHistory": [],
        "invoke": false,
    });
    app.post("/api/sessions/s/handoffs", moved).await.data();
}

/// Breaks a copy of a database and lists the violations in it.
fn violations_after(database: &Path, sabotage: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("chorus.db");
    std::fs::copy(database, &copy).unwrap();
    let connection = rusqlite::Connection::open(&copy).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = off;
             PRAGMA ignore_check_constraints = on;
             DROP INDEX handoffs_open;
             DROP INDEX runs_not_ended;",
        )
        .unwrap();
    drop_triggers(&connection);
    connection.execute_batch(sabotage).unwrap();
    drop(connection);
    invariants::violations(&copy)
}

fn drop_triggers(connection: &rusqlite::Connection) {
    let mut statement = connection
        .prepare("SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap();
    let drops = statement.query_map([], |row| row.get::<_, String>(0));
    for drop in drops.unwrap().collect::<Result<Vec<_>, _>>().unwrap() {
        connection.execute_batch(&drop).unwrap();
    }
}

/// A statement that breaks the database, and a part of the violation that must be reported.
const SABOTAGE: &[(&str, &str)] = &[
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, prompt) VALUES ('x', 3, 2, 'qa', 'delegate', 0, '')",
        "more than one open hand-off",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
         VALUES ('x', 3, 2, 'qa', 'delegate', 0, 0, 'failed', '')",
        "an open hand-off is not the last",
    ),
    ("UPDATE handoffs SET outcome = NULL WHERE number = 1", "only part of its end"),
    ("UPDATE handoffs SET output = 'early' WHERE number = 3", "only part of its end"),
    ("UPDATE handoffs SET position = 2 WHERE number = 1", "not 1 to n"),
    ("DELETE FROM events WHERE type = 'agent_handoff_started'", "exactly one start event"),
    ("DELETE FROM events WHERE type = 'agent_handoff_completed'", "exactly one end event"),
    ("UPDATE events SET type = 'agent_handoff_failed' WHERE type = 'agent_handoff_cancelled'", "exactly one end event"),
    (
        "INSERT INTO events (task_number, handoff_number, occurred_at, type, data)
         VALUES (3, 3, 0, 'agent_handoff_completed', '{\"agentName\":\"developer\"}')",
        "or an open one has any",
    ),
    ("UPDATE events SET handoff_number = NULL WHERE type = 'agent_handoff_started'", "a hand-off event has no hand-off"),
    ("UPDATE handoffs SET agent_name = 'qa' WHERE number = 1", "of another task or agent"),
    ("DELETE FROM runs WHERE handoff_number = 3", "exactly one unfinished run"),
    (
        "UPDATE runs SET state = 'running', outcome = NULL, ended_at = NULL WHERE handoff_number = 1",
        "or an ended one has any",
    ),
    ("DELETE FROM runs WHERE handoff_number = 1", "an invoked hand-off has no run"),
    (
        "INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, content)
         VALUES (3, 3, 3, 0, 'assistant_message', 'hello')",
        "as many messages as message_added events",
    ),
    (
        "INSERT INTO events (task_number, handoff_number, occurred_at, type, data) VALUES (1, 1, 0, 'message_added', '{}')",
        "recorded after the end of its hand-off",
    ),
    ("UPDATE handoffs SET is_invoked = 0 WHERE number = 1", "or a recorded one has a run"),
    ("UPDATE handoffs SET is_invoked = 0 WHERE number = 3", "a recorded hand-off is open"),
    ("DELETE FROM messages WHERE is_prompt AND handoff_number = 1", "exactly one prompt message"),
    ("UPDATE messages SET chain_number = 2 WHERE task_number = 4", "a message belongs to another chain"),
    ("UPDATE tasks SET master_number = 2 WHERE number = 5", "not the root of its parents"),
    ("UPDATE tasks SET master_number = NULL WHERE number = 5", "not the root of its parents"),
    ("UPDATE tasks SET parent_number = 3, master_number = 3 WHERE number = 5", "not a child of the source task"),
    ("UPDATE handoffs SET from_number = 6 WHERE number = 5", "comes from a later hand-off"),
    ("UPDATE handoffs SET from_number = 1 WHERE mode = 'session'", "or from one of another chain"),
    ("UPDATE session_handoffs SET to_agent = 'planner'", "contradicts its session"),
    ("UPDATE tasks SET session_id = 'other' WHERE session_id = 's'", "contradicts its session"),
    ("DELETE FROM session_handoffs", "belongs to no session"),
    ("UPDATE runs SET outcome = NULL WHERE handoff_number = 1", "ended without an outcome"),
    ("DELETE FROM events WHERE type = 'task_created' AND task_number = 2", "exactly one task_created event"),
    ("DELETE FROM queue_messages WHERE number = 1", "as many messages as message_queued events"),
    ("DELETE FROM attachments WHERE number = 2", "as many attachments"),
    ("DELETE FROM events WHERE number = 1", "have gaps"),
    ("UPDATE tasks SET status = 'active' WHERE number = 1", "and nobody set that status"),
    ("UPDATE tasks SET status = 'completed' WHERE number = 1", "contradicts its history"),
    (
        "UPDATE handoffs SET completed_at = 0, outcome = 'failed' WHERE number = (SELECT handoff_number FROM requests WHERE title = 'first')",
        "claimed by a hand-off that has ended",
    ),
    ("UPDATE requests SET claimant_number = 1 WHERE title = 'is held'", "claimed a request, and its hand-off has ended"),
    ("UPDATE requests SET handoff_number = 3 WHERE title = 'first'", "a hand-off of another chain than its task"),
    ("UPDATE requests SET state = 'next' WHERE title = 'waits'", "does not lead to its state"),
    ("DELETE FROM request_transitions WHERE to_state = 'delegated'", "does not start at the state"),
    ("UPDATE requests SET response = NULL WHERE state = 'done'", "done without a response"),
    ("UPDATE requests SET response = 'early' WHERE state = 'next'", "or has a response and is not done"),
    ("UPDATE requests SET attempts = 7 WHERE title = 'is held'", "differ from its claim transitions"),
    ("UPDATE request_transitions SET is_by_file = 1 WHERE to_state = 'claimed'", "differ from its claim transitions"),
    ("UPDATE requests SET is_stuck = 1 WHERE title = 'is held'", "a stuck request is not in the state needs"),
    ("UPDATE events SET type = 'request_done' WHERE type = 'request_requeued'", "events differ from its transitions"),
    ("UPDATE events SET request_number = NULL WHERE type = 'request_created'", "events differ from its transitions"),
    ("UPDATE events SET data = '{\"to\":\"needs\"}' WHERE type = 'request_requeued'", "events differ from its transitions"),
    (
        "INSERT INTO events (request_number, occurred_at, type, data) VALUES (1, 0, 'request_next', '{\"to\":\"next\"}')",
        "events differ from its transitions",
    ),
    ("UPDATE events SET handoff_number = 3 WHERE type = 'request_claimed'", "about a hand-off of another task"),
    ("UPDATE events SET type = 'x' WHERE type = 'alert_raised'", "exactly one alert_raised event"),
    ("UPDATE events SET type = 'x' WHERE type = 'alert_resolved'", "or its alert_resolved event"),
    ("UPDATE requests SET job_id = NULL", "exactly one unfinished run"),
    ("UPDATE tasks SET unmet = 1 WHERE stage = 'test'", "count of unmet dependencies"),
    ("UPDATE tasks SET unmet = 0 WHERE stage = 'verify'", "count of unmet dependencies"),
    (
        "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome)
         SELECT i.number, 1, v.number, 'any' FROM tasks i, tasks v WHERE i.stage = 'implementation' AND v.stage = 'verify'",
        "form a cycle",
    ),
    ("DELETE FROM task_tags WHERE tag = 'qa'", "differ from its rows in task_tags"),
    ("UPDATE tasks SET route_attempts = 2 WHERE stage = 'implementation'", "exceed its routed hand-offs"),
    ("UPDATE mail SET handoff_number = NULL", "or differ from the router's mail"),
    ("UPDATE tasks SET counted_from_number = 1 WHERE stage = 'test'", "one of another family"),
    ("UPDATE tasks SET is_blocked = 1 WHERE stage = 'test'", "without a reason"),
    (
        "UPDATE tasks SET is_unsuited = 1, waiting_reason = 'x' WHERE stage = 'implementation'",
        "marked unsuited",
    ),
    ("UPDATE increments SET round = 2", "one test per round"),
    ("UPDATE increments SET round = 2", "a finished round is still pending"),
    ("UPDATE increments SET state = 'done'", "done before all stages"),
    ("UPDATE tasks SET status = 'failed', failure_message = '' WHERE stage IS NOT NULL", "or has one and is not blocked"),
    ("DELETE FROM tasks WHERE number = 1", "foreign_key_check"),
    (
        "PRAGMA writable_schema = on;
         UPDATE sqlite_schema SET sql = replace(sql, '(status)', '(created_at)') WHERE name = 'tasks_by_status'",
        "integrity_check",
    ),
];

#[tokio::test]
async fn every_invariant_can_fail() {
    let app = good_database().await;
    let database = app.data_dir.database();
    assert_eq!(violations_after(&database, ""), [""; 0]);
    for (sabotage, expected) in SABOTAGE {
        let found = violations_after(&database, sabotage);
        assert!(
            found.iter().any(|violation| violation.contains(expected)),
            "{sabotage}: {found:?}"
        );
    }
}
