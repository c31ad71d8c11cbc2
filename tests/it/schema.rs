//! Constraints and triggers of the database, attacked with raw SQL: they hold for any program that opens the file.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;

use crate::support::TestApp;
use crate::support::requests::{Requests, agent_rule, new_request};

/// Creates a completed (number 1) and an open (2) hand-off of one task, a claimed (1) and a waiting (2) request, a kind rule,
/// an alert, and a mail that one (1) of two recipients has acknowledged.
pub async fn populated_app() -> TestApp {
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
    let requests = Requests(&app.db);
    requests.set_rules(vec![agent_rule("fix", "qa")]).await;
    let claimed = requests
        .create_approved(new_request("fix", "claimed"))
        .await;
    requests.claim(&claimed, "stranger").await.unwrap();
    requests.create(new_request("fix", "needed")).await;
    requests.raise_alert("look", None).await;
    let mail = json!({ "to": ["qa"], "cc": ["operator"], "subject": "look", "ackRequired": true });
    let mail = app.post("/api/mail", mail).await.data();
    let path = format!("/api/mail/{}/ack", mail["id"].as_str().unwrap());
    app.post(&path, json!({ "recipient": "qa" })).await.data();
    app
}

/// Opens the file as a person with `sqlite3` would, with foreign keys on.
fn connect(database: &Path) -> Connection {
    let connection = Connection::open(database).unwrap();
    connection
        .pragma_update(None, "foreign_keys", "on")
        .unwrap();
    connection
}

