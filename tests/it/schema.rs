//! The database's own rules, attacked with raw SQL: what must never be is refused whoever opens the file.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;

use crate::support::{TestApp, invariants};

/// Makes a ledger with a completed (number 1) and an open (number 2) hand-off of one task.
async fn ledger() -> TestApp {
    let app = TestApp::new().await;
    let path = format!("/api/tasks/{}", app.task("a task").await);
    let handoff = json!({ "agentName": "developer", "prompt": "do it" });
    for output in [Some("done"), None] {
        app.post(&format!("{path}/handoff"), handoff.clone())
            .await
            .data();
        if let Some(output) = output {
            let body = json!({ "output": output });
            app.put(&format!("{path}/handoff/complete"), body)
                .await
                .data();
        }
    }
    app
}

/// Opens the file as an operator would, with foreign keys on.
fn operator(database: &Path) -> Connection {
    let connection = Connection::open(database).unwrap();
    connection
        .pragma_update(None, "foreign_keys", "on")
        .unwrap();
    connection
}

/// Statements that the database must refuse, and a part of the reason that it gives.
const ATTACKS: &[(&str, &str)] = &[
    // The agent chain only grows, and its entries end once.
    ("DELETE FROM handoffs WHERE number = 1", "never deleted"),
    ("DELETE FROM handoffs WHERE number = 2", "never deleted"),
    ("UPDATE handoffs SET output = 'other' WHERE number = 1", "never changes"),
    ("UPDATE handoffs SET completed_at = NULL, outcome = NULL, output = '' WHERE number = 1", "never changes"),
    ("UPDATE handoffs SET prompt = 'other' WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET agent_name = 'qa' WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET position = 9 WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET task_number = 2 WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET completed_at = 1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE handoffs SET outcome = 'completed' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE handoffs SET completed_at = 1, outcome = 'won' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE handoffs SET output = 'early' WHERE number = 2", "CHECK constraint failed"),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, prompt) VALUES ('x', 1, 3, 'qa', 'delegate', 0, '')",
        "UNIQUE constraint failed",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
         VALUES ('x', 1, 1, 'qa', 'delegate', 0, 0, 'failed', '')",
        "UNIQUE constraint failed",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
         VALUES ('x', 1, 0, 'qa', 'delegate', 0, 0, 'failed', '')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
         VALUES ('x', 77, 1, 'qa', 'delegate', 0, 0, 'failed', '')",
        "FOREIGN KEY constraint failed",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
         VALUES ('x', 1, 3, 'qa', 'shout', 0, 0, 'failed', '')",
        "CHECK constraint failed",
    ),
    // History is append-only.
    ("UPDATE events SET data = '{}' WHERE number = 1", "never changes"),
    ("DELETE FROM events WHERE number = 1", "never deleted"),
    ("DELETE FROM events", "never deleted"),
    ("INSERT INTO events (task_number, occurred_at, type, data) VALUES (1, 0, '', '{}')", "CHECK constraint failed"),
    ("INSERT INTO events (task_number, occurred_at, type, data) VALUES (1, 0, 'x', '[]')", "CHECK constraint failed"),
    ("INSERT INTO events (task_number, occurred_at, type, data) VALUES (77, 0, 'x', '{}')", "FOREIGN KEY constraint failed"),
    // A task that has a history stays.
    ("DELETE FROM tasks WHERE number = 1", "FOREIGN KEY constraint failed"),
    ("UPDATE tasks SET status = 'done' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE tasks SET status = 'failed' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE tasks SET failure_message = 'but why' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE tasks SET summary = 'half' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE tasks SET summary = 's', requirements = '[]', acceptance_criteria = '[]' WHERE number = 1", "CHECK constraint failed"),
    (
        "UPDATE tasks SET summary = 's', requirements = '[]', acceptance_criteria = '[]', plan = '{}' WHERE number = 1",
        "CHECK constraint failed",
    ),
    ("UPDATE tasks SET created_at = 'yesterday' WHERE number = 1", "cannot store TEXT value in INTEGER column"),
    // A run ends, and there is one at a time.
    (
        "INSERT INTO runs (id, handoff_number, attempt, state, queued_at) VALUES ('x', 2, 2, 'queued', 0)",
        "UNIQUE constraint failed",
    ),
    ("UPDATE runs SET state = 'running' WHERE handoff_number = 2", "CHECK constraint failed"),
    ("UPDATE runs SET state = 'ended' WHERE handoff_number = 2", "CHECK constraint failed"),
    ("UPDATE runs SET outcome = 'failed' WHERE handoff_number = 2", "CHECK constraint failed"),
    // Names differ by more than case.
    (
        "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at) SELECT 'DEVELOPER', spec_path, allowed_tools, permission_mode, provider, 0, 0 FROM agents LIMIT 1",
        "UNIQUE constraint failed",
    ),
    ("UPDATE agents SET name = 'a/b' WHERE name = 'qa'", "CHECK constraint failed"),
    ("UPDATE agents SET provider = 'magic' WHERE name = 'qa'", "CHECK constraint failed"),
    // A file's name leads nowhere else.
    (
        "INSERT INTO attachments (id, task_number, filename, size, content_type, uploaded_at) VALUES ('x', 1, '../x', 0, '', 0)",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO attachments (id, task_number, filename, size, content_type, uploaded_at) VALUES ('x', 1, 'x', -1, '', 0)",
        "CHECK constraint failed",
    ),
    ("INSERT INTO idempotency_keys (key, fingerprint, created_at, answer) VALUES ('x', x'00', 0, '')", "CHECK constraint failed"),
    ("INSERT INTO installation (only_row) VALUES (2)", "CHECK constraint failed"),
    // A conversation is append-only, and one of a chain that is there.
    (
        "INSERT INTO messages (chain_number, task_number, occurred_at, type, content) VALUES (77, 1, 0, 'thinking', '')",
        "FOREIGN KEY constraint failed",
    ),
    (
        "INSERT INTO messages (chain_number, task_number, occurred_at, type, content) VALUES (1, 1, 0, 'shout', '')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO messages (chain_number, task_number, occurred_at, type, is_prompt, content) VALUES (1, 1, 0, 'user_message', 1, '')",
        "CHECK constraint failed",
    ),
    ("UPDATE messages SET content = 'other'", "never changes"),
    ("DELETE FROM messages", "never deleted"),
    // A hand-off keeps where it came from.
    ("UPDATE handoffs SET from_number = 1 WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET waiter_number = 1 WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET trace_id = '00000000000000000000000000000001' WHERE number = 2", "only the end"),
    ("UPDATE handoffs SET is_invoked = 0 WHERE number = 2", "only the end"),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt, from_number)
         VALUES ('x', 1, 3, 'qa', 'transfer', 0, 0, 'failed', '', 1), ('y', 1, 4, 'qa', 'transfer', 0, 0, 'failed', '', 1)",
        "UNIQUE constraint failed",
    ),
    (
        "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt, trace_id)
         VALUES ('x', 1, 3, 'qa', 'delegate', 0, 0, 'failed', '', 'ABC')",
        "CHECK constraint failed",
    ),
    ("UPDATE tasks SET context = '[]' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE agents SET available = 2 WHERE name = 'qa'", "CHECK constraint failed"),
    // A tool has a legal name and a target that is there, and stays as long as it is a target.
    (
        "INSERT INTO tools (name, target_agent, created_at, updated_at, description, context_variables, handoff_instructions)
         VALUES ('Tool', 'qa', 0, 0, '', '[]', '')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO tools (name, target_agent, created_at, updated_at, description, context_variables, handoff_instructions)
         VALUES ('tool', 'nobody', 0, 0, '', '[]', '')",
        "FOREIGN KEY constraint failed",
    ),
    (
        "INSERT INTO tools (name, target_agent, created_at, updated_at, description, context_variables, handoff_instructions)
         VALUES ('tool', 'qa', 0, 0, '', '{}', '')",
        "CHECK constraint failed",
    ),
    // A session has one task, and its hand-offs stay.
    ("INSERT INTO sessions (id, task_number, created_at) VALUES ('', 1, 0)", "CHECK constraint failed"),
    ("INSERT INTO sessions (id, task_number, created_at) VALUES ('x', 1, 0), ('y', 1, 0)", "UNIQUE constraint failed"),
    ("INSERT INTO sessions (id, task_number, created_at) VALUES ('x', 77, 0)", "FOREIGN KEY constraint failed"),
    // NUL ends a text for some readers and not for others.
    ("UPDATE tasks SET description = 'a' || char(0) || 'b' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE tasks SET status = 'failed', failure_message = char(0) WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE handoffs SET completed_at = 1, outcome = 'completed', output = char(0) WHERE number = 2", "CHECK constraint failed"),
    (
        "INSERT INTO queue_messages (id, task_number, received_at, content) VALUES ('x', 1, 0, 'a' || char(0))",
        "CHECK constraint failed",
    ),
    ("UPDATE agents SET name = 'qa' || char(0) || '/..' WHERE name = 'qa'", "CHECK constraint failed"),
];

