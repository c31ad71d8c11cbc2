//! `/api/analytics`

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Simultaneous, TestApp, count_simultaneous_reads, invariants};

/// Hands a new task to an agent, and completes or cancels the hand-off after some milliseconds.
async fn hand_off(app: &TestApp, agent: &str, millis: i64, completes: bool) {
    let task = app.task("t").await;
    let body = json!({ "agentName": agent, "prompt": "p" });
    app.post(&format!("/api/tasks/{task}/handoff"), body)
        .await
        .data();
    app.clock.advance(millis);
    let path = format!("/api/tasks/{task}/handoff");
    if completes {
        app.put(&format!("{path}/complete"), json!({ "output": "o" }))
            .await
            .data();
    } else {
        app.post(&format!("{path}/cancel"), json!({})).await.data();
    }
}

async fn move_to(app: &TestApp, session: &str, from: &str, to: &str) {
    let body = json!({
        "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "i", "conversationHistory": [], "invoke": false,
    });
    app.post(&format!("/api/sessions/{session}/handoffs"), body)
        .await
        .data();
}

#[tokio::test]
async fn an_empty_ledger_has_empty_figures() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/analytics/handoffs").await.line(), @r#"200 {"data":{"total":{"handoffs":0,"ended":0,"completed":0,"successRate":null,"medianMs":null,"p95Ms":null,"costUsd":null},"bounces":0,"pairs":[],"paths":[]},"meta":{"timestamp":1767225600000,"event":0}}"#);
}

#[tokio::test]
async fn figures_are_grouped_by_pair_of_agents() {
    let app = TestApp::new().await;
    for millis in 1..=100 {
        hand_off(&app, "qa", millis, millis % 4 != 0).await;
    }
    hand_off(&app, "planner", 7, true).await;
    let open = app.task("open").await;
    let body = json!({ "agentName": "qa", "prompt": "p" });
    app.post(&format!("/api/tasks/{open}/handoff"), body)
        .await
        .data();
    let figures = app.get("/api/analytics/handoffs").await.data();
    assert_eq!(
        figures["pairs"][0],
        json!({
            "fromAgent": null, "toAgent": "qa", "handoffs": 101, "ended": 100, "completed": 75, "successRate": 0.75,
            "medianMs": 50, "p95Ms": 95, "costUsd": null, "bounces": 0,
        })
    );
    assert_eq!(figures["pairs"][1]["medianMs"], 7);
    assert_eq!(figures["total"]["handoffs"], 102);
    let of_planner = app
        .get("/api/analytics/handoffs?agent=Planner")
        .await
        .data();
    assert_eq!(of_planner["total"]["handoffs"], 1);
    let now = app.clock.now().as_millis();
    let lately = app
        .get(&format!("/api/analytics/handoffs?since={now}"))
        .await
        .data();
    assert_eq!(lately["total"]["handoffs"], 1);
    let later = app
        .get(&format!("/api/analytics/handoffs?since={}", now + 1))
        .await
        .data();
    assert_eq!(later["total"]["handoffs"], 0);
}

#[tokio::test]
async fn bounces_and_common_paths_are_counted_along_the_chain() {
    let app = TestApp::new().await;
    for session in ["s1", "s2"] {
        move_to(&app, session, "planner", "qa").await;
        move_to(&app, session, "qa", "planner").await;
        move_to(&app, session, "planner", "developer").await;
    }
    let figures = app.get("/api/analytics/handoffs").await.data();
    assert_eq!(figures["bounces"], 2);
    let bounced = figures["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pair| pair["fromAgent"] == "qa");
    assert_eq!(bounced.unwrap()["bounces"], 2);
    // A hand-off that was only recorded takes no time.
    assert_eq!(bounced.unwrap()["medianMs"], Value::Null);
    assert_eq!(
        figures["paths"],
        json!([
            { "agents": ["planner", "qa", "planner"], "length": 2, "count": 2 },
            { "agents": ["qa", "planner", "developer"], "length": 2, "count": 2 },
            { "agents": ["planner", "qa", "planner", "developer"], "length": 3, "count": 2 },
        ])
    );
    assert_snapshot!(app.get("/api/analytics/handoffs?since=yesterday").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: since: \"yesterday\" is not a number of milliseconds since the epoch"}}"#);
}

#[tokio::test]
async fn many_analytics_at_once_leave_readers_for_other_requests() {
    let simultaneous = Arc::new(Simultaneous::default());
    let app = TestApp::with_database(Limits::default(), |database| {
        count_simultaneous_reads(&database, simultaneous.clone())
    })
    .await;
    let figures = (0..16).map(|_| app.get_in_background("/api/analytics/handoffs"));
    for figures in figures.collect::<Vec<_>>() {
        figures.await.unwrap().data();
    }
    assert_eq!(simultaneous.most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn figures_are_summed_by_day() {
    const DAY: i64 = 86_400_000;
    let app = TestApp::new().await;
    let start = app.clock.now().as_millis();
    hand_off(&app, "qa", 1500, true).await;
    hand_off(&app, "developer", 500, false).await;
    app.clock
        .advance(start + DAY - 1 - app.clock.now().as_millis());
    // A hand-off counts on the day on which it started.
    hand_off(&app, "qa", 2, true).await;
    app.clock.advance(2 * DAY);
    hand_off(&app, "qa", 1000, true).await;
    let connection = invariants::open(&app.data_dir.database());
    connection
        .execute("UPDATE runs SET cost_usd = 0.25 WHERE number IN (1, 2)", [])
        .unwrap();
    let days = async |query: &str| {
        app.get(&format!("/api/analytics/days?{query}"))
            .await
            .data()
    };
    assert_eq!(
        days("").await,
        json!([
            { "day": "2026-01-01", "handoffs": 3, "completed": 2, "failed": 0, "costUsd": 0.5, "seconds": 2.002 },
            { "day": "2026-01-04", "handoffs": 1, "completed": 1, "failed": 0, "costUsd": null, "seconds": 1.0 },
        ])
    );
    assert_eq!(
        days("agent=Developer").await,
        json!([{ "day": "2026-01-01", "handoffs": 1, "completed": 0, "failed": 0, "costUsd": 0.25, "seconds": 0.5 }])
    );
    assert_eq!(
        days("from=2026-01-02&to=2026-01-04")
            .await
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(days("to=2026-01-03").await.as_array().unwrap().len(), 1);
    assert_eq!(
        days("from=2025-01-04&to=2026-01-04")
            .await
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let tasks = app.get("/api/tasks").await.data();
    let task = tasks[1]["id"].as_str().unwrap();
    assert_eq!(days(&format!("task={task}")).await[0]["handoffs"], 1);
}

#[tokio::test]
async fn wrong_days_are_refused() {
    let app = TestApp::new().await;
    let refused = async |query: &str| {
        app.get(&format!("/api/analytics/days?{query}"))
            .await
            .line()
    };
    assert_snapshot!(refused("from=yesterday").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: from: must be a day such as 2026-01-31"}}"#);
    assert_snapshot!(refused("from=2026-01-02&to=2026-01-01").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: from: must not be after the last day"}}"#);
    assert_snapshot!(refused("from=2025-01-01&to=2026-01-02").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: from: must be within 366 days of the last day"}}"#);
    assert_snapshot!(refused("task=nope").await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
}
