//! Migrations of existing data.

use rusqlite::Connection;

const FIRST: [&str; 2] = [
    include_str!("../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../migrations/sqlite/0002_running.sql"),
];
const TRANSFER: &str = include_str!("../../migrations/sqlite/0003_transfer.sql");
const REQUESTS: &str = include_str!("../../migrations/sqlite/0004_requests.sql");
const ROLES: &str = include_str!("../../migrations/sqlite/0005_roles.sql");
const MAIL: &str = include_str!("../../migrations/sqlite/0006_mail.sql");
const FACTS: &str = include_str!("../../migrations/sqlite/0007_facts_as_columns.sql");
const REPORTS: &str = include_str!("../../migrations/sqlite/0008_reports_without_details.sql");

fn rows(connection: &Connection, query: &str) -> String {
    let mut statement = connection.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|column| match row.get_ref(column).unwrap() {
            rusqlite::types::ValueRef::Null => "-".to_owned(),
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            value => value.as_str().unwrap().to_owned(),
        });
        Ok(values.collect::<Vec<_>>().join(" "))
    });
    rows.unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap()
        .join("\n")
}

#[test]
fn existing_delegated_tasks_get_their_chain() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = on")
        .unwrap();
    for migration in FIRST {
        connection.execute_batch(migration).unwrap();
    }
    // Task 1 was delegated to 2 and 3, task 3 to 4; task 5 is alone. The agent of task 1 worked twice.
    for (number, parent) in [(1, "NULL"), (2, "1"), (3, "1"), (4, "3"), (5, "NULL")] {
        connection
            .execute_batch(&format!(
                "INSERT INTO tasks (number, id, status, created_at, updated_at, source_type, source_user_id, agent_workspace,
                                    description, parent_number)
                 VALUES ({number}, 't{number}', 'active', 0, 0, 'api', 'me', '/', 'd', {parent})"
            ))
            .unwrap();
    }
    for (number, task, position, agent, from, end) in [
        (1, 1, 1, "a", "NULL", "1, 'completed'"),
        (2, 1, 2, "a", "NULL", "NULL, NULL"),
        (3, 2, 1, "b", "'a'", "2, 'failed'"),
        (4, 3, 1, "c", "'a'", "NULL, NULL"),
        (5, 4, 1, "d", "'c'", "NULL, NULL"),
        (6, 5, 1, "e", "NULL", "NULL, NULL"),
    ] {
        connection
            .execute_batch(&format!(
                "INSERT INTO handoffs (number, id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                       outcome, prompt)
                 VALUES ({number}, 'h{number}', {task}, {position}, '{agent}', {from}, 'delegate', 0, {end}, 'p')"
            ))
            .unwrap();
    }
    connection
        .execute_batch(
            "INSERT INTO messages (task_number, handoff_number, occurred_at, type, content)
             VALUES (4, 5, 7, 'assistant_message', 'deep'), (5, NULL, 8, 'error', 'bad')",
        )
        .unwrap();
    connection.execute_batch(TRANSFER).unwrap();
    assert_eq!(
        rows(
            &connection,
            "SELECT number, master_number, context FROM tasks"
        ),
        "1 - {}\n2 1 {}\n3 1 {}\n4 1 {}\n5 - {}"
    );
    assert_eq!(
        rows(
            &connection,
            "SELECT number, from_number, waiter_number, trace_id, is_invoked FROM handoffs"
        ),
        "1 - - - 1\n2 - - - 1\n3 2 2 - 1\n4 2 2 - 1\n5 4 4 - 1\n6 - - - 1"
    );
    assert_eq!(
        rows(
            &connection,
            "SELECT number, chain_number, task_number, handoff_number, occurred_at, is_prompt, data, content FROM messages"
        ),
        "1 1 4 5 7 0 - deep\n2 5 5 - 8 0 - bad"
    );
    assert_eq!(rows(&connection, "PRAGMA foreign_key_check"), "");
    for (forbidden, why) in [
        (
            "UPDATE handoffs SET from_number = 1 WHERE number = 6",
            "only the end",
        ),
        (
            "UPDATE handoffs SET output = 'x' WHERE number = 1",
            "never changes",
        ),
        ("DELETE FROM messages", "append-only"),
    ] {
        let error = connection.execute_batch(forbidden).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_ledger_without_requests_is_unchanged_and_can_have_requests() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = on")
        .unwrap();
    for migration in FIRST.iter().chain([&TRANSFER]) {
        connection.execute_batch(migration).unwrap();
    }
    connection
        .execute_batch(
            "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
             VALUES ('t', 'active', 1, 2, 'api', 'me', '/', 'd');
             INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
             VALUES ('h1', 1, 1, 'a', 'delegate', 1, 2, 'completed', 'p'), ('h2', 1, 2, 'b', 'delegate', 3, NULL, NULL, 'p');
             INSERT INTO runs (id, handoff_number, attempt, state, queued_at) VALUES ('r', 2, 1, 'queued', 3);
             INSERT INTO events (task_number, handoff_number, occurred_at, type, data)
             VALUES (1, NULL, 1, 'task_created', '{}'), (1, 2, 3, 'agent_handoff_started', '{\"agentName\":\"b\"}');
             INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, content)
             VALUES (1, 1, 2, 3, 'assistant_message', 'said')",
        )
        .unwrap();
    let tables = ["tasks", "handoffs", "runs", "messages"];
    let all = |table: &str| rows(&connection, &format!("SELECT * FROM {table}"));
    let events = "SELECT number, task_number, handoff_number, occurred_at, type, data FROM events";
    let before = tables.map(all);
    let history = rows(&connection, events);
    connection.execute_batch(REQUESTS).unwrap();
    assert_eq!(tables.map(all), before);
    assert_eq!(rows(&connection, events), history);
    assert_eq!(
        rows(&connection, "SELECT request_number FROM events"),
        "-\n-"
    );
    assert_eq!(
        rows(&connection, "SELECT routes_planted_at FROM installation"),
        "-"
    );
    assert_eq!(rows(&connection, "PRAGMA foreign_key_check"), "");
    assert_eq!(rows(&connection, "PRAGMA integrity_check"), "ok");
    for empty in ["open_requests", "active_alerts"] {
        assert_eq!(all(empty), "");
    }
    // New rows can refer to old ones, and the old triggers still work.
    connection
        .execute_batch(
            "INSERT INTO requests (id, kind, state, priority, created_at, updated_at, attempts, lease_agent, lease_expires_at,
                                   source_type, source_task_number, task_number, handoff_number, title, body)
             VALUES ('q', 'fix', 'claimed', 1, 3, 3, 1, 'b', 9, 'task', 1, 1, 2, 'title', '');
             INSERT INTO events (task_number, request_number, occurred_at, type, data) VALUES (1, 1, 4, 'x', '{}')",
        )
        .unwrap();
    assert_eq!(
        rows(
            &connection,
            "SELECT id, state, priority, lease_agent, task_id FROM open_requests"
        ),
        "q claimed P1 b t"
    );
    let error = connection
        .execute_batch("UPDATE events SET request_number = NULL")
        .unwrap_err();
    assert!(error.to_string().contains("never changes"), "{error}");
}

