//! That the invariants see what is wrong: each is broken by hand once.

use std::path::Path;

use serde_json::json;

use crate::support::{TestApp, invariants, requests};

/// Makes a database with a completed, a cancelled and an open hand-off, a message and two attachments, one removed, and
/// with control that moved by a tool and in a session. Requests of all kinds come behind them.
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
    transfer_and_move(&app).await;
    requests::live(&app.db, &app.clock).await;
    begin_increment(&app).await;
    app.engine.close().await;
    app
}

/// Begins an increment, whose implementation is done.
async fn begin_increment(app: &TestApp) {
    let agent =
        json!({ "provider": "command", "program": "/bin/true", "roles": ["implementation"] });
    app.put("/api/agents/maker", agent).await.data();
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

/// Passes control of a fourth task to a fifth, and records a session, whose task is the sixth.
async fn transfer_and_move(app: &TestApp) {
    let task = app.task("task 3").await;
    let handoff = json!({ "agentName": "developer", "prompt": "do it" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    let tool = json!({ "name": "to_qa", "description": "When it is done.", "targetAgent": "qa" });
    app.post("/api/tools", tool).await.data();
    app.post(&format!("/api/tasks/{task}/tools/to_qa"), json!({}))
        .await
        .data();
    let moved = json!({
        "fromAgent": "developer", "toAgent": "qa", "reason": "r", "userIntent": "u", "conversationHistory": [],
        "invoke": false,
    });
    app.post("/api/sessions/s/handoffs", moved).await.data();
}

/// Breaks a copy of a database and lists what is found wrong with it.
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

/// What is done to the database, and what must be said of it.
const SABOTAGE: &[(&str, &str)] = &[
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, prompt) VALUES ('x', 3, 2, 'qa', 'delegate', 0, '')",
        "more than one open hand-off",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
         VALUES ('x', 3, 2, 'qa', 'delegate', 0, 0, 'failed', '')",
        "open and is not the last",
    ),
    ("UPDATE handoffs SET outcome = NULL WHERE number = 1", "half ended"),
    ("UPDATE handoffs SET output = 'early' WHERE number = 3", "half ended"),
    ("UPDATE handoffs SET position = 2 WHERE number = 1", "not 1 to n"),
    ("DELETE FROM events WHERE type = 'agent_handoff_started'", "event of its start"),
    ("DELETE FROM events WHERE type = 'agent_handoff_completed'", "event of its end"),
    ("UPDATE events SET type = 'agent_handoff_failed' WHERE type = 'agent_handoff_cancelled'", "event of its end"),
    (
        "INSERT INTO events (task_number, handoff_number, occurred_at, type, data)
         VALUES (3, 3, 0, 'agent_handoff_completed', '{\"agentName\":\"developer\"}')",
        "or has one while it is open",
    ),
    ("UPDATE events SET handoff_number = NULL WHERE type = 'agent_handoff_started'", "names no hand-off"),
    ("UPDATE handoffs SET agent_name = 'qa' WHERE number = 1", "of another task or agent"),
    ("DELETE FROM runs WHERE handoff_number = 3", "exactly one run that is not ended"),
    (
        "UPDATE runs SET state = 'running', outcome = NULL, ended_at = NULL WHERE handoff_number = 1",
        "or an ended one has any",
    ),
    ("DELETE FROM runs WHERE handoff_number = 1", "has no run"),
    (
        "INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, content)
         VALUES (3, 3, 3, 0, 'assistant_message', 'hello')",
        "said more or less than events say",
    ),
    (
        "INSERT INTO events (task_number, handoff_number, occurred_at, type, data) VALUES (1, 1, 0, 'message_added', '{}')",
        "recorded after the end of its hand-off",
    ),
    ("UPDATE handoffs SET is_invoked = 0 WHERE number = 1", "one that was not wanted"),
    ("UPDATE handoffs SET is_invoked = 0 WHERE number = 3", "nobody was to run is open"),
    ("DELETE FROM messages WHERE is_prompt AND handoff_number = 1", "was not said once"),
    ("UPDATE messages SET chain_number = 2 WHERE task_number = 4", "another chain than its task"),
    ("UPDATE tasks SET master_number = 2 WHERE number = 5", "not the one that the parents lead to"),
    ("UPDATE tasks SET master_number = NULL WHERE number = 5", "not the one that the parents lead to"),
    ("UPDATE tasks SET parent_number = 3, master_number = 3 WHERE number = 5", "to one that is no child of it"),
    ("UPDATE handoffs SET from_number = 6 WHERE number = 5", "comes from a later one"),
    ("UPDATE handoffs SET from_number = 1 WHERE mode = 'session'", "or from another chain"),
    ("UPDATE session_handoffs SET to_agent = 'planner'", "do not belong together"),
    ("UPDATE tasks SET session_id = 'other' WHERE session_id = 's'", "do not belong together"),
    ("DELETE FROM session_handoffs", "is in no session"),
    ("UPDATE runs SET outcome = NULL WHERE handoff_number = 1", "ended without an outcome"),
    ("DELETE FROM events WHERE type = 'task_created' AND task_number = 2", "the one event of its creation"),
    ("DELETE FROM queue_messages WHERE number = 1", "as many messages"),
    ("DELETE FROM attachments WHERE number = 2", "as many attachments"),
    ("DELETE FROM events WHERE number = 1", "have gaps"),
    ("UPDATE tasks SET status = 'active' WHERE number = 1", "and nobody set it so"),
    ("UPDATE tasks SET status = 'completed' WHERE number = 1", "not the one of the history"),
    (
        "UPDATE handoffs SET completed_at = 0, outcome = 'failed' WHERE number = (SELECT handoff_number FROM requests WHERE title = 'first')",
        "claimed by a hand-off that has ended",
    ),
    ("UPDATE requests SET handoff_number = 3 WHERE title = 'first'", "of another chain than its task"),
    ("UPDATE requests SET state = 'next' WHERE title = 'waits'", "does not lead to its state"),
    ("DELETE FROM request_transitions WHERE to_state = 'delegated'", "does not begin where the one before it led"),
    ("UPDATE requests SET response = NULL WHERE state = 'done'", "done without a response"),
    ("UPDATE requests SET response = 'early' WHERE state = 'next'", "or has one and is not"),
    ("UPDATE requests SET attempts = 7 WHERE title = 'is held'", "more or less often than its transitions say"),
    ("UPDATE request_transitions SET is_by_file = 1 WHERE to_state = 'claimed'", "more or less often than its transitions say"),
    ("UPDATE requests SET is_stuck = 1 WHERE title = 'is held'", "does not wait for a person"),
    ("UPDATE events SET type = 'request_done' WHERE type = 'request_requeued'", "are not its transitions"),
    ("UPDATE events SET request_number = NULL WHERE type = 'request_created'", "are not its transitions"),
    ("UPDATE events SET data = '{\"to\":\"needs\"}' WHERE type = 'request_requeued'", "are not its transitions"),
    (
        "INSERT INTO events (request_number, occurred_at, type, data) VALUES (1, 0, 'request_next', '{\"to\":\"next\"}')",
        "are not its transitions",
    ),
    ("UPDATE events SET handoff_number = 3 WHERE type = 'request_claimed'", "about a hand-off of another task"),
    ("UPDATE events SET type = 'x' WHERE type = 'alert_raised'", "exactly one event of its beginning"),
    ("UPDATE events SET type = 'x' WHERE type = 'alert_resolved'", "or of its end"),
    ("UPDATE requests SET job_id = NULL", "exactly one run that is not ended"),
    ("UPDATE tasks SET unmet = 1 WHERE stage = 'test'", "how much of what it waits for"),
    ("UPDATE tasks SET unmet = 0 WHERE stage = 'verify'", "how much of what it waits for"),
    (
        "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome)
         SELECT i.number, 1, v.number, 'any' FROM tasks i, tasks v WHERE i.stage = 'implementation' AND v.stage = 'verify'",
        "wait for each other",
    ),
    ("DELETE FROM task_tags WHERE tag = 'qa'", "are not those that it is found by"),
    ("UPDATE tasks SET route_attempts = 2 WHERE stage = 'implementation'", "more or less often than it counted"),
    ("UPDATE mail SET handoff_number = NULL", "or mailed"),
    ("UPDATE tasks SET is_blocked = 1 WHERE stage = 'test'", "for no reason"),
    (
        "UPDATE tasks SET is_unsuited = 1, waiting_reason = 'x' WHERE stage = 'implementation'",
        "forgotten by its index",
    ),
    ("UPDATE increments SET round = 2", "not as many tests as rounds"),
    ("UPDATE increments SET round = 2", "a round that is over is still to be worked on"),
    ("UPDATE increments SET state = 'done'", "done without a verification"),
    ("UPDATE tasks SET status = 'failed', failure_message = '' WHERE stage IS NOT NULL", "or is not and something is"),
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
