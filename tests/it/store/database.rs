//! Guarantees of the database beyond single operations: seeding, snapshots, imports, and expiry of idempotency keys.

use chorus::clock::Clock;
use chorus::domain::{
    Agent, AgentName, Caller, Context, Idempotency, IdempotencyKey, Needs, NewTask, Problems,
    Refusal, Source, Task, TaskArchive, TaskId,
};
use chorus::domain::{Rules, TaskPlan, TaskQuery};
use chorus::engine::{default_agents, specialists};
use chorus::ledger::agent::{self, AgentPut, PutAgent};
use chorus::ledger::archive::{self, Import, Imported};
use chorus::ledger::handoff::{self, Delegate};
use chorus::ledger::run::{self, ClaimRun};
use chorus::ledger::{self, Tx, idempotency, task};
use chorus::store::{Database, DatabaseOptions, DatabaseUrl, StoreError};

use crate::support::{START_TIME, TestApp, invariants};

async fn open(app: &TestApp) -> Database {
    let options = DatabaseOptions {
        url: DatabaseUrl::file(app.data_dir.database()),
        clock: app.clock.clone(),
        max_batch: 64,
        rules: Rules::default(),
    };
    Database::open(options).await.unwrap()
}

async fn agent_names(store: &Database) -> Vec<String> {
    let agents = store.read(agent::list).await.unwrap();
    agents.iter().map(|agent| agent.name.to_string()).collect()
}

async fn seed(store: &Database) -> usize {
    let seeded = store.write(|tx| agent::seed(tx, &default_agents())).await;
    seeded.unwrap()
}

async fn seed_specialists(store: &Database) -> usize {
    let seeded = store
        .write(|tx| agent::seed_specialists(tx, &specialists()))
        .await;
    seeded.unwrap()
}

async fn put(store: &Database, agent: &Agent, only_new: bool) -> AgentPut {
    let put = PutAgent {
        agent: agent.clone(),
        only_new,
        problems: Problems::default(),
    };
    let put = store.write(move |tx| agent::put(tx, &put)).await;
    put.unwrap()
}

async fn find_agent(store: &Database, name: &AgentName) -> Option<Agent> {
    let name = name.clone();
    let found = store.read(move |view| agent::find(view, &name)).await;
    found.unwrap()
}

async fn import(store: &Database, import: Import) -> Result<Imported, StoreError> {
    store
        .write_alone(move |tx| archive::import(tx, import))
        .await
}

async fn delete_keys_older_than(store: &Database, millis: i64) -> usize {
    let delete = move |tx: &mut Tx<'_>| idempotency::delete_older_than(tx, millis);
    store.write(delete).await.unwrap()
}

#[tokio::test]
async fn deleted_agents_stay_deleted() {
    let app = TestApp::new().await;
    app.engine.close().await;
    let mut left = ["developer", "developer-review", "orchestrator", "planner"].as_slice();
    for delete in ["DELETE FROM agents WHERE name = 'qa'", "DELETE FROM agents"] {
        invariants::open(&app.data_dir.database())
            .execute(delete, [])
            .unwrap();
        let store = open(&app).await;
        assert_eq!(seed(&store).await, 0);
        assert_eq!(agent_names(&store).await, left);
        store.close().await;
        left = &[];
    }
}

#[tokio::test]
async fn default_agents_are_not_added_to_existing_agents() {
    let folder = tempfile::tempdir().unwrap();
    let options = DatabaseOptions {
        url: DatabaseUrl::file(folder.path().join("chorus.db")),
        clock: Clock::standing_at(START_TIME),
        max_batch: 1,
        rules: Rules::default(),
    };
    let store = Database::open(options).await.unwrap();
    let mine = Agent {
        name: "mine".parse().unwrap(),
        ..default_agents().remove(0)
    };
    let mine = Import {
        agents: vec![mine],
        ..Import::default()
    };
    import(&store, mine).await.unwrap();
    assert_eq!(seed(&store).await, 0);
    assert_eq!(agent_names(&store).await, ["mine"]);
}

#[tokio::test]
async fn specialists_are_added_once_to_the_existing_agents() {
    let app = TestApp::new().await;
    let mine = Agent {
        name: "Testing_Specialist".parse().unwrap(),
        ..default_agents().remove(0)
    };
    put(&app.db, &mine, true).await;
    assert_eq!(
        seed_specialists(&app.db).await,
        3,
        "an agent with one of the names exists"
    );
    app.engine.close().await;
    let store = open(&app).await;
    let seeded = [
        "developer",
        "developer-review",
        "fixing-specialist",
        "implementation-specialist",
        "orchestrator",
        "planner",
        "qa",
        "Testing_Specialist",
        "verification-specialist",
    ];
    assert_eq!(agent_names(&store).await, seeded);
    let deleted: AgentName = "fixing-specialist".parse().unwrap();
    let deleted = store.write(move |tx| agent::delete(tx, &deleted)).await;
    deleted.unwrap();
    assert_eq!(seed_specialists(&store).await, 0);
    assert_eq!(agent_names(&store).await.len(), seeded.len() - 1);
}