#[test]
fn existing_kind_rules_that_somebody_set_count_as_chosen() {
    let connection = Connection::open_in_memory().unwrap();
    for migration in FIRST.iter().chain([&TRANSFER, &REQUESTS, &ROLES, &MAIL]) {
        connection.execute_batch(migration).unwrap();
    }
    connection.execute_batch("SAVEPOINT before").unwrap();
    for (history, expected) in [
        ("(9, 'agent_created', '{}')", "-"),
        (
            "(5, 'dispatch_routes_changed', '{}'), (7, 'dispatch_routes_changed', '{}'), (9, 'agent_created', '{}')",
            "7",
        ),
    ] {
        connection
            .execute_batch(&format!(
                "INSERT INTO events (occurred_at, type, data) VALUES {history}; {FACTS}"
            ))
            .unwrap();
        let chosen = rows(&connection, "SELECT routes_chosen_at FROM installation");
        assert_eq!(chosen, expected);
        connection.execute_batch("ROLLBACK TO before").unwrap();
    }
}

#[test]
fn taken_control_and_waiting_tasks_become_columns() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = on")
        .unwrap();
    for migration in FIRST.iter().chain([&TRANSFER, &REQUESTS, &ROLES, &MAIL]) {
        connection.execute_batch(migration).unwrap();
    }
    connection
        .execute_batch(
            "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description,
                                waiting_reason, is_blocked, is_unsuited)
             VALUES ('t1', 'waiting', 0, 0, 'api', 'me', '/', 'd', 'It failed', 1, 0),
                    ('t2', 'pending', 0, 0, 'api', 'me', '/', 'd', 'No agent is available', 0, 1),
                    ('t3', 'pending', 0, 0, 'api', 'me', '/', 'd', 'No agent is available', 0, 0),
                    ('t4', 'pending', 0, 0, 'api', 'me', '/', 'd', NULL, 0, 0);
             INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, output,
                                   prompt, from_number)
             VALUES ('h1', 1, 1, 'a', 'delegate', 1, 5, 'completed', 'Routed to b', 'p', NULL),
                    ('h2', 1, 2, 'b', 'session', 5, 8, 'completed', 'Routed to c', 'p', 1),
                    ('h3', 1, 3, 'c', 'session', 9, 9, 'completed', 'done', 'p', 2),
                    ('h4', 1, 4, 'd', 'session', 9, NULL, NULL, '', 'p', 3),
                    ('h5', 2, 1, 'e', 'transfer', 9, NULL, NULL, '', 'p', 4)",
        )
        .unwrap();
    connection.execute_batch(FACTS).unwrap();
    // h2 took the conversation at the moment when h1 ended; h3 came later, and h4 took nothing.
    assert_eq!(
        rows(&connection, "SELECT id, takes_control FROM handoffs"),
        "h1 0\nh2 1\nh3 0\nh4 0\nh5 1"
    );
    assert_eq!(
        rows(&connection, "SELECT id, waits_for FROM tasks"),
        "t1 person\nt2 agent\nt3 agent\nt4 -"
    );
    for (forbidden, why) in [
        (
            "UPDATE handoffs SET takes_control = 1 WHERE id = 'h4'",
            "only the end",
        ),
        (
            "UPDATE handoffs SET output = 'x' WHERE id = 'h1'",
            "never changes",
        ),
        (
            "UPDATE tasks SET waits_for = 'luck'",
            "CHECK constraint failed",
        ),
    ] {
        let error = connection.execute_batch(forbidden).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn existing_reports_are_kept() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = on")
        .unwrap();
    let earlier = [&TRANSFER, &REQUESTS, &ROLES, &MAIL, &FACTS];
    for migration in FIRST.iter().chain(earlier) {
        connection.execute_batch(migration).unwrap();
    }
    connection
        .execute_batch(
            "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
             VALUES ('t', 'active', 1, 2, 'api', 'me', '/', 'd');
             INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
             VALUES ('h1', 1, 1, 'a', 'delegate', 1, 2, 'completed', 'p'), ('h2', 1, 2, 'b', 'delegate', 3, NULL, NULL, 'p');
             INSERT INTO reports (handoff_number, result, reported_at, summary, details)
             VALUES (1, 'passed', 2, 's', NULL), (2, 'failed', 3, '', '[1]')",
        )
        .unwrap();
    let all = "SELECT * FROM reports";
    let before = rows(&connection, all);
    connection.execute_batch(REPORTS).unwrap();
    assert_eq!(before, "1 passed 2 s -\n2 failed 3  [1]");
    assert_eq!(rows(&connection, all), before);
    assert_eq!(rows(&connection, "PRAGMA foreign_key_check"), "");
    let error = connection.execute_batch("UPDATE reports SET details = 'no JSON'");
    assert!(error.unwrap_err().to_string().contains("CHECK constraint"));
}

