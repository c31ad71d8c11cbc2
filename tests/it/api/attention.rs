//! `/api/attention`

use chorus::domain::{Outcome, RunIdentity};
use chorus::ledger::task;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::requests::Requests;
use crate::support::{TestApp, invariants};

async fn attention(app: &TestApp, query: &str) -> Value {
    let reply = app.get(&format!("/api/attention?{query}")).await;
    reply.data()
}

async fn kinds(app: &TestApp) -> Vec<String> {
    let shown = attention(app, "").await;
    let items = shown["items"].as_array().unwrap();
    assert_eq!(shown["total"], items.len());
    items
        .iter()
        .map(|item| item["kind"].as_str().unwrap().to_owned())
        .collect()
}

async fn create(app: &TestApp, path: &str, body: Value) -> String {
    let created = app.post(path, body).await.data();
    created["id"].as_str().unwrap().to_owned()
}

/// Hands a task to an agent, whose run starts.
async fn start_run(app: &TestApp, task: &str) -> RunIdentity {
    let handoff = json!({ "agentName": "developer", "prompt": "Do it" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    let id = task.parse().unwrap();
    let found = app.read(move |view| task::get(view, &id)).await;
    Requests(&app.db).claim_run(&found).await
}

async fn run_once(app: &TestApp, task: &str, outcome: Outcome) {
    let run = start_run(app, task).await;
    Requests(&app.db)
        .end_run(&run, outcome, "The disk is full")
        .await;
}

#[tokio::test]
async fn each_kind_shows_what_a_person_decides() {
    let app = TestApp::new().await;
    assert_eq!(
        attention(&app, "").await,
        json!({ "total": 0, "items": [] })
    );
    let request = create(
        &app,
        "/api/requests",
        json!({ "title": "Mend it", "body": "All", "kind": "fix", "priority": "P1" }),
    )
    .await;
    app.clock.advance(1);
    let stuck = create(
        &app,
        "/api/requests",
        json!({ "title": "Stuck", "body": "All", "kind": "fix" }),
    )
    .await;
    let task = app.task("Blocked").await;
    let increment = create(
        &app,
        "/api/increments",
        json!({ "title": "Read dates", "description": "ISO" }),
    )
    .await;
    let connection = invariants::open(&app.data_dir.database());
    connection
        .execute("UPDATE requests SET is_stuck = 1 WHERE id = ?1", [&stuck])
        .unwrap();
    connection.execute("UPDATE tasks SET is_blocked = 1, waits_for = 'person', waiting_reason = 'No report', updated_at = updated_at + 1 WHERE id = ?1", [&task]).unwrap();
    connection.execute("UPDATE increments SET state = 'blocked', blocked_by = 'Too many rounds', updated_at = updated_at + 2 WHERE id = ?1", [&increment]).unwrap();
    app.clock.advance(10);
    let alert = create(
        &app,
        "/api/alerts",
        json!({ "message": "The key has expired" }),
    )
    .await;
    app.clock.advance(10);
    let mail = create(
        &app,
        "/api/mail",
        json!({ "from": "qa", "to": ["operator"], "subject": "Look" }),
    )
    .await;
    app.clock.advance(10);
    let owed =
        json!({ "from": "qa", "to": ["planner"], "subject": "Answer me", "ackRequired": true });
    let owed = create(&app, "/api/mail", owed).await;
    app.clock.advance(30 * 86_400_000);
    let failed = app.task("Failing").await;
    run_once(&app, &failed, Outcome::Failed).await;
    let shown = attention(&app, "").await;
    let fields = [
        "kind",
        "title",
        "reason",
        "taskId",
        "requestId",
        "incrementId",
        "alertId",
        "mailId",
        "agentName",
        "priority",
    ];
    let items: Vec<_> = shown["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| pick(item, &fields))
        .collect();
    let item = |change: Value| {
        let mut all: Value = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!(null)))
            .collect();
        all.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        all
    };
    assert_eq!(
        items,
        [
            item(
                json!({ "kind": "failedRun", "title": "Failing", "reason": "The disk is full", "taskId": failed, "agentName": "developer" })
            ),
            item(
                json!({ "kind": "overdueAcknowledgement", "title": "Answer me", "mailId": owed, "agentName": "planner" })
            ),
            item(json!({ "kind": "mail", "title": "Look", "mailId": mail, "agentName": "qa" })),
            item(
                json!({ "kind": "alert", "title": "The key has expired", "alertId": alert, "agentName": "anonymous" })
            ),
            item(
                json!({ "kind": "blockedIncrement", "title": "Read dates", "reason": "Too many rounds", "incrementId": increment })
            ),
            item(
                json!({ "kind": "blockedTask", "title": "Blocked", "reason": "No report", "taskId": task })
            ),
            item(
                json!({ "kind": "stuckRequest", "title": "Stuck", "requestId": stuck, "priority": "P2" })
            ),
            item(
                json!({ "kind": "request", "title": "Mend it", "requestId": request, "priority": "P1" })
            ),
        ]
    );
    let chain = app.get(&format!("/api/tasks/{failed}")).await.data();
    assert_eq!(shown["items"][0]["handoffId"], chain["agentChain"][0]["id"]);
    assert_eq!(shown["total"], 8);
}

#[tokio::test]
async fn an_item_leaves_the_list_when_it_is_decided() {
    let app = TestApp::new().await;
    let request = create(
        &app,
        "/api/requests",
        json!({ "title": "Mend it", "body": "All", "kind": "fix" }),
    )
    .await;
    let alert = create(&app, "/api/alerts", json!({ "message": "Look" })).await;
    let mail = create(
        &app,
        "/api/mail",
        json!({ "from": "qa", "to": ["operator"], "subject": "Look", "ackRequired": true }),
    )
    .await;
    assert_eq!(kinds(&app).await, ["request", "alert", "mail"]);
    app.clock.advance(30 * 86_400_000);
    assert_eq!(
        kinds(&app).await,
        ["overdueAcknowledgement", "request", "alert", "mail"]
    );
    app.operator()
        .post(&format!("/api/requests/{request}/approve"), json!({}))
        .await
        .data();
    assert_eq!(
        kinds(&app).await,
        ["overdueAcknowledgement", "alert", "mail"]
    );
    app.operator()
        .post(&format!("/api/alerts/{alert}/resolve"), json!({}))
        .await
        .data();
    assert_eq!(kinds(&app).await, ["overdueAcknowledgement", "mail"]);
    app.operator()
        .post(&format!("/api/mail/{mail}/read"), json!({}))
        .await
        .data();
    assert_eq!(kinds(&app).await, ["overdueAcknowledgement"]);
    app.operator()
        .post(&format!("/api/mail/{mail}/ack"), json!({}))
        .await
        .data();
    assert_eq!(kinds(&app).await, [""; 0]);
}

#[tokio::test]
async fn a_failed_run_waits_until_the_task_goes_on() {
    let app = TestApp::new().await;
    let task = app.task("Failing").await;
    for (outcome, shown) in [
        (Outcome::Failed, true),
        (Outcome::Completed, false),
        (Outcome::TimedOut, true),
        (Outcome::Cancelled, false),
        (Outcome::Interrupted, true),
    ] {
        run_once(&app, &task, outcome).await;
        assert_eq!(kinds(&app).await == ["failedRun"], shown, "{outcome:?}");
    }
    let run = start_run(&app, &task).await;
    assert_eq!(kinds(&app).await, [""; 0], "the agent works on it again");
    Requests(&app.db).end_run(&run, Outcome::Failed, "No").await;
    assert_eq!(kinds(&app).await, ["failedRun"]);
    let path = format!("/api/tasks/{task}/status");
    app.put(&path, json!({ "status": "completed" }))
        .await
        .data();
    app.put(&path, json!({ "status": "waiting" })).await.data();
    assert_eq!(
        kinds(&app).await,
        [""; 0],
        "the status has answered the failure"
    );
}

#[tokio::test]
async fn pages_have_every_item_once_newest_first() {
    let app = TestApp::new().await;
    for place in 0..5 {
        create(
            &app,
            "/api/requests",
            json!({ "title": format!("r{place}"), "body": "All", "kind": "fix" }),
        )
        .await;
        create(
            &app,
            "/api/alerts",
            json!({ "message": format!("a{place}") }),
        )
        .await;
        app.clock.advance(place % 2);
        create(
            &app,
            "/api/mail",
            json!({ "from": "qa", "to": ["operator"], "subject": format!("m{place}") }),
        )
        .await;
    }
    let titles = |shown: &Value| -> Vec<String> {
        let items = shown["items"].as_array().unwrap().iter();
        items
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = titles(&attention(&app, "").await);
    assert_eq!(all.len(), 15);
    for limit in [1, 2, 7, 14, 15, 16] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let reply = app
                .get(&format!("/api/attention?limit={limit}{after}"))
                .await;
            let page = titles(&reply.data());
            assert!(page.len() <= limit);
            assert_eq!(reply.data()["total"], 15);
            found.extend(page);
            match reply.json()["meta"]["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(found, all, "{limit}");
    }
}

#[tokio::test]
async fn a_wrong_cursor_is_refused() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/attention?after=nine").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: is not a cursor; send `meta.next` of the previous page"}}"#);
    assert_snapshot!(app.get("/api/attention?limit=0").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
}