#[tokio::test]
async fn an_import_of_agents_into_an_empty_ledger_suppresses_the_specialists() {
    let with_agents = || Import {
        has_agents: true,
        ..Import::default()
    };
    let app = TestApp::unseeded().await;
    import(&app.db, with_agents()).await.unwrap();
    assert_eq!(seed_specialists(&app.db).await, 0);
    // An import without agents does not suppress the specialists, and none into a ledger in use does.
    let app = TestApp::unseeded().await;
    import(&app.db, Import::default()).await.unwrap();
    assert_eq!(seed_specialists(&app.db).await, 4);
    let app = TestApp::new().await;
    import(&app.db, with_agents()).await.unwrap();
    assert_eq!(seed_specialists(&app.db).await, 4);
}

#[tokio::test]
async fn an_agent_with_every_field_is_stored_unchanged() {
    let app = TestApp::unseeded().await;
    let agent: Agent = serde_json::from_value(serde_json::json!({
        "name": "Mine", "specPath": "agents/qa.md", "allowedTools": "Bash(a 'b' \"c\")", "permissionMode": "plan",
        "provider": "command", "model": "m\n", "program": "/bin/sh", "arguments": ["-c", ""], "environment": { "A": "", "B": "=" },
        "outputForm": "json:x", "maxSeconds": 31_536_000, "idleSeconds": 1, "available": false, "roles": ["a", "b"],
        "skills": ["ü"], "maxSessionDuration": 525_600, "responsibilities": "'); DROP TABLE agents; --",
    }))
    .unwrap();
    let made = put(&app.db, &agent, false).await;
    assert_eq!((&made.agent, made.is_new), (&agent, true));
    assert_eq!(find_agent(&app.db, &agent.name).await.unwrap(), agent);
    app.clock.advance(1000);
    let update_delay = || {
        let connection = invariants::open(&app.data_dir.database());
        let times = connection.query_row("SELECT updated_at - created_at FROM agents", [], |row| {
            row.get::<_, i64>(0)
        });
        times.unwrap()
    };
    assert!(!put(&app.db, &agent, false).await.is_new);
    assert_eq!(update_delay(), 0, "nothing changed");
    let changed = Agent {
        available: true,
        ..agent
    };
    put(&app.db, &changed, false).await;
    assert_eq!(update_delay(), 1000);
    assert_eq!(find_agent(&app.db, &changed.name).await.unwrap(), changed);
}

fn new_task(description: &str) -> NewTask {
    NewTask {
        plan: TaskPlan::default(),
        parent_id: None,
        session_id: None,
        context: Context::default(),
        needs: Needs::default(),
        part: None,
        id: TaskId::new(),
        description: description.parse().unwrap(),
        source: Source::default(),
        agent_workspace: "/".parse().unwrap(),
    }
}

async fn create(store: &Database, new: NewTask, once: Option<Idempotency>) -> Task {
    let created = store.write(move |tx| {
        idempotency::once(tx, once.as_ref(), |tx| Ok(task::create(tx, &new)?.task))
    });
    created.await.unwrap()
}

async fn count_tasks(store: &Database) -> usize {
    let all = TaskQuery {
        newest: false,
        delegated: true,
        status: None,
        agent_role: None,
        tags: Vec::new(),
        after: None,
        limit: 1000,
    };
    let page = store.read(move |view| task::list(view, &all));
    page.await.unwrap().items.len()
}

#[tokio::test]
async fn a_snapshot_does_not_see_later_writes() {
    let app = TestApp::new().await;
    create(&app.db, new_task("before"), None).await;
    let snapshot = app.db.snapshot().await.unwrap();
    for _ in 0..10 {
        create(&app.db, new_task("after"), None).await;
    }
    assert_eq!(snapshot.read(archive::count_tasks).await.unwrap(), 1);
    let tasks = snapshot.read(|view| archive::tasks(view, 0)).await;
    assert_eq!(tasks.unwrap().len(), 1);
    assert_eq!(count_tasks(&app.db).await, 11);
}

#[tokio::test]
async fn an_open_write_transaction_does_not_block_readers() {
    let app = TestApp::new().await;
    let (entered, is_entered) = tokio::sync::oneshot::channel();
    let (release, is_released) = std::sync::mpsc::channel::<()>();
    // The import reads its source inside its transaction, so the source decides how long the writer is held.
    let mut entered = Some(entered);
    let source = std::iter::from_fn(move || {
        let task = Task::new(new_task("imported"), START_TIME);
        entered.take()?.send(()).unwrap();
        let _ = is_released.recv();
        Some(Ok(archived(task)))
    });
    let store = app.db.clone();
    let source = Import {
        tasks: Box::new(source),
        ..Import::default()
    };
    let importing = tokio::spawn(async move { import(&store, source).await });
    is_entered.await.unwrap();
    assert_eq!(count_tasks(&app.db).await, 0);
    assert_eq!(agent_names(&app.db).await.len(), 5);
    release.send(()).unwrap();
    assert_eq!(importing.await.unwrap().unwrap().tasks, 1);
    assert_eq!(count_tasks(&app.db).await, 1);
}