const LEAST_RIGHTS: &str = include_str!("../../migrations/sqlite/0014_least_rights.sql");

#[test]
fn only_default_agents_that_nobody_has_changed_lose_rights() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE agents (name, allowed_tools, permission_mode, provider, created_at, updated_at)",
        )
        .unwrap();
    let all = "Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)";
    let some = "Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)";
    for (name, tools, updated) in [
        ("qa", all, 5),
        ("planner", some, 5),
        // Changed by a person, in one way or the other.
        ("developer", all, 6),
        ("orchestrator", "Read", 5),
        ("mine", all, 5),
    ] {
        connection
            .execute(
                "INSERT INTO agents VALUES ($1, $2, 'bypassPermissions', 'claude-code', 5, $3)",
                rusqlite::params![name, tools, updated],
            )
            .unwrap();
    }
    connection.execute_batch(LEAST_RIGHTS).unwrap();
    let agents = "SELECT name || ': ' || permission_mode, allowed_tools FROM agents";
    assert_eq!(
        rows(&connection, agents),
        format!(
            "qa: default Read Glob Grep Bash\n\
             planner: default Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)\n\
             developer: bypassPermissions {all}\n\
             orchestrator: bypassPermissions Read\n\
             mine: bypassPermissions {all}"
        )
    );
}