#[tokio::test]
async fn the_database_itself_refuses_what_must_never_be() {
    let app = ledger().await;
    let connection = operator(&app.data_dir.database());
    for (attack, expected) in ATTACKS {
        let error = connection
            .execute(attack, [])
            .expect_err(attack)
            .to_string();
        assert!(error.contains(expected), "{attack}: {error}");
    }
    assert_eq!(invariants::violations(&app.data_dir.database()), [""; 0]);
}

#[tokio::test]
async fn a_task_id_that_could_be_a_path_or_a_line_is_refused_by_the_database() {
    let app = TestApp::new().await;
    let connection = operator(&app.data_dir.database());
    let insert = |id: &str| {
        connection.execute(
            "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
             VALUES ($1, 'pending', 0, 0, 'api', 'x', '/', 'x')",
            [id],
        )
    };
    let too_long = "x".repeat(101);
    for id in [
        "", ".", "..", ".x", "a/b", "a b", "a\n", "ä", "a\0b", "a\0/../b", &too_long,
    ] {
        let error = insert(id).expect_err(id).to_string();
        assert!(error.contains("CHECK constraint failed"), "{id:?}: {error}");
    }
    for id in ["a", "A.b_c-9", &too_long[1..]] {
        insert(id).unwrap();
    }
    insert("a").expect_err("it is there already");
}
