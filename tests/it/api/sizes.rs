//! Limits of texts and lists, and pages that end early because they are large

use axum::body::Body;
use axum::http::{Method, Request};
use chorus::config::Limits;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::TestApp;

const MB: usize = 1024 * 1024;

/// Sends a body and returns the status and the message of the refusal.
async fn refused(app: &TestApp, method: Method, path: &str, body: Value) -> String {
    let reply = app.request(method, path, body.to_string()).await;
    let message = reply.json()["error"]["message"].clone();
    format!("{} {}", reply.status.as_u16(), message.as_str().unwrap())
}

#[tokio::test]
async fn every_text_has_a_limit_and_the_refusal_names_it() {
    let app = TestApp::with_limits(Limits {
        prompt: 3000,
        text: 2000,
        remark: 1000,
        ..Limits::default()
    })
    .await;
    let id = app.task("d").await;
    let long = |bytes: usize| "x".repeat(bytes + 1);
    let task = format!("/api/tasks/{id}");
    let [handoff, complete, cancel, queue, status, planning] = [
        "handoff",
        "handoff/complete",
        "handoff/cancel",
        "queue",
        "status",
        "planning",
    ]
    .map(|door| format!("{task}/{door}"));
    let increment = json!({ "title": "t", "description": long(2000) });
    let started = json!({ "agentName": "qa", "prompt": "p", "reason": long(1000) });
    let failed = json!({ "status": { "type": "failed", "message": long(1000) } });
    let cases = [
        (
            Method::POST,
            "/api/tasks",
            json!({ "description": long(2000) }),
            "413 description",
        ),
        (
            Method::POST,
            "/api/tasks",
            json!({ "description": "d", "source": { "userId": long(1000) } }),
            "413 source.userId",
        ),
        (
            Method::POST,
            "/api/increments",
            increment,
            "413 description",
        ),
        (Method::POST, &handoff, started, "413 reason"),
        (
            Method::PUT,
            &complete,
            json!({ "output": long(3000) }),
            "413 output",
        ),
        (
            Method::POST,
            &cancel,
            json!({ "reason": long(1000) }),
            "413 reason",
        ),
        (
            Method::POST,
            &queue,
            json!({ "content": long(2000) }),
            "413 content",
        ),
        (Method::PUT, &status, failed, "413 status.message"),
        (
            Method::PUT,
            &planning,
            json!({ "summary": long(MB) }),
            "400 planning",
        ),
        (
            Method::PUT,
            &planning,
            json!({ "plan": vec!["s"; 1001] }),
            "400 plan",
        ),
        (
            Method::POST,
            "/api/tasks",
            json!({ "description": "d", "specialistTags": numbers(51) }),
            "400 specialistTags",
        ),
        (
            Method::PATCH,
            &task,
            json!({ "dependsOn": numbers(101) }),
            "400 dependsOn",
        ),
    ];
    for (method, path, body, expected) in cases {
        let answer = refused(&app, method, path, body).await;
        let (status, what) = expected.split_once(' ').unwrap();
        assert!(
            answer.starts_with(status) && answer.contains(what),
            "{path}: {answer}, expected {expected}"
        );
    }
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number}")).collect()
}

#[tokio::test]
async fn a_million_tags_are_refused_at_the_first_one_too_many() {
    let app = TestApp::new().await;
    let body = json!({ "description": "d", "specialistTags": numbers(1_000_000) });
    let answer = refused(&app, Method::POST, "/api/tasks", body).await;
    assert_eq!(
        answer,
        "400 specialistTags: must have at most 50 distinct words"
    );
}

#[tokio::test]
async fn a_repeated_tag_is_stored_once() {
    let app = TestApp::new().await;
    let tags = json!(["Rust", "rust", "sql", "rust"]);
    for (path, body) in [
        (
            "/api/tasks",
            json!({ "description": "d", "specialistTags": tags }),
        ),
        (
            "/api/increments",
            json!({ "title": "t", "specialistTags": tags }),
        ),
    ] {
        app.post(path, body).await.data();
    }
    for task in app.get("/api/tasks").await.data().as_array().unwrap() {
        let tags = task["specialistTags"].as_array().unwrap();
        let is_repeated = |tag: &Value| tags.iter().filter(|other| *other == tag).count() > 1;
        assert!(!tags.iter().any(is_repeated), "{tags:?}");
    }
    app.assert_invariants();
}

/// Lists pages until the last one. Returns the number of items of each.
async fn pages(app: &TestApp, path: &str) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut after = String::new();
    loop {
        let page = app.get(&format!("{path}&limit=1000{after}")).await.json();
        sizes.push(page["data"].as_array().unwrap().len());
        match page["meta"]["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return sizes,
        }
    }
}

