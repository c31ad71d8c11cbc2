//! The store's own rules: what the database refuses, whoever asks, and what it never mixes up.

use std::path::Path;

use chorus::clock::Clock;
use chorus::domain::{
    Agent, Idempotency, IdempotencyKey, NewTask, Source, Task, TaskArchive, TaskId,
};
use chorus::engine::default_agents;
use chorus::store::{SqliteOptions, SqliteStore, Store, StoreError, TaskQuery};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{BEGINNING, TestApp, invariants};

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
        "INSERT INTO agents SELECT 'DEVELOPER', spec_path, allowed_tools, permission_mode, provider, 0, 0 FROM agents LIMIT 1",
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

async fn open(app: &TestApp) -> SqliteStore {
    let options = SqliteOptions {
        path: app.data_dir.database(),
        clock: app.clock.clone(),
        max_batch: 64,
    };
    SqliteStore::open(options).await.unwrap()
}

async fn names(store: &SqliteStore) -> Vec<String> {
    let agents = store.agents().await.unwrap();
    agents.iter().map(|agent| agent.name.to_string()).collect()
}

#[tokio::test]
async fn agents_that_were_deleted_stay_deleted() {
    let app = TestApp::new().await;
    app.engine.close().await;
    let mut left = ["developer", "developer-review", "orchestrator", "planner"].as_slice();
    for delete in ["DELETE FROM agents WHERE name = 'qa'", "DELETE FROM agents"] {
        operator(&app.data_dir.database())
            .execute(delete, [])
            .unwrap();
        let store = open(&app).await;
        assert_eq!(store.seed_agents(default_agents()).await.unwrap(), 0);
        assert_eq!(names(&store).await, left);
        store.close().await;
        left = &[];
    }
}

#[tokio::test]
async fn agents_that_are_there_already_are_not_mixed_with_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions {
        path: folder.path().join("chorus.db"),
        clock: Clock::standing_at(BEGINNING),
        max_batch: 1,
    };
    let store = SqliteStore::open(options).await.unwrap();
    let mine = Agent {
        name: "mine".parse().unwrap(),
        ..default_agents().remove(0)
    };
    store
        .import(vec![mine], Box::new(std::iter::empty()))
        .await
        .unwrap();
    assert_eq!(store.seed_agents(default_agents()).await.unwrap(), 0);
    assert_eq!(names(&store).await, ["mine"]);
}

fn new_task(description: &str) -> NewTask {
    NewTask {
        id: TaskId::new(),
        description: description.parse().unwrap(),
        source: Source::default(),
        agent_workspace: "/".parse().unwrap(),
    }
}

async fn count(store: &dyn Store) -> usize {
    let all = TaskQuery {
        status: None,
        after: None,
        limit: 1000,
    };
    store.tasks(&all).await.unwrap().items.len()
}

#[tokio::test]
async fn a_snapshot_sees_one_moment_while_writers_and_readers_go_on() {
    let app = TestApp::new().await;
    app.store
        .create_task(new_task("before"), None)
        .await
        .unwrap();
    let mut snapshot = app.store.snapshot().await.unwrap();
    for _ in 0..10 {
        app.store
            .create_task(new_task("after"), None)
            .await
            .unwrap();
    }
    assert_eq!(snapshot.count_tasks().await.unwrap(), 1);
    assert_eq!(snapshot.next_tasks().await.unwrap().len(), 1);
    assert_eq!(count(&*app.store).await, 11);
}

#[tokio::test]
async fn a_writer_in_the_middle_of_a_transaction_does_not_hold_up_readers() {
    let app = TestApp::new().await;
    let (entered, is_entered) = tokio::sync::oneshot::channel();
    let (release, is_released) = std::sync::mpsc::channel::<()>();
    // The import is read inside its transaction, so it holds the writer for as long as we like.
    let mut entered = Some(entered);
    let source = std::iter::from_fn(move || {
        let task = Task::new(new_task("imported"), BEGINNING);
        entered.take()?.send(()).unwrap();
        let _ = is_released.recv();
        Some(Ok(archive(task)))
    });
    let store = app.store.clone();
    let import = tokio::spawn(async move { store.import(vec![], Box::new(source)).await });
    is_entered.await.unwrap();
    assert_eq!(count(&*app.store).await, 0);
    assert_eq!(app.store.agents().await.unwrap().len(), 5);
    release.send(()).unwrap();
    assert_eq!(import.await.unwrap().unwrap().tasks, 1);
    assert_eq!(count(&*app.store).await, 1);
}

fn archive(task: Task) -> TaskArchive {
    TaskArchive {
        task,
        history: chorus::domain::History::default(),
        queue: chorus::domain::Queue::default(),
        attachment_ids: vec![],
    }
}

#[tokio::test]
async fn an_import_that_fails_in_the_middle_leaves_nothing() {
    let app = TestApp::new().await;
    let task = Task::new(new_task("good"), BEGINNING);
    let other = Agent {
        name: "other".parse().unwrap(),
        ..default_agents().remove(0)
    };
    let good = || Ok(archive(Task::new(new_task("good"), BEGINNING)));
    let sources: [Vec<Result<TaskArchive, Box<dyn std::error::Error + Send + Sync>>>; 2] = [
        vec![good(), good(), Err("the disk is gone".into()), good()],
        // The same id twice is refused by the database itself.
        vec![good(), Ok(archive(task.clone())), Ok(archive(task))],
    ];
    for source in sources {
        let agents = vec![other.clone()];
        let error = app
            .store
            .import(agents, Box::new(source.into_iter()))
            .await
            .unwrap_err();
        assert!(
            matches!(error, StoreError::Source(_) | StoreError::Driver(_)),
            "{error:?}"
        );
        assert_eq!(count(&*app.store).await, 0);
        assert_eq!(app.store.agent(&other.name).await.unwrap(), None);
        assert_eq!(app.store.last_event_number().await.unwrap(), 0);
    }
    // The writer is none the worse for it.
    app.store
        .create_task(new_task("later"), None)
        .await
        .unwrap();
    assert_eq!(invariants::violations(&app.data_dir.database()), [""; 0]);
}

#[tokio::test]
async fn keys_are_forgotten_when_they_are_old_and_not_before() {
    const MINUTE: i64 = 60_000;
    let app = TestApp::new().await;
    let once = |number: u8| {
        Some(Idempotency {
            key: IdempotencyKey::parse(&format!("key-{number}")).unwrap(),
            fingerprint: [number; 32],
        })
    };
    let mut tasks = Vec::new();
    for number in 0..4 {
        tasks.push(
            app.store
                .create_task(new_task("keyed"), once(number))
                .await
                .unwrap(),
        );
        app.clock.advance(MINUTE);
    }
    // They are 4, 3, 2 and 1 minutes old. One that is exactly as old as allowed stays.
    assert_eq!(
        app.store.forget_keys_older_than(4 * MINUTE).await.unwrap(),
        0
    );
    assert_eq!(
        app.store.forget_keys_older_than(2 * MINUTE).await.unwrap(),
        2
    );
    assert_eq!(
        app.store.forget_keys_older_than(2 * MINUTE).await.unwrap(),
        0
    );
    for number in [2, 3] {
        let again = app
            .store
            .create_task(new_task("keyed"), once(number))
            .await
            .unwrap();
        assert_eq!(again, tasks[usize::from(number)]);
    }
    let anew = app
        .store
        .create_task(new_task("keyed"), once(0))
        .await
        .unwrap();
    assert!(!tasks.contains(&anew));
    app.clock.advance(1);
    assert_eq!(app.store.forget_keys_older_than(0).await.unwrap(), 3);
}
