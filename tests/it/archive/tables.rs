//! Export and import carry every column of every table, except those that are listed here with a reason.

use std::collections::BTreeMap;

use chorus::config::DataDir;
use chorus::engine::archive::{ExportOptions, ImportOptions};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::{assert_same_files, export, import};
use crate::support::TestApp;

const FILLED: &str = include_str!("filled.sql");

/// Tables that an archive leaves out.
const OTHER_TABLES: &[(&str, &str)] = &[
    (
        "_sqlx_migrations",
        "the migrations of the program that made the database",
    ),
    (
        "idempotency_keys",
        "answers to clients of this server, which expire after a day",
    ),
    ("mail_search", "an index, which a trigger fills"),
    ("mail_search_config", "a part of that index"),
    ("mail_search_data", "a part of that index"),
    ("mail_search_docsize", "a part of that index"),
    ("mail_search_idx", "a part of that index"),
];

/// Columns that an archive leaves out.
const OTHER_COLUMNS: &[(&str, &str, &str)] = &[
    (
        "runs",
        "token_hash",
        "a secret of a process, which stays where it is",
    ),
    (
        "runs",
        "claimed_in",
        "the data directory whose server started the process",
    ),
    (
        "attachments",
        "id",
        "the folder of the bytes, which the import writes",
    ),
    (
        "attachments",
        "stored_task_number",
        "an archive has the bytes in the folder of each task",
    ),
    (
        "attachments",
        "stored_id",
        "an archive has the bytes in the folder of each task",
    ),
    (
        "installation",
        "ready_at",
        "the last readiness check of this server",
    ),
    ("installation", "clock_boot_id", "the clock of this machine"),
    ("installation", "clock_offset", "the clock of this machine"),
    ("installation", "data_dir", "the place of this installation"),
];

/// A table: its rows, each as a column with its value, in a canonical order.
type Rows = Vec<BTreeMap<String, Value>>;

struct Column {
    name: String,
    default: Option<String>,
    /// The table to whose `number` it refers.
    target: Option<String>,
}

fn open(data_dir: &DataDir) -> Connection {
    Connection::open(data_dir.database()).unwrap()
}

fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0));
    let names = names.unwrap().map(Result::unwrap);
    let is_other = |name: &String| OTHER_TABLES.iter().any(|(other, _)| other == name);
    names.filter(|name| !is_other(name)).collect()
}

fn columns(connection: &Connection, table: &str) -> Vec<Column> {
    let sql = "SELECT c.name, c.dflt_value, (SELECT f.\"table\" FROM pragma_foreign_key_list($1) f
                                              WHERE f.\"from\" = c.name AND f.\"to\" = 'number')
                 FROM pragma_table_info($1) c";
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.query_map([table], |row| {
        Ok(Column {
            name: row.get(0)?,
            default: row.get(1)?,
            target: row.get(2)?,
        })
    });
    columns.unwrap().map(Result::unwrap).collect()
}

