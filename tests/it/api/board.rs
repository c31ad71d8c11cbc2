//! `/api/board`

use axum::http::Method;
use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::{Reply, TestApp, invariants};

async fn board(app: &TestApp, query: &str) -> Reply {
    let reply = app.get(&format!("/api/board?{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {}", reply.json());
    reply
}

/// Returns the column with this status.
fn column<'a>(board: &'a Value, status: &str) -> &'a Value {
    let mut columns = board["columns"].as_array().unwrap().iter();
    columns.find(|column| column["status"] == status).unwrap()
}

fn descriptions(column: &Value) -> Vec<&str> {
    let cards = column["cards"].as_array().unwrap().iter();
    cards
        .map(|card| card["description"].as_str().unwrap())
        .collect()
}

async fn set_status(app: &TestApp, task: &str, status: &str) {
    let path = format!("/api/tasks/{task}/status");
    app.put(&path, json!({ "status": status })).await.data();
}

/// Follows the pages of the pending column.
async fn pages(app: &TestApp, query: &str) -> Vec<Vec<String>> {
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let found = board(app, &format!("status=pending&{query}{after}"))
            .await
            .data();
        let shown = column(&found, "pending");
        assert_eq!(found["columns"].as_array().unwrap().len(), 1);
        pages.push(descriptions(shown).into_iter().map(str::to_owned).collect());
        match shown["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn tasks_stand_in_columns_by_status_last_changed_first() {
    let app = TestApp::new().await;
    let (one, two, three) = (
        app.task("one").await,
        app.task("two").await,
        app.task("three").await,
    );
    app.clock.advance(10);
    set_status(&app, &one, "completed").await;
    app.clock.advance(10);
    set_status(&app, &three, "completed").await;
    let shown = board(&app, "").await.data();
    let names: Vec<_> = shown["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["status"].clone())
        .collect();
    assert_eq!(
        json!(names),
        json!(["pending", "active", "waiting", "completed", "failed"])
    );
    assert_eq!(descriptions(column(&shown, "pending")), ["two"]);
    assert_eq!(descriptions(column(&shown, "completed")), ["three", "one"]);
    assert_eq!(column(&shown, "completed")["total"], 2);
    app.clock.advance(10);
    let path = format!("/api/tasks/{one}/messages");
    app.post(&path, json!({ "type": "user_message", "content": "hello" }))
        .await
        .data();
    set_status(&app, &two, "completed").await;
    let shown = board(&app, "status=completed").await.data();
    assert_eq!(descriptions(column(&shown, "completed"))[0], "two");
}

#[tokio::test]
async fn a_card_shows_its_family_in_short() {
    let app = TestApp::new().await;
    let body = json!({ "description": "é".repeat(400), "agentRole": "testing", "priority": 1 });
    let task = app.post("/api/tasks", body).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let connection = invariants::open(&app.data_dir.database());
    connection
        .execute("UPDATE tasks SET session_id = 's1'", [])
        .unwrap();
    app.start_run(&task, "planner", "the-planner").await;
    let handoff = json!({ "agentName": "developer", "prompt": "Write it" });
    let path = format!("/api/tasks/{task}/handoff");
    let delegated = app
        .with_token("the-planner", Method::POST, &path, handoff)
        .await
        .data();
    let child = delegated["id"].as_str().unwrap();
    app.claim_run("the-developer").await;
    let path = format!("/api/tasks/{child}/messages");
    let message =
        json!({ "type": "assistant_message", "content": "first\nThe parser is written\n" });
    app.with_token("the-developer", Method::POST, &path, message)
        .await
        .data();
    app.post(
        &format!("/api/tasks/{task}/queue"),
        json!({ "content": "Mind the edge cases" }),
    )
    .await
    .data();
    connection
        .execute("UPDATE runs SET cost_usd = 0.25", [])
        .unwrap();
    app.put(
        &format!("/api/tasks/{child}/handoff/complete"),
        json!({ "output": "Done" }),
    )
    .await
    .data();
    let shown = board(&app, "").await.data();
    let cards = column(&shown, "active")["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 1, "the delegated child has no card: {shown}");
    assert_eq!(
        cards[0]["description"].as_str().unwrap().chars().count(),
        300
    );
    let fields = [
        "id",
        "status",
        "currentAgent",
        "chainLength",
        "children",
        "costUsd",
        "agentRole",
        "priority",
        "blocked",
        "waitingReason",
        "sessionId",
        "incrementId",
        "stage",
        "queued",
    ];
    assert_eq!(
        pick(&cards[0], &fields),
        json!({
            "id": task, "status": { "type": "active" }, "currentAgent": "planner", "chainLength": 1, "children": 1,
            "costUsd": 0.25, "agentRole": "testing", "priority": 1, "blocked": false, "waitingReason": null, "sessionId": "s1", "incrementId": null, "stage": null, "queued": 1,
        })
    );
    assert_eq!(cards[0]["lastLine"], "Done");
    assert_eq!(column(&shown, "completed")["cards"], json!([]));
}

#[tokio::test]
async fn each_column_has_pages_of_its_own_without_gaps() {
    let app = TestApp::new().await;
    for place in 0..25 {
        app.task(&format!("task {place}")).await;
        // Several tasks have the same time.
        app.clock.advance(place % 2);
    }
    let all: Vec<_> = (0..25).rev().map(|place| format!("task {place}")).collect();
    for limit in [1, 7, 24, 25, 26] {
        let found = pages(&app, &format!("limit={limit}")).await;
        assert!(found.iter().all(|page| page.len() <= limit));
        assert_eq!(found.concat(), all, "{limit}");
    }
    assert_eq!(
        column(&board(&app, "limit=1").await.data(), "pending")["total"],
        25
    );
}

#[tokio::test]
async fn a_filter_finds_tasks_by_text_agent_role_session_and_increment() {
    let app = TestApp::new().await;
    let create = async |body: Value| {
        app.post("/api/tasks", body).await.data()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    create(json!({ "description": "Parse DATES, 100% of them" })).await;
    let other = create(json!({ "description": "Write it", "agentRole": "testing" })).await;
    create(json!({ "description": "Nothing" })).await;
    let connection = invariants::open(&app.data_dir.database());
    connection
        .execute("UPDATE tasks SET session_id = 's1' WHERE id = ?1", [&other])
        .unwrap();
    app.start_run(&other, "planner", "the-planner").await;
    let handoff = json!({ "agentName": "developer", "prompt": "Write it" });
    let path = format!("/api/tasks/{other}/handoff");
    app.with_token("the-planner", Method::POST, &path, handoff)
        .await
        .data();
    let increment = json!({ "title": "Read dates", "description": "ISO" });
    let increment = app.post("/api/increments", increment).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let found = async |query: &str| {
        let shown = board(&app, query).await.data();
        let columns = shown["columns"].as_array().unwrap().iter();
        columns
            .map(|column| {
                let cards = descriptions(column);
                assert_eq!(column["total"], cards.len(), "{query}");
                assert_eq!(column["next"], json!(null), "{query}");
                cards.len()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(found("text=dates,%20100%25").await, [1, 0, 0, 0, 0]);
    assert_eq!(found("text=%25").await, [1, 0, 0, 0, 0]);
    assert_eq!(found("text=_").await, [0; 5]);
    assert_eq!(
        found("text=%20&status=active").await,
        [1],
        "a blank text is no filter"
    );
    assert_eq!(found("agent=Planner").await, [0, 1, 0, 0, 0]);
    assert_eq!(found("agent=developer").await, [0, 1, 0, 0, 0]);
    assert_eq!(found("agent=qa").await, [0; 5]);
    assert_eq!(found("role=testing&session=s1").await, [0, 1, 0, 0, 0]);
    assert_eq!(found("session=s2").await, [0; 5]);
    assert_eq!(found(&format!("increment={increment}")).await[0], 3);
    assert_eq!(found("increment=unknown").await, [0; 5]);
}

#[tokio::test]
async fn a_filter_continues_on_later_pages() {
    let app = TestApp::new().await;
    for place in 0..12 {
        app.task(&format!(
            "{} {place}",
            if place % 2 == 0 { "even" } else { "odd" }
        ))
        .await;
    }
    let even: Vec<_> = (0..12)
        .rev()
        .filter(|place| place % 2 == 0)
        .map(|place| format!("even {place}"))
        .collect();
    for limit in [1, 4, 6, 7] {
        assert_eq!(
            pages(&app, &format!("text=even&limit={limit}"))
                .await
                .concat(),
            even,
            "{limit}"
        );
    }
    let second = board(&app, "status=pending&text=even&limit=4").await.data();
    let next = column(&second, "pending")["next"]
        .as_str()
        .unwrap()
        .to_owned();
    let second = board(
        &app,
        &format!("status=pending&text=even&limit=4&after={next}"),
    )
    .await
    .data();
    assert_eq!(column(&second, "pending")["total"], 6);
}

#[tokio::test]
async fn a_filter_stops_after_many_tasks_and_says_where_to_continue() {
    let app = TestApp::new().await;
    let connection = invariants::open(&app.data_dir.database());
    app.task("the oldest").await;
    connection.execute_batch(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10050)
         INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
         SELECT 'filler-' || n, 'pending', 1767225600001, 1767225600001, '', '', '', 'filler' FROM n",
    ).unwrap();
    let first = board(&app, "text=oldest").await.data();
    let pending = column(&first, "pending");
    assert_eq!(
        pick(pending, &["total", "more", "cards"]),
        json!({ "total": 0, "more": true, "cards": [] })
    );
    let found = pages(&app, "text=oldest").await;
    assert_eq!(found, [vec![], vec!["the oldest".to_owned()]]);
    let all = board(&app, "limit=1").await.data();
    assert_eq!(
        pick(column(&all, "pending"), &["total", "more"]),
        json!({ "total": 1000, "more": true })
    );
}

#[tokio::test]
async fn a_wrong_query_is_refused() {
    let app = TestApp::with_limits(Limits {
        largest_page: 200,
        ..Limits::default()
    })
    .await;
    let refused = async |query: &str| app.get(&format!("/api/board?{query}")).await.line();
    assert_snapshot!(refused("after=1.2").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: needs status, the column to continue"}}"#);
    assert_snapshot!(refused("status=pending&after=x").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: is not a cursor; send `next` of a column"}}"#);
    assert_snapshot!(refused("status=open").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: status: unknown variant `open`, expected one of `pending`, `active`, `waiting`, `completed`, `failed`"}}"#);
    assert_snapshot!(refused("limit=201").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 200"}}"#);
    assert_snapshot!(refused("colour=red").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: colour: unknown field `colour`, expected one of `limit`, `status`, `after`, `text`, `agent`, `role`, `session`, `increment`"}}"#);
    assert_snapshot!(refused(&format!("text={}", "a".repeat(1001))).await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: text: must have at most 1000 bytes"}}"#);
}
