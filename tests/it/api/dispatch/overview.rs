//! The state of the dispatcher

use std::time::Duration;

use chorus::engine::DispatcherOptions;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{ROUTES, put_routes, seeded};
use crate::api::pick;
use crate::support::TestApp;

/// Creates and approves a request. Returns its id.
async fn approve_new(app: &TestApp, title: &str, kind: &str, priority: &str) -> String {
    let body = json!({ "title": title, "body": "", "kind": kind, "priority": priority });
    let made = app.post("/api/requests", body).await.data();
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("/api/requests/{id}/approve");
    app.operator().post(&path, json!({})).await.data();
    id
}

/// Runs one round of the dispatcher.
async fn dispatch(app: &TestApp, max_runs: u32) {
    let options = DispatcherOptions {
        enabled: true,
        debounce: Duration::ZERO,
        max_runs,
        tmux: None,
    };
    app.engine.dispatch_round(&options).await.unwrap();
}

/// Returns the titles in a list of the overview.
async fn titles(app: &TestApp, list: &str) -> Vec<Value> {
    let overview = app.get("/api/dispatch").await.data();
    let requests = overview[list].as_array().unwrap().iter();
    requests.map(|request| request["title"].clone()).collect()
}

#[tokio::test]
async fn an_idle_dispatcher_has_empty_lists() {
    let app = seeded().await;
    for list in ["running", "waiting", "held", "stuck", "undecided", "next"] {
        assert_eq!(titles(&app, list).await, [""; 0], "{list}");
    }
}

#[tokio::test]
async fn waiting_requests_are_listed_in_dispatch_order() {
    let app = seeded().await;
    for (title, kind, priority) in [
        ("P2 fix", "fix", "P2"),
        ("P2 research", "research", "P2"),
        ("P1 documentation", "documentation", "P1"),
        ("P1 fix, older", "fix", "P1"),
        ("P1 loop", "loop", "P1"),
        ("P1 fix, younger", "fix", "P1"),
        ("P0 chores", "chores", "P0"),
        ("P1 implementation", "implementation", "P1"),
    ] {
        approve_new(&app, title, kind, priority).await;
        app.clock.advance(1_000);
    }
    let order = [
        "P0 chores",
        "P1 fix, older",
        "P1 fix, younger",
        "P1 implementation",
        "P1 loop",
        "P1 documentation",
        "P2 research",
        "P2 fix",
    ];
    assert_eq!(titles(&app, "waiting").await, order);
    for started in 1..=3 {
        dispatch(&app, started).await;
        let count = usize::try_from(started).unwrap();
        assert_eq!(titles(&app, "waiting").await, order[count..]);
        let running = titles(&app, "running").await;
        assert!(
            order[..count]
                .iter()
                .all(|title| running.contains(&json!(title))),
            "{running:?}"
        );
    }
}

#[tokio::test]
async fn age_counts_from_the_creation_of_a_request() {
    let app = seeded().await;
    let body = |title: &str| json!({ "title": title, "body": "", "kind": "fix" });
    let older = app.post("/api/requests", body("older")).await.data();
    approve_new(&app, "younger", "fix", "P2").await;
    let path = format!("/api/requests/{}/approve", older["id"].as_str().unwrap());
    app.operator().post(&path, json!({})).await.data();
    assert_eq!(titles(&app, "waiting").await, ["older", "younger"]);
}

#[tokio::test]
async fn running_requests_show_their_task_workspace_and_start() {
    let app = seeded().await;
    approve_new(&app, "By an agent", "fix", "P1").await;
    app.clock.advance(1_000);
    dispatch(&app, 1).await;
    app.clock.advance(1_000);
    let by_hand = approve_new(&app, "By hand", "fix", "P2").await;
    let path = format!("/api/requests/{by_hand}/claim");
    app.post(&path, json!({ "agent": "somebody" })).await.data();
    app.clock.advance(1_000);
    let overview = app.get("/api/dispatch").await.data();
    let running = &overview["running"];
    let fields = ["title", "agent", "since", "run", "attempts"];
    assert_eq!(
        [0, 1].map(|place| pick(&running[place], &fields)),
        [
            json!({
                "title": "By an agent", "agent": "developer", "since": 1_767_225_601_000_i64, "run": "queued", "attempts": 1,
            }),
            json!({ "title": "By hand", "agent": "somebody", "since": 1_767_225_602_000_i64, "run": null, "attempts": 1 }),
        ]
    );
    let task = running[0]["taskId"].as_str().unwrap();
    let task = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(running[0]["workspace"], task["agentWorkspace"]);
    assert_eq!(running[0]["handoffId"], task["agentChain"][0]["id"]);
    let nowhere = pick(&running[1], &["taskId", "handoffId", "workspace"]);
    assert_eq!(
        nowhere,
        json!({ "taskId": null, "handoffId": null, "workspace": null })
    );
}