#[tokio::test]
async fn a_page_ends_early_when_it_is_large() {
    let app = TestApp::new().await;
    for _ in 0..12 {
        app.task(&"x".repeat(MB - 1000)).await;
    }
    for path in [
        "/api/tasks?view=full",
        "/api/tasks?view=summary",
        "/api/tasks?ready=true",
    ] {
        assert_eq!(pages(&app, path).await, [5, 5, 2], "{path}");
    }
}

#[tokio::test]
async fn a_page_has_at_least_one_item_however_large() {
    let app = TestApp::new().await;
    // Older servers had no limit.
    for number in 0..2 {
        let id = app.task("d").await;
        grow(&app, &id, 5 * MB + number);
    }
    assert_eq!(pages(&app, "/api/tasks?view=full").await, [1, 1]);
}

/// Gives a task a description over the limit, as an older server could.
fn grow(app: &TestApp, id: &str, bytes: usize) {
    let database = crate::support::invariants::open(&app.data_dir.database());
    let changed = database.execute(
        "UPDATE tasks SET description = $1 WHERE id = $2",
        (&"x".repeat(bytes), id),
    );
    assert_eq!(changed.unwrap(), 1);
}

#[tokio::test]
async fn the_history_the_queue_and_the_hand_offs_of_a_task_come_in_pages() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let long = "x".repeat(MB - 1000);
    for _ in 0..6 {
        let queued = json!({ "content": long });
        app.post(&format!("/api/tasks/{id}/queue"), queued)
            .await
            .data();
        let started = json!({ "agentName": "qa", "prompt": long });
        app.post(&format!("/api/tasks/{id}/handoff"), started)
            .await
            .data();
        let ended = json!({ "output": "o" });
        app.put(&format!("/api/tasks/{id}/handoff/complete"), ended)
            .await
            .data();
    }
    let data = json!({ "description": long }).to_string();
    let added = crate::support::invariants::open(&app.data_dir.database()).execute(
        "INSERT INTO events (task_number, occurred_at, type, data)
         SELECT task_number, occurred_at, type, $1 FROM events LIMIT 6",
        [&data],
    );
    assert_eq!(added.unwrap(), 6);
    let count = app.events().await.len();
    for (door, list, count) in [
        ("history", "/data/events", count),
        ("queue", "/data/messages", 6),
        ("handoffs", "/data", 6),
    ] {
        let first = app.get(&format!("/api/tasks/{id}/{door}")).await.json();
        let next = first["meta"]["next"].as_str();
        let next = next.unwrap_or_else(|| panic!("{door} has one page"));
        let rest = app
            .get(&format!("/api/tasks/{id}/{door}?after={next}"))
            .await
            .json();
        assert_eq!(rest["meta"]["next"], Value::Null, "{door}");
        let length = |page: &Value| page.pointer(list).unwrap().as_array().unwrap().len();
        assert!(length(&first) > 0 && length(&rest) > 0, "{door}");
        assert_eq!(length(&first) + length(&rest), count, "{door}");
    }
}

#[tokio::test]
async fn one_task_has_a_limit_of_dependants() {
    let app = TestApp::new().await;
    let id = app.task("gate").await;
    let added = crate::support::invariants::open(&app.data_dir.database()).execute_batch(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
         SELECT 't' || i, 'pending', 0, 0, 'api', 'u', '/', 'd' FROM n;
         INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome)
         SELECT number, 1, (SELECT number FROM tasks WHERE description = 'gate'), 'completed' FROM tasks WHERE id LIKE 't%'
            AND description = 'd';",
    );
    added.unwrap();
    let body = json!({ "description": "d", "dependsOn": [id] });
    assert_eq!(
        refused(&app, Method::POST, "/api/tasks", body).await,
        format!(
            "400 dependsOn: 2000 tasks depend on task {id} already; depend on one of them, or on a task between"
        )
    );
}

#[tokio::test]
async fn large_answers_that_nobody_takes_share_a_budget() {
    let app = TestApp::with_limits(Limits {
        answers: MB,
        ..Limits::default()
    })
    .await;
    app.task(&"x".repeat(600_000)).await;
    let ask = || {
        let request = Request::get("/api/tasks").header("host", "localhost");
        let request = request.body(Body::empty()).unwrap();
        app.respond(request)
    };
    let first = ask().await;
    assert_eq!(first.status(), 200);
    assert_eq!(
        app.get("/api/tasks").await.error(),
        (503, "BUSY".to_owned())
    );
    // Small answers and changes are not affected.
    assert_eq!(app.get("/api/agents").await.status, 200);
    app.task(&"y".repeat(600_000)).await;
    let taken = first.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(
        ask().await.status(),
        503,
        "the first answer is still in memory"
    );
    drop(taken);
    assert_eq!(ask().await.status(), 200);
}
