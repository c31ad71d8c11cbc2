//! What a migration makes of data that was there before.

use rusqlite::Connection;

const FIRST: [&str; 2] = [
    include_str!("../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../migrations/sqlite/0002_running.sql"),
];
const TRANSFER: &str = include_str!("../../migrations/sqlite/0003_transfer.sql");

fn row(connection: &Connection, query: &str) -> String {
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
fn tasks_that_were_handed_on_before_know_their_chain() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = on")
        .unwrap();
    for migration in FIRST {
        connection.execute_batch(migration).unwrap();
    }
    // Task 1 was handed on to 2 and 3, task 3 to 4; task 5 is alone. The agent of task 1 worked twice.
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
        row(
            &connection,
            "SELECT number, master_number, context FROM tasks"
        ),
        "1 - {}\n2 1 {}\n3 1 {}\n4 1 {}\n5 - {}"
    );
    assert_eq!(
        row(
            &connection,
            "SELECT number, from_number, waiter_number, trace_id, is_invoked FROM handoffs"
        ),
        "1 - - - 1\n2 - - - 1\n3 2 2 - 1\n4 2 2 - 1\n5 4 4 - 1\n6 - - - 1"
    );
    assert_eq!(
        row(
            &connection,
            "SELECT number, chain_number, task_number, handoff_number, occurred_at, is_prompt, data, content FROM messages"
        ),
        "1 1 4 5 7 0 - deep\n2 5 5 - 8 0 - bad"
    );
    assert_eq!(row(&connection, "PRAGMA foreign_key_check"), "");
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