/// Returns a database before the migration whose file name ends so, and the text of that migration.
fn before_migration(name: &str) -> (Connection, String) {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = on")
        .unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        if file.to_str().unwrap().ends_with(name) {
            return (connection, text);
        }
        connection.execute_batch(&text).unwrap();
    }
    panic!("there is no migration {name}");
}

#[test]
fn existing_delegated_tasks_end_and_open_ones_are_awaited() {
    let (connection, delegations) = before_migration("_delegations.sql");
    // Task 1 asked on 2 to 5; task 5 was passed on to 6; a person waits for nobody on 7, which a run created and handed off.
    for (number, parent, status) in [
        (1, "NULL", "active"),
        (2, "1", "waiting"),
        (3, "1", "waiting"),
        (4, "1", "active"),
        (5, "1", "completed"),
        (6, "5", "active"),
        (7, "1", "waiting"),
    ] {
        connection
            .execute_batch(&format!(
                "INSERT INTO tasks (number, id, status, created_at, updated_at, source_type, source_user_id, agent_workspace,
                                    description, parent_number, master_number)
                 VALUES ({number}, 't{number}', '{status}', 0, 0, 'api', 'me', '/', 'd', {parent}, iif({parent} IS NULL, NULL, 1));
                 INSERT INTO events (task_number, occurred_at, type, data)
                 SELECT 1, 0, 'child_task_created', json_object('taskId', 't{number}') WHERE {number} BETWEEN 2 AND 5"
            ))
            .unwrap();
    }
    for (number, task, mode, from, waiter, end) in [
        (1, 1, "delegate", "NULL", "NULL", "NULL, NULL, ''"),
        (2, 2, "delegate", "1", "1", "2, 'completed', 'good'"),
        (3, 3, "delegate", "1", "1", "2, 'timed_out', 'bad'"),
        (4, 4, "delegate", "1", "1", "NULL, NULL, ''"),
        (5, 5, "delegate", "1", "1", "2, 'completed', 'Routed to b'"),
        (6, 6, "transfer", "5", "1", "NULL, NULL, ''"),
        (7, 7, "delegate", "1", "1", "2, 'completed', 'own'"),
    ] {
        connection
            .execute_batch(&format!(
                "INSERT INTO handoffs (number, id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                       outcome, output, prompt, from_number, waiter_number, takes_control)
                 VALUES ({number}, 'h{number}', {task}, 1, 'a', 'a', '{mode}', 1, {end}, 'p', {from}, {waiter}, '{mode}' = 'transfer')"
            ))
            .unwrap();
    }
    connection.execute_batch(&delegations).unwrap();
    assert_eq!(
        rows(
            &connection,
            "SELECT id, is_delegated, status, failure_message FROM tasks"
        ),
        "t1 0 active -\nt2 1 completed -\nt3 1 failed bad\nt4 1 active -\nt5 1 completed -\nt6 1 active -\nt7 0 waiting -"
    );
    assert_eq!(
        rows(
            &connection,
            "SELECT handoff_number, caller_number, task_number, is_awaited, delivered_at FROM delegations"
        ),
        "4 1 1 1 -\n5 1 1 1 -"
    );
    assert_eq!(
        rows(
            &connection,
            "SELECT number, asked_number FROM handoffs WHERE asked_number IS NOT NULL"
        ),
        "6 5"
    );
    assert_eq!(
        rows(
            &connection,
            "SELECT task_number, data ->> 'from', data ->> 'to' FROM events WHERE type = 'status_changed'"
        ),
        "2 waiting completed\n3 waiting failed"
    );
    assert_eq!(
        rows(
            &connection,
            "SELECT handoff_id, waiting_handoff_id FROM waits"
        ),
        "h4 h1\nh6 h1"
    );
    assert_eq!(rows(&connection, "PRAGMA foreign_key_check"), "");
    let error = connection
        .execute_batch("UPDATE handoffs SET asked_number = 1 WHERE number = 4")
        .unwrap_err();
    assert!(error.to_string().contains("only the end"), "{error}");
}

