//! What the dispatcher has before it.

use std::time::Duration;

use chorus::engine::DispatcherOptions;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{ROUTES, seeded, set};
use crate::support::TestApp;

/// Leaves work behind and approves it. Returns its id.
async fn approved(app: &TestApp, title: &str, kind: &str, priority: &str) -> String {
    let body = json!({ "title": title, "body": "", "kind": kind, "priority": priority });
    let made = app.post("/api/requests", body).await.data();
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("/api/requests/{id}/approve");
    app.post_as_operator(&path, json!({})).await.data();
    id
}

/// Starts what may be started.
async fn round(app: &TestApp, max_runs: u32) {
    let options = DispatcherOptions {
        enabled: true,
        debounce: Duration::ZERO,
        max_runs,
        tmux: None,
    };
    app.engine.dispatch_round(&options).await.unwrap();
}

/// Returns what the overview shows of a list.
async fn titles(app: &TestApp, list: &str) -> Vec<Value> {
    let overview = app.get("/api/dispatch").await.data();
    let requests = overview[list].as_array().unwrap().iter();
    requests.map(|request| request["title"].clone()).collect()
}

#[tokio::test]
async fn an_idle_dispatcher_has_nothing_before_it() {
    let app = seeded().await;
    assert_snapshot!(app.get("/api/dispatch").await.page(), @r#"
    200
    {
      "data": {
        "enabled": false,
        "maxRuns": 0,
        "debounceSeconds": 0.0,
        "running": [],
        "waiting": [],
        "held": [],
        "stuck": []
      },
      "meta": {
        "timestamp": 1767225600000
      }
    }
    "#);
}

#[tokio::test]
async fn what_waits_is_shown_in_the_order_in_which_it_is_started() {
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
        approved(&app, title, kind, priority).await;
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
        round(&app, started).await;
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
async fn what_was_approved_first_is_not_older_than_what_was_asked_first() {
    let app = seeded().await;
    let body = |title: &str| json!({ "title": title, "body": "", "kind": "fix" });
    let older = app.post("/api/requests", body("older")).await.data();
    approved(&app, "younger", "fix", "P2").await;
    let path = format!("/api/requests/{}/approve", older["id"].as_str().unwrap());
    app.post_as_operator(&path, json!({})).await.data();
    assert_eq!(titles(&app, "waiting").await, ["older", "younger"]);
}

#[tokio::test]
async fn what_is_worked_on_is_shown_with_where_and_since_when() {
    let app = seeded().await;
    approved(&app, "By an agent", "fix", "P1").await;
    app.clock.advance(1_000);
    round(&app, 1).await;
    app.clock.advance(1_000);
    let by_hand = approved(&app, "By hand", "fix", "P2").await;
    let path = format!("/api/requests/{by_hand}/claim");
    app.post(&path, json!({ "agent": "somebody" })).await.data();
    app.clock.advance(1_000);
    assert_snapshot!(app.get("/api/dispatch").await.page(), @r#"
    200
    {
      "data": {
        "enabled": false,
        "maxRuns": 0,
        "debounceSeconds": 0.0,
        "running": [
          {
            "id": "<id 1>",
            "title": "By an agent",
            "kind": "fix",
            "priority": "P1",
            "agent": "developer",
            "since": 1767225601000,
            "taskId": "<id 2>",
            "handoffId": "<id 3>",
            "run": "queued",
            "workspace": "<tmp>/workspaces/<id 2>",
            "jobId": null,
            "attempts": 1
          },
          {
            "id": "<id 4>",
            "title": "By hand",
            "kind": "fix",
            "priority": "P2",
            "agent": "somebody",
            "since": 1767225602000,
            "taskId": null,
            "handoffId": null,
            "run": null,
            "workspace": null,
            "jobId": null,
            "attempts": 1
          }
        ],
        "waiting": [],
        "held": [],
        "stuck": []
      },
      "meta": {
        "timestamp": 1767225603000
      }
    }
    "#);
}

#[tokio::test]
async fn what_nobody_will_start_is_held_and_the_reason_says_what_to_do() {
    let app = seeded().await;
    let database = rusqlite::Connection::open(app.data_dir.database()).unwrap();
    let mut routes = app.get(ROUTES).await.data();
    routes[0]["mode"] = json!("interactive");
    routes[1]["agent"] = json!("qa");
    set(&app, routes).await.data();
    for (kind, count) in [
        ("unheard-of", 2),
        ("brainstorm", 1),
        ("research", 1),
        ("fix", 1),
    ] {
        for _ in 0..count {
            approved(&app, kind, kind, "P1").await;
        }
    }
    // What nobody could start is worth knowing before it is approved.
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
    // Only what can be started is.
    round(&app, 10).await;
    assert_eq!(titles(&app, "running").await, ["fix"]);
    assert_eq!(titles(&app, "waiting").await, [""; 0]);
}

#[tokio::test]
async fn what_has_failed_too_often_is_stuck_until_a_person_looks() {
    let app = seeded().await;
    let id = approved(&app, "Hopeless", "fix", "P0").await;
    let path = |action: &str| format!("/api/requests/{id}/{action}");
    app.post(
        &path("claim"),
        json!({ "agent": "somebody", "leaseSeconds": 1 }),
    )
    .await
    .data();
    app.clock.advance(1_000);
    round(&app, 0).await;
    assert_eq!(titles(&app, "stuck").await, [""; 0]);
    app.post_as_operator(&path("approve"), json!({}))
        .await
        .data();
    app.post(
        &path("claim"),
        json!({ "agent": "somebody", "leaseSeconds": 1 }),
    )
    .await
    .data();
    app.clock.advance(1_000);
    round(&app, 0).await;
    let overview = app.get("/api/dispatch").await.data();
    assert_snapshot!(crate::support::settled(&overview["stuck"].to_string()), @r#"[{"id":"<id 1>","title":"Hopeless","kind":"fix","priority":"P0","since":1767225602000,"attempts":2}]"#);
    app.post_as_operator(&path("approve"), json!({}))
        .await
        .data();
    assert_eq!(titles(&app, "stuck").await, [""; 0]);
    assert_eq!(titles(&app, "waiting").await, ["Hopeless"]);
}

#[tokio::test]
async fn a_request_that_nobody_will_start_does_not_hurry_others() {
    let app = seeded().await;
    let options = DispatcherOptions {
        enabled: true,
        debounce: Duration::from_secs(3),
        max_runs: 4,
        tmux: None,
    };
    approved(&app, "Held", "unheard-of", "P0").await;
    app.clock.advance(60_000);
    approved(&app, "First", "fix", "P2").await;
    let next = app.engine.dispatch_round(&options).await.unwrap().next;
    assert_eq!(next, Duration::from_secs(3));
    assert_eq!(titles(&app, "waiting").await, ["First"]);
    app.clock.advance(3_000);
    app.engine.dispatch_round(&options).await.unwrap();
    assert_eq!(titles(&app, "running").await, ["First"]);
}