/// Statements that the database must refuse, and a part of its error message.
const ATTACKS: &[(&str, &str)] = &[
    // The agent chain is append-only, and an entry ends once.
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
    // A task with a history cannot be deleted.
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
    // A hand-off has one unfinished run at a time, and an ended run has an outcome.
    (
        "INSERT INTO runs (id, handoff_number, attempt, state, queued_at) VALUES ('x', 2, 2, 'queued', 0)",
        "UNIQUE constraint failed",
    ),
    ("UPDATE runs SET state = 'running' WHERE handoff_number = 2", "CHECK constraint failed"),
    ("UPDATE runs SET state = 'ended' WHERE handoff_number = 2", "CHECK constraint failed"),
    ("UPDATE runs SET outcome = 'failed' WHERE handoff_number = 2", "CHECK constraint failed"),
    // Agent names are unique regardless of case.
    (
        "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at) SELECT 'DEVELOPER', spec_path, allowed_tools, permission_mode, provider, 0, 0 FROM agents LIMIT 1",
        "UNIQUE constraint failed",
    ),
    ("UPDATE agents SET name = 'a/b' WHERE name = 'qa'", "CHECK constraint failed"),
    ("UPDATE agents SET provider = 'magic' WHERE name = 'qa'", "CHECK constraint failed"),
    // A file name has no path.
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
    // A conversation is append-only and belongs to an existing chain.
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
    // A hand-off keeps its origin.
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
    // A tool has a legal name, an existing target and a list of variables.
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
    // A request has an id without a path, and only known values.
    ("UPDATE requests SET id = '' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET id = '../x' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET id = '.x' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET id = 'a/b' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET id = 'a' || char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET id = hex(zeroblob(51)) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET id = (SELECT id FROM requests WHERE number = 1) WHERE number = 2", "UNIQUE constraint failed"),
    ("UPDATE requests SET kind = '' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET kind = 'Fix' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET kind = '2fix' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET kind = 'a b' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET kind = 'a' || char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET state = 'won' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET priority = 3 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET priority = -1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET effort = 'XL' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET attempts = -1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET is_stuck = 2 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_type = 'mail' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET is_job = 2 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET title = '' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET title = char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET body = char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_user_id = char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET agent_workspace = char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_type = 'file', source_file = char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_type = 'file', source_file = 'a', source_line = 0 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET created_at = 'yesterday' WHERE number = 2", "cannot store TEXT value in INTEGER column"),
    // A request has the columns of its state, and no others.
    ("UPDATE requests SET lease_expires_at = NULL WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET lease_agent = NULL WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET lease_agent = char(0) WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET state = 'delegated' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET attempts = 0 WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET lease_agent = NULL, lease_expires_at = NULL, handoff_number = 2 WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET job_id = 'x' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET is_job = 1, job_id = '' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET is_job = 1, job_id = char(0) WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET is_stuck = 1 WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET response = 'early' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE requests SET handoff_number = 2 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET state = 'done' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET state = 'done', response = char(0) WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET response = 'early' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_task_number = 1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_file = 'a' WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET source_line = 1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET handoff_number = 77 WHERE number = 1", "FOREIGN KEY constraint failed"),
    ("UPDATE requests SET claimant_number = 77 WHERE number = 1", "FOREIGN KEY constraint failed"),
    ("UPDATE requests SET claimant_number = 1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE requests SET task_number = 77 WHERE number = 1", "FOREIGN KEY constraint failed"),
    ("UPDATE requests SET source_type = 'task', source_task_number = 77 WHERE number = 2", "FOREIGN KEY constraint failed"),
    ("INSERT INTO events (request_number, occurred_at, type, data) VALUES (77, 0, 'x', '{}')", "FOREIGN KEY constraint failed"),
    ("DELETE FROM requests WHERE number = 2", "never deleted"),
    // Transitions are append-only and follow the state machine, unless a file made them.
    ("DELETE FROM request_transitions", "never deleted"),
    ("UPDATE request_transitions SET reason = 'other'", "never changes"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'needs', 'claimed', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'needs', 'needs', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, NULL, 'delegated', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, NULL, 'claimed', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, NULL, 'done', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'next', 'done', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'delegated', 'done', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'claimed', 'next', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'done', 'needs', 'x', 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'needs', 'won', 'x', 0, 1)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'won', 'needs', 'x', 0, 1)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'needs', 'next', char(0), 0, 0)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (2, 'needs', 'next', 'x', 0, 2)", "CHECK constraint failed"),
    ("INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file) VALUES (77, 'needs', 'next', 'x', 0, 0)", "FOREIGN KEY constraint failed"),
    ("INSERT INTO request_recoveries (request_number, recovered_at, reason, action) VALUES (2, 0, char(0), 'x')", "CHECK constraint failed"),
    ("INSERT INTO request_recoveries (request_number, recovered_at, reason, action) VALUES (2, 0, 'x', char(0))", "CHECK constraint failed"),
    ("INSERT INTO request_recoveries (request_number, recovered_at, reason, action) VALUES (77, 0, 'x', 'x')", "FOREIGN KEY constraint failed"),
    ("INSERT INTO request_tags (request_number, file, state) VALUES (2, '', 'needs')", "CHECK constraint failed"),
    ("INSERT INTO request_tags (request_number, file, state) VALUES (2, 'a', 'won')", "CHECK constraint failed"),
    ("INSERT INTO request_tags (request_number, file, state) VALUES (77, 'a', 'needs')", "FOREIGN KEY constraint failed"),
    ("INSERT INTO request_tags (request_number, file, state) VALUES (2, 'a', 'needs'), (2, 'b', 'needs')", "UNIQUE constraint failed"),
    // A kind has one rule, with commands exactly if it is asynchronous.
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('fix', 'qa', 'agent', 1, 0, 0, 1, 1)", "UNIQUE constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('Fix', 'qa', 'agent', 1, 0, 0, 1, 1)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'magic', 1, 0, 0, 1, 1)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'agent', 1, 2, 0, 1, 1)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'agent', 1, 0, 2, 1, 1)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'agent', 1, 0, 0, 0, 1)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'agent', 1, 0, 0, 101, 1)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'agent', 1, 0, 0, 1, 0)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'agent', 1, 0, 0, 1, 86401)", "CHECK constraint failed"),
    ("INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, poll_seconds) VALUES ('x', 'qa', 'async', 1, 0, 0, 1, 1)", "CHECK constraint failed"),
    ("UPDATE dispatch_routes SET start_command = '[]' WHERE kind = 'fix'", "CHECK constraint failed"),
    ("UPDATE dispatch_routes SET poll_command = '[]' WHERE kind = 'fix'", "CHECK constraint failed"),
    ("UPDATE dispatch_routes SET mode = 'async', start_command = '[]' WHERE kind = 'fix'", "CHECK constraint failed"),
    ("UPDATE dispatch_routes SET mode = 'async', start_command = '{}', poll_command = '[]' WHERE kind = 'fix'", "CHECK constraint failed"),
    ("UPDATE dispatch_routes SET mode = 'async', start_command = '[]', poll_command = '1' WHERE kind = 'fix'", "CHECK constraint failed"),
    // An alert is never deleted, and its resolution has a time and an actor.
    ("DELETE FROM alerts", "never deleted"),
    ("UPDATE alerts SET resolved_at = 1", "CHECK constraint failed"),
    ("UPDATE alerts SET resolved_by = 'x'", "CHECK constraint failed"),
    ("UPDATE alerts SET resolved_at = 1, resolved_by = char(0)", "CHECK constraint failed"),
    ("UPDATE alerts SET file = 'a'", "CHECK constraint failed"),
    ("UPDATE alerts SET file = 'a', line = 1", "CHECK constraint failed"),
    ("UPDATE alerts SET line = 1", "CHECK constraint failed"),
    ("UPDATE alerts SET is_active_in_file = 1", "CHECK constraint failed"),
    ("UPDATE alerts SET file = 'a', line = 0, is_active_in_file = 1", "CHECK constraint failed"),
    ("UPDATE alerts SET file = 'a', line = 1, is_active_in_file = 2", "CHECK constraint failed"),
    ("UPDATE alerts SET message = ''", "CHECK constraint failed"),
    ("UPDATE alerts SET message = char(0)", "CHECK constraint failed"),
    ("UPDATE alerts SET raised_by = char(0)", "CHECK constraint failed"),
    ("UPDATE alerts SET task_number = 77", "FOREIGN KEY constraint failed"),
    ("INSERT INTO alerts (id, raised_at, raised_by, message) SELECT id, 0, 'x', 'x' FROM alerts", "UNIQUE constraint failed"),
    // A NUL character ends a text for some readers and not for others.
    ("UPDATE tasks SET description = 'a' || char(0) || 'b' WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE tasks SET status = 'failed', failure_message = char(0) WHERE number = 1", "CHECK constraint failed"),
    ("UPDATE handoffs SET completed_at = 1, outcome = 'completed', output = char(0) WHERE number = 2", "CHECK constraint failed"),
    (
        "INSERT INTO queue_messages (id, task_number, received_at, content) VALUES ('x', 1, 0, 'a' || char(0))",
        "CHECK constraint failed",
    ),
    ("UPDATE agents SET name = 'qa' || char(0) || '/..' WHERE name = 'qa'", "CHECK constraint failed"),
    // Mail is never deleted or changed, and each time of a recipient is set once.
    ("DELETE FROM mail", "never deleted"),
    ("UPDATE mail SET subject = 'other'", "never changes"),
    ("UPDATE mail SET sender = 'operator'", "never changes"),
    ("DELETE FROM mail_recipients WHERE number = 2", "never deleted"),
    ("UPDATE mail_recipients SET recipient = 'planner' WHERE number = 2", "a time never changes"),
    ("UPDATE mail_recipients SET acknowledged_at = NULL WHERE number = 1", "a time never changes"),
    ("UPDATE mail_recipients SET read_at = 1 WHERE number = 1", "a time never changes"),
    ("UPDATE mail_recipients SET ack_due_at = NULL WHERE number = 1", "a time never changes"),
    ("UPDATE mail_recipients SET acknowledged_at = 1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE mail_recipients SET delivered_handoff_number = 1 WHERE number = 2", "CHECK constraint failed"),
    ("UPDATE mail_recipients SET delivered_at = 1, delivered_handoff_number = 77 WHERE number = 2", "FOREIGN KEY constraint failed"),
    ("INSERT INTO mail_recipients (mail_number, recipient, is_cc) VALUES (1, 'QA', 1)", "UNIQUE constraint failed"),
    ("INSERT INTO mail_recipients (mail_number, recipient, is_cc) VALUES (77, 'planner', 0)", "FOREIGN KEY constraint failed"),
    ("INSERT INTO mail_recipients (mail_number, recipient, is_cc) VALUES (1, 'a/b', 0)", "CHECK constraint failed"),
    ("INSERT INTO mail_recipients (mail_number, recipient, is_cc, ack_due_at) VALUES (1, 'planner', 1, 5)", "CHECK constraint failed"),
    (
        "INSERT INTO mail (id, type, sender, is_verified, addressed_to, addressed_cc, thread_id, previous_attempts, urgency, sent_at, subject, context, body)
         VALUES ('x', 'letter', 'qa', 0, '[\"qa\"]', '[]', 'x', 0, 'low', 0, 's', '{}', '')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO mail (id, type, sender, is_verified, addressed_to, addressed_cc, thread_id, previous_attempts, urgency, sent_at, subject, context, body)
         VALUES ('x', 'note', 'qa', 0, '[\"qa\"]', '[]', 'x', 0, 'low', 0, 's' || char(0), '{}', '')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO mail (id, type, sender, is_verified, addressed_to, addressed_cc, thread_id, previous_attempts, urgency, sent_at, subject, context, body)
         VALUES ('x', 'note', 'qa', 0, '[]', '[]', 'x', 0, 'low', 0, 's', '{}', '')",
        "CHECK constraint failed",
    ),
];

#[tokio::test]
async fn the_database_refuses_invalid_rows() {
    let app = populated_app().await;
    let connection = connect(&app.data_dir.database());
    for (attack, expected) in ATTACKS {
        let error = connection
            .execute(attack, [])
            .expect_err(attack)
            .to_string();
        assert!(error.contains(expected), "{attack}: {error}");
    }
    app.assert_invariants();
}

#[tokio::test]
async fn the_database_refuses_a_task_id_with_a_path_or_a_line_break() {
    let app = TestApp::new().await;
    let connection = connect(&app.data_dir.database());
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
    insert("a").expect_err("the id exists");
}