#[test]
fn existing_transitions_are_kept_and_approvals_can_be_taken_back() {
    let (connection, withdrawals) = before_migration("_withdrawn_approvals.sql");
    connection
        .execute_batch(
            "INSERT INTO requests (number, id, kind, state, priority, created_at, updated_at, source_type, title, body)
             VALUES (1, 'r1', 'fix', 'delegated', 2, 0, 0, 'person', 't', '');
             INSERT INTO request_transitions (number, request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason)
             VALUES (3, 1, NULL, 'needs', 'me', 5, 0, NULL), (8, 1, 'needs', 'delegated', 'file', 6, 1, 'a.md:1 says so')",
        )
        .unwrap();
    let all = "SELECT number, request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason
                 FROM request_transitions";
    let back =
        "INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at)
                VALUES (1, 'delegated', 'needs', 'operator', 7)";
    assert!(connection.execute_batch(back).is_err());
    let before = rows(&connection, all);
    connection.execute_batch(&withdrawals).unwrap();
    assert_eq!(rows(&connection, all), before);
    connection.execute_batch(back).unwrap();
    assert!(
        connection
            .execute_batch("DELETE FROM request_transitions")
            .is_err()
    );
    let change = "UPDATE request_transitions SET reason = 'other'";
    assert!(connection.execute_batch(change).is_err());
    assert_eq!(rows(&connection, "PRAGMA foreign_key_check"), "");
}

#[test]
fn existing_routed_handoffs_get_the_agent_before_them_where_it_is_known() {
    let (connection, figures) = before_migration("_figures.sql");
    for number in 1..=6 {
        connection
            .execute_batch(&format!(
                "INSERT INTO tasks (number, id, status, created_at, updated_at, source_type, source_user_id, agent_workspace,
                                    description)
                 VALUES ({number}, 't{number}', 'active', 0, 0, 'api', 'me', '/', 'd')"
            ))
            .unwrap();
    }
    // Tasks 3 and 6 depend on 1 and 2; task 4 depends on 5, whose hand-off ended only later; task 5 depends on nothing.
    for (task, position, on) in [(3, 1, 1), (3, 2, 2), (6, 1, 2), (6, 2, 1), (4, 1, 5)] {
        connection
            .execute_batch(&format!(
                "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome) VALUES ({task}, {position}, {on}, 'any')"
            ))
            .unwrap();
    }
    for (number, task, agent, mode, times) in [
        (1, 1, "early", "route", "0, 1, 'completed'"),
        (2, 2, "late", "delegate", "0, 2, 'failed'"),
        (3, 3, "open", "route", "3, NULL, NULL"),
        (4, 5, "after", "route", "4, 9, 'completed'"),
        (5, 4, "replaced", "route", "5, 6, 'completed'"),
        (6, 6, "asked", "delegate", "7, 8, 'completed'"),
    ] {
        connection
            .execute_batch(&format!(
                "INSERT INTO handoffs (number, id, task_number, position, agent_name, mode, started_at, completed_at, outcome, prompt)
                 VALUES ({number}, 'h{number}', {task}, 1, '{agent}', '{mode}', {times}, 'p')"
            ))
            .unwrap();
    }
    connection.execute_batch(&figures).unwrap();
    assert_eq!(
        rows(&connection, "SELECT number, from_agent FROM handoffs"),
        "1 -\n2 -\n3 late\n4 -\n5 -\n6 -"
    );
    for (forbidden, why) in [
        (
            "UPDATE handoffs SET from_agent = 'x' WHERE number = 3",
            "only the end",
        ),
        (
            "UPDATE handoffs SET output = 'x' WHERE number = 1",
            "never changes",
        ),
    ] {
        let error = connection.execute_batch(forbidden).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