#[tokio::test]
async fn requests_that_cannot_be_started_are_held_with_a_reason() {
    let app = seeded().await;
    let database = rusqlite::Connection::open(app.data_dir.database()).unwrap();
    let mut routes = app.get(ROUTES).await.data();
    routes[0]["mode"] = json!("interactive");
    routes[1]["agent"] = json!("qa");
    put_routes(&app, routes).await.data();
    for (kind, count) in [
        ("unheard-of", 2),
        ("brainstorm", 1),
        ("research", 1),
        ("fix", 1),
    ] {
        for _ in 0..count {
            approve_new(&app, kind, kind, "P1").await;
        }
    }
    // A request that could not be started is counted before its approval, too.
    let body = json!({ "title": "t", "body": "", "kind": "unheard-of" });
    app.post("/api/requests", body).await.data();
    let held = async || {
        let overview = app.get("/api/dispatch").await.data();
        assert_eq!(
            overview["waiting"].as_array().unwrap().len(),
            5 - overview["held"]
                .as_array()
                .unwrap()
                .iter()
                .map(|held| if held["kind"] == "unheard-of" { 2 } else { 1 })
                .sum::<usize>()
        );
        serde_json::to_string_pretty(&overview["held"]).unwrap()
    };
    assert_snapshot!(held().await, @r#"
    [
      {
        "kind": "brainstorm",
        "count": 1,
        "reason": "Kind brainstorm is interactive. Claim its requests with `chorus request claim`"
      },
      {
        "kind": "unheard-of",
        "count": 3,
        "reason": "Kind unheard-of has no rule. Add one with `chorus request kinds --set FILE` or PUT /api/dispatch/routes"
      }
    ]
    "#);
    database
        .execute("UPDATE agents SET available = 0 WHERE name = 'qa'", [])
        .unwrap();
    let unavailable: Value = serde_json::from_str(&held().await).unwrap();
    assert_snapshot!(unavailable[1].to_string(), @r#"{"kind":"research","count":1,"reason":"Agent qa of kind research is not available. Make it available, or change the rule of the kind"}"#);
    database
        .execute("DELETE FROM agents WHERE name = 'qa'", [])
        .unwrap();
    let unknown: Value = serde_json::from_str(&held().await).unwrap();
    assert_snapshot!(unknown[1].to_string(), @r#"{"kind":"research","count":1,"reason":"Agent qa of kind research does not exist. Create it, or change the rule of the kind"}"#);
    // The dispatcher starts only requests that are not held.
    dispatch(&app, 10).await;
    assert_eq!(titles(&app, "running").await, ["fix"]);
    assert_eq!(titles(&app, "waiting").await, [""; 0]);
}

#[tokio::test]
async fn a_request_without_attempts_left_is_stuck_until_it_is_approved_again() {
    let app = seeded().await;
    let id = approve_new(&app, "Hopeless", "fix", "P0").await;
    let path = |action: &str| format!("/api/requests/{id}/{action}");
    let lose_claim = async || {
        let claim = json!({ "agent": "somebody", "leaseSeconds": 1 });
        app.post(&path("claim"), claim).await.data();
        app.clock.advance(1_000);
        dispatch(&app, 0).await;
    };
    lose_claim().await;
    assert_eq!(titles(&app, "stuck").await, [""; 0]);
    app.operator()
        .post(&path("approve"), json!({}))
        .await
        .data();
    lose_claim().await;
    let overview = app.get("/api/dispatch").await.data();
    assert_snapshot!(crate::support::redact(&overview["stuck"].to_string()), @r#"[{"id":"<id 1>","title":"Hopeless","kind":"fix","priority":"P0","since":1767225602000,"attempts":2,"lastFailure":"The lease of somebody ran out without a heartbeat"}]"#);
    app.operator()
        .post(&path("approve"), json!({}))
        .await
        .data();
    assert_eq!(titles(&app, "stuck").await, [""; 0]);
    assert_eq!(titles(&app, "waiting").await, ["Hopeless"]);
}

#[tokio::test]
async fn a_held_request_does_not_shorten_the_debounce_of_others() {
    let app = seeded().await;
    let options = DispatcherOptions {
        enabled: true,
        debounce: Duration::from_secs(3),
        max_runs: 4,
        tmux: None,
    };
    approve_new(&app, "Held", "unheard-of", "P0").await;
    app.clock.advance(60_000);
    approve_new(&app, "First", "fix", "P2").await;
    let next = app.engine.dispatch_round(&options).await.unwrap().next;
    assert_eq!(next, Duration::from_secs(3));
    assert_eq!(titles(&app, "waiting").await, ["First"]);
    app.clock.advance(3_000);
    app.engine.dispatch_round(&options).await.unwrap();
    assert_eq!(titles(&app, "running").await, ["First"]);
}
