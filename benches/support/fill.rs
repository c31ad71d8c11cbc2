//! Inserts rows directly into databases, faster than through the server.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, params};
use uuid::Uuid;

/// The number of tasks in each of the samples of a [`Ledger`].
const SPREAD: usize = 100;

/// The length of a long chain.
const CHAIN: i64 = 10;

pub const WORKSPACE: &str = "/var/lib/chorus/workspaces/task";
pub const DESCRIPTION: &str =
    "The nightly build fails in the parser's tests since Tuesday. Find out why, and fix it.";

const INSERT_TASK: &str = "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
     VALUES ($1, $2, $3, $3, 'api', 'anonymous', $4, $5)";
const INSERT_HANDOFF: &str = "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, output, prompt)
     VALUES ($1, $2, $3, 'developer', 'delegate', $4, $4, 'completed', $5, $5)";
const INSERT_RUN: &str =
    "INSERT INTO runs (id, handoff_number, attempt, state, outcome, queued_at, ended_at)
     VALUES ($1, $2, 1, 'ended', 'completed', $3, $3)";
const INSERT_PROMPT: &str = "INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, is_prompt, content)
     VALUES ($1, $1, $2, $3, 'user_message', 1, '')";
const INSERT_EVENT: &str =
    "INSERT INTO events (task_number, handoff_number, occurred_at, type, data)
     VALUES ($1, $2, $3, $4, $5)";

/// Samples of the tasks in a ledger.
pub struct Ledger {
    /// Tasks with a chain of ten, spread over the ledger.
    pub with_chain: Vec<String>,
    /// Tasks with one hand-off, spread over the ledger.
    pub with_one: Vec<String>,
    /// The task in the middle of the ledger.
    pub middle: String,
}

/// Opens a database that a server may be using.
pub fn open(database: &Path) -> Connection {
    let connection = Connection::open(database).expect("chorus has created it");
    connection
        .busy_timeout(Duration::from_secs(30))
        .expect("it is a number");
    connection
}

pub fn now() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed();
    i64::try_from(since.expect("the clock is past 1970").as_millis())
        .expect("it fits for millions of years")
}

pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// Adds pending tasks.
pub fn add_tasks(connection: &Connection, count: usize) -> Vec<String> {
    in_transaction(connection, || {
        (0..count)
            .map(|_| add_task(connection, "pending").0)
            .collect()
    })
}

/// Adds tasks with a chain of `length` completed hand-offs each.
pub fn add_chains(connection: &Connection, count: usize, length: i64) -> Vec<String> {
    let status = if length == 0 { "pending" } else { "waiting" };
    let add = |_| {
        let (id, number) = add_task(connection, status);
        for position in 1..=length {
            add_handoff(connection, number, position);
        }
        id
    };
    in_transaction(connection, || (0..count).map(add).collect())
}

/// Fills an empty database with tasks that have chains.
pub fn add_ledger(database: &Path, tasks: usize) -> Ledger {
    let mut ledger = Ledger {
        with_chain: Vec::new(),
        with_one: Vec::new(),
        middle: String::new(),
    };
    at_once(database, |connection| {
        for nth in 0..tasks {
            let (id, task_number) = add_task(connection, "waiting");
            let place = nth % (tasks / SPREAD);
            let chain = if place == 0 { CHAIN } else { 1 };
            for position in 1..=chain {
                add_handoff(connection, task_number, position);
            }
            if nth == tasks / 2 {
                ledger.middle.clone_from(&id);
            }
            match place {
                0 => ledger.with_chain.push(id),
                1 => ledger.with_one.push(id),
                _ => {}
            }
        }
    });
    ledger
}

/// Fills a database that no server is using, without a journal.
pub fn at_once(database: &Path, fill: impl FnOnce(&Connection)) {
    let connection = open(database);
    let set = |pragma, value| {
        connection
            .pragma_update(None, pragma, value)
            .expect("it is a pragma");
    };
    // Nothing of value is lost on failure. The server sets its own pragmas again.
    set("journal_mode", "off");
    set("synchronous", "off");
    set("foreign_keys", "off");
    set("cache_size", "-262144");
    in_transaction(&connection, || fill(&connection));
    set("journal_mode", "wal");
}

pub fn in_transaction<T>(connection: &Connection, run: impl FnOnce() -> T) -> T {
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free within the busy timeout");
    let done = run();
    connection
        .execute_batch("COMMIT")
        .expect("the disk has room");
    done
}

pub fn add_task(connection: &Connection, status: &str) -> (String, i64) {
    let id = new_id();
    let at = now();
    let number = insert(
        connection,
        INSERT_TASK,
        params![id, status, at, WORKSPACE, DESCRIPTION],
    );
    let data = format!(r#"{{"description":"{DESCRIPTION}"}}"#);
    insert(
        connection,
        INSERT_EVENT,
        params![number, None::<i64>, at, "task_created", data],
    );
    (id, number)
}

fn add_handoff(connection: &Connection, task_number: i64, position: i64) {
    let at = now();
    let number = insert(
        connection,
        INSERT_HANDOFF,
        params![new_id(), task_number, position, at, DESCRIPTION],
    );
    insert(connection, INSERT_RUN, params![new_id(), number, at]);
    insert(connection, INSERT_PROMPT, params![task_number, number, at]);
    for (event_type, data) in [
        ("agent_handoff_started", r#"{"agentName":"developer"}"#),
        (
            "agent_handoff_completed",
            r#"{"agentName":"developer","outputLength":"86"}"#,
        ),
    ] {
        insert(
            connection,
            INSERT_EVENT,
            params![task_number, number, at, event_type, data],
        );
    }
}

pub fn insert(connection: &Connection, sql: &str, arguments: impl rusqlite::Params) -> i64 {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.insert(arguments))
        .expect("the row fits the schema")
}