fn archived(task: Task) -> TaskArchive {
    TaskArchive {
        task,
        history: chorus::domain::History::default(),
        queue: chorus::domain::Queue::default(),
        conversation: chorus::domain::Conversation::default(),
        runs: None,
        links: chorus::domain::TaskLinks::default(),
        folders: vec![],
    }
}

#[tokio::test]
async fn a_failed_import_leaves_nothing() {
    let app = TestApp::new().await;
    let task = Task::new(new_task("good"), START_TIME);
    let other = Agent {
        name: "other".parse().unwrap(),
        ..default_agents().remove(0)
    };
    let good = || Ok(archived(Task::new(new_task("good"), START_TIME)));
    let sources: [Vec<Result<TaskArchive, Box<dyn std::error::Error + Send + Sync>>>; 2] = [
        vec![good(), good(), Err("the disk is gone".into()), good()],
        // The database itself refuses a duplicate id.
        vec![good(), Ok(archived(task.clone())), Ok(archived(task))],
    ];
    for source in sources {
        let source = Import {
            agents: vec![other.clone()],
            tasks: Box::new(source.into_iter()),
            ..Import::default()
        };
        let error = import(&app.db, source).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Source(_) | StoreError::Driver(_)),
            "{error:?}"
        );
        assert_eq!(count_tasks(&app.db).await, 0);
        assert_eq!(find_agent(&app.db, &other.name).await, None);
        assert_eq!(app.last_event().await, 0);
    }
    // The writer still works.
    create(&app.db, new_task("later"), None).await;
    app.assert_invariants();
}

#[tokio::test]
async fn idempotency_keys_expire_at_their_age_limit() {
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
        tasks.push(create(&app.db, new_task("keyed"), once(number)).await);
        app.clock.advance(MINUTE);
    }
    // The keys are 4, 3, 2 and 1 minutes old. A key that is exactly as old as the limit stays.
    assert_eq!(delete_keys_older_than(&app.db, 4 * MINUTE).await, 0);
    assert_eq!(delete_keys_older_than(&app.db, 2 * MINUTE).await, 2);
    assert_eq!(delete_keys_older_than(&app.db, 2 * MINUTE).await, 0);
    for number in [2, 3] {
        let again = create(&app.db, new_task("keyed"), once(number)).await;
        assert_eq!(again, tasks[usize::from(number)]);
    }
    let anew = create(&app.db, new_task("keyed"), once(0)).await;
    assert!(!tasks.contains(&anew));
    app.clock.advance(1);
    assert_eq!(delete_keys_older_than(&app.db, 0).await, 3);
}

async fn delegate(store: &Database, asked: Delegate) -> ledger::Result<Task> {
    let delegated = store.write(move |tx| handoff::delegate(tx, &asked)).await?;
    assert!(!delegated.is_existing);
    Ok(delegated.task)
}

#[tokio::test]
async fn an_ended_run_cannot_hand_off_its_task() {
    let app = TestApp::new().await;
    app.engine.close().await;
    let store = open(&app).await;
    let task = create(&store, new_task("d"), None).await;
    let start = |caller| Delegate {
        task_id: task.id.clone(),
        agent_name: "developer".to_owned(),
        prompt: "p".parse().unwrap(),
        reason: None,
        resume: false,
        new: false,
        detached: false,
        caller,
        trace: None,
    };
    delegate(&store, start(Caller::Person)).await.unwrap();
    let claim = ClaimRun {
        max_runs: 1,
        installation: String::new(),
        live: Vec::new(),
        token_hash: [0; 32],
        isolation: chorus::domain::Isolation::Unmasked,
        tag_wait: None,
    };
    let run = store.write(move |tx| run::claim(tx, &claim)).await;
    let identity = run.unwrap().unwrap().identity;
    let child = delegate(&store, start(Caller::Run(identity.clone()))).await;
    assert_eq!(child.unwrap().parent_id.as_ref(), Some(&task.id));
    let (task_id, reason) = (task.id.clone(), "enough".parse().unwrap());
    let cancelled = store
        .write(move |tx| handoff::cancel(tx, &task_id, Some(&reason)))
        .await;
    cancelled.unwrap();
    // The run was identified before it ended. The task is free now, but not for this run.
    let refused = delegate(&store, start(Caller::Run(identity))).await;
    assert!(
        matches!(refused, Err(StoreError::Refused(Refusal::RunEnded))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_closed_database_is_one_file() {
    for _ in 0..100 {
        let app = TestApp::new().await;
        create(&app.db, new_task("kept"), None).await;
        assert_eq!(count_tasks(&app.db).await, 1);
        app.engine.close().await;
        let file = app.data_dir.database();
        let left = ["-wal", "-shm"].map(|end| file.with_extension(format!("db{end}")).exists());
        assert_eq!(left, [false, false]);
        let copy = tempfile::NamedTempFile::new().unwrap();
        std::fs::copy(&file, copy.path()).unwrap();
        let tasks =
            invariants::open(copy.path())
                .query_row("SELECT count(*) FROM tasks", [], |row| row.get(0));
        assert_eq!(tasks, Ok(1));
    }
}