/// Reads a table. References are replaced by what they refer to; numbers of rows that have an id are left out.
fn rows(connection: &Connection, table: &str, data_dir: &DataDir) -> Rows {
    let columns = columns(connection, table);
    let has_id = columns.iter().any(|column| column.name == "id");
    let is_read = |column: &&Column| {
        let is_other = |(of, name, _): &&(&str, &str, &str)| *of == table && *name == column.name;
        let is_counted = column.name == "number" && table != "events" && table != "messages";
        !is_counted && !OTHER_COLUMNS.iter().any(|other| is_other(&other))
    };
    let read: Vec<_> = columns.iter().filter(is_read).collect();
    let expressions = read.iter().map(|column| match &column.target {
        Some(target) => format!(
            "(SELECT o.id FROM {target} o WHERE o.number = t.{})",
            column.name
        ),
        None => format!("t.{}", column.name),
    });
    let order = if has_id { "t.id" } else { "1, t.rowid" };
    let order = match table {
        "session_handoffs" | "task_dependencies" | "task_tags" => "1, 2",
        _ => order,
    };
    let sql = format!(
        "SELECT {} FROM {table} t ORDER BY {order}",
        expressions.collect::<Vec<_>>().join(", ")
    );
    let mut statement = connection
        .prepare(&sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    let own = format!("{}/", data_dir.workspaces().display());
    let rows = statement.query_map([], |row| {
        let mut values = BTreeMap::new();
        for (place, column) in read.iter().enumerate() {
            let value = match row.get(place)? {
                Value::Text(text) if column.name == "agent_workspace" => {
                    Value::Text(text.replace(&own, "own/"))
                }
                value => value,
            };
            values.insert(column.name.clone(), value);
        }
        Ok(values)
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Fails unless every column has a value that is neither missing nor its default.
fn assert_filled(connection: &Connection) {
    let mut unfilled = Vec::new();
    for table in tables(connection) {
        for column in columns(connection, &table) {
            let name = &column.name;
            let default = column.default.unwrap_or_else(|| "NULL".to_owned());
            let sql = format!(
                "SELECT count(*) FROM {table} WHERE {name} IS NOT NULL AND {name} IS NOT {default} AND {name} <> ''"
            );
            let filled: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            if filled == 0 {
                unfilled.push(format!("{table}.{name}"));
            }
        }
    }
    assert!(
        unfilled.is_empty(),
        "fill these columns in filled.sql, and let the archive have them or list them as left out: {unfilled:?}"
    );
}

pub async fn filled() -> TestApp {
    let app = TestApp::unseeded().await;
    let workspaces = app.data_dir.workspaces().display().to_string();
    let connection = open(&app.data_dir);
    connection
        .execute_batch(&FILLED.replace("WORKSPACES", &workspaces))
        .unwrap();
    assert_filled(&connection);
    app
}

fn assert_same_tables(left: &TestApp, right: &TestApp) {
    let (before, after) = (open(&left.data_dir), open(&right.data_dir));
    let names = tables(&before);
    assert!(names.len() > 20, "{names:?}");
    for table in names {
        let (expected, found) = (
            rows(&before, &table, &left.data_dir),
            rows(&after, &table, &right.data_dir),
        );
        assert!(!expected.is_empty(), "{table} has no rows");
        assert_eq!(found, expected, "{table}");
    }
}

#[tokio::test]
async fn every_column_of_every_table_is_exported_and_imported() {
    let app = filled().await;
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let with_values = || ExportOptions {
        with_environment: ["LANG".to_owned()].into(),
    };
    app.engine
        .export(&first, with_values(), |_| {})
        .await
        .unwrap();
    let other = TestApp::unseeded().await;
    let report = import(&other, &first, false).await.unwrap();
    assert_eq!((report.left_out, report.displaced), (vec![], vec![]));
    assert_same_tables(&app, &other);
    other
        .engine
        .export(&second, with_values(), |_| {})
        .await
        .unwrap();
    assert_same_files(&first, &second);
    for path in [
        "/api/tasks/task-1/usage",
        "/api/agents/worker/usage",
        "/api/tasks/task-2/handoffs",
        "/api/analytics/handoffs",
        "/api/handoffs/h-2",
    ] {
        let (before, after) = (app.get(path).await.data(), other.get(path).await.data());
        assert_eq!(before, after, "{path}");
    }
    let usage = other.get("/api/tasks/task-2/usage").await.data();
    assert_eq!(usage["costUsd"], 0.300_000_000_000_000_04);
    assert_eq!((&usage["runs"], &usage["turns"]), (&2.into(), &3.into()));
}

#[tokio::test]
async fn a_second_import_of_the_same_archive_changes_nothing() {
    let app = filled().await;
    let (_folder, archive) = export(&app).await;
    let all = || {
        ["events", "runs", "messages"].map(|table| rows(&open(&app.data_dir), table, &app.data_dir))
    };
    let before = all();
    assert!(import(&app, &archive, false).await.is_err());
    let skip = ImportOptions { skip_bad: true };
    let report = app.engine.import(&archive, skip, |_| {}).await.unwrap();
    assert_eq!((report.imported.tasks, report.imported.agents), (0, 0));
    assert!(all() == before);
}
