//! `/api/alerts`

use axum::body::Body;
use axum::http::{Method, Request};
use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::{OPERATOR_TOKEN, Reply, TestApp};

/// Raises an alert and returns its id.
async fn raise(app: &TestApp, message: &str) -> String {
    let alert = app.post("/api/alerts", json!({ "message": message })).await;
    alert.data()["id"].as_str().unwrap().to_owned()
}

async fn resolve(app: &TestApp, id: &str) -> Reply {
    let path = format!("/api/alerts/{id}/resolve");
    app.operator().post(&path, json!({})).await
}

/// Posts JSON with one more header.
async fn with(app: &TestApp, (name, value): (&str, &str), path: &str, body: Value) -> Reply {
    let request = Request::post(path)
        .header("host", "localhost")
        .header(name, value);
    app.send(request.body(body.to_string().into()).unwrap())
        .await
}

/// Lists the messages of alerts.
async fn messages(app: &TestApp, query: &str) -> Vec<String> {
    let alerts = app.get(&format!("/api/alerts?{query}")).await.data();
    let alerts = alerts.as_array().unwrap().iter();
    alerts
        .map(|alert| alert["message"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn an_alert_is_raised_shown_and_resolved() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/alerts").await.line(), @r#"200 {"data":[],"meta":{"timestamp":1767225600000,"event":0}}"#);
    let task = app.task("Write it").await;
    let body = json!({ "message": "The disk is full", "taskId": task });
    let raised = app.post("/api/alerts", body).await;
    assert_eq!(
        pick(&raised.data(), &["taskId", "raisedBy", "resolvedAt"]),
        json!({ "taskId": task, "raisedBy": "anonymous", "resolvedAt": null })
    );
    let id = raised.data()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/alerts/{id}");
    assert_eq!(app.get(&path).await.data(), raised.data());
    assert_eq!(app.get("/api/alerts").await.data(), json!([raised.data()]));
    app.clock.advance(1000);
    let resolved = resolve(&app, &id).await;
    assert_eq!(
        pick(&resolved.data(), &["resolvedAt", "resolvedBy"]),
        json!({ "resolvedAt": 1_767_225_601_000_i64, "resolvedBy": "operator" })
    );
    assert_eq!(app.get(&path).await.data(), resolved.data());
    assert_eq!(app.get("/api/alerts").await.data(), json!([]));
    let all = app.get("/api/alerts?resolved=true").await.data();
    assert_eq!(all, json!([resolved.data()]));
}

#[tokio::test]
async fn an_alert_is_resolved_once() {
    let app = TestApp::new().await;
    let id = raise(&app, "Look").await;
    let first = resolve(&app, &id).await.data();
    app.clock.advance(1000);
    assert_snapshot!(resolve(&app, &id).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Alert <id 1> was already resolved by operator"}}"#);
    assert_eq!(app.get(&format!("/api/alerts/{id}")).await.data(), first);
}

#[tokio::test]
async fn an_unknown_alert_or_task_is_not_found() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/alerts/nope").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Alert not found: nope"}}"#);
    assert_snapshot!(resolve(&app, "nope").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Alert not found: nope"}}"#);
    assert_snapshot!(resolve(&app, "..%2fx").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Alert not found: ../x"}}"#);
    assert_snapshot!(app.get("/api/alerts?after=nope").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Alert not found: nope"}}"#);
    let unknown = json!({ "message": "Look", "taskId": "nope" });
    assert_snapshot!(app.post("/api/alerts", unknown).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
    assert_eq!(app.get("/api/alerts").await.data(), json!([]));
    assert!(app.events().await.is_empty());
}

#[tokio::test]
async fn a_message_must_be_text_within_the_limit() {
    let app = TestApp::new().await;
    let refused = async |body: Value| app.post("/api/alerts", body).await.line();
    assert_snapshot!(app.request(Method::POST, "/api/alerts", "").await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is empty; send a JSON object"}}"#);
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `message`"}}"#);
    assert_snapshot!(refused(json!({ "message": "" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"message: must not be empty"}}"#);
    assert_snapshot!(refused(json!({ "message": " \n\t" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"message: must not be empty"}}"#);
    assert_snapshot!(refused(json!({ "message": 7 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"message: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(refused(json!({ "message": null })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"message: invalid type: null, expected a string"}}"#);
    assert_snapshot!(refused(json!({ "message": "a\u{0}b" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"message: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(refused(json!({ "message": "a", "taskId": 7 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"taskId: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(refused(json!({ "message": "a", "taskId": "../x" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"taskId: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused(json!({ "message": "a", "by": "me" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"by: unknown field `by`, expected `message` or `taskId`"}}"#);
    assert_snapshot!(refused(json!(["a"])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    let limit = Limits::default().alert;
    assert_snapshot!(refused(json!({ "message": "a".repeat(limit + 1) })).await, @r#"413 {"error":{"code":"TOO_LARGE","message":"message is too large: the limit is 16384 bytes","details":{"limit":16384}}}"#);
    // The limit counts bytes, not characters.
    let wide = json!({ "message": "é".repeat(limit / 2 + 1) });
    assert_eq!(app.post("/api/alerts", wide).await.status, 413);
    assert_eq!(app.get("/api/alerts").await.data(), json!([]));
    raise(&app, &"a".repeat(limit)).await;
    raise(&app, "two\nlines \u{1b}[2J 🎶").await;
    assert_eq!(
        messages(&app, "").await,
        ["a".repeat(limit), "two\nlines \u{1b}[2J 🎶".to_owned()]
    );
}

#[tokio::test]
async fn a_repeated_idempotency_key_changes_nothing() {
    let app = TestApp::new().await;
    let body = json!({ "message": "Look" });
    let first = with(&app, ("idempotency-key", "k"), "/api/alerts", body.clone()).await;
    app.clock.advance(1000);
    let second = with(&app, ("idempotency-key", "k"), "/api/alerts", body).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201));
    assert_eq!(first.data(), second.data());
    let other = json!({ "message": "Look away" });
    assert_snapshot!(with(&app, ("idempotency-key", "k"), "/api/alerts", other).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Idempotency-Key was already used for a different request. Choose another key"}}"#);
    assert_eq!(messages(&app, "").await, ["Look"]);
    let path = format!(
        "/api/alerts/{}/resolve",
        first.data()["id"].as_str().unwrap()
    );
    let resolve = || {
        let request = Request::post(&path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {OPERATOR_TOKEN}"))
            .header("idempotency-key", "r");
        app.send(request.body(Body::empty()).unwrap())
    };
    let (resolved, again) = (resolve().await, resolve().await);
    assert_eq!(resolved.data(), again.data());
    assert_eq!(app.events().await.len(), 2);
}

#[tokio::test]
async fn a_run_raises_alerts_about_its_own_tasks_and_resolves_none() {
    let app = TestApp::new().await;
    let (own, other) = (app.task("Write it").await, app.task("Other").await);
    app.start_run(&own, "developer", "sesame").await;
    let token = ("authorization", "Bearer sesame");
    let raised = with(&app, token, "/api/alerts", json!({ "message": "Help" })).await;
    assert_eq!(raised.data()["taskId"], json!(own));
    assert_eq!(raised.data()["raisedBy"], "developer");
    let child = with(&app, token, "/api/tasks", json!({ "description": "c" })).await;
    for task in [&json!(own), &child.data()["id"]] {
        let body = json!({ "message": "Help", "taskId": task });
        let raised = with(&app, token, "/api/alerts", body).await;
        assert_eq!(&raised.data()["taskId"], task);
    }
    let beyond = json!({ "message": "Help", "taskId": other });
    assert_snapshot!(with(&app, token, "/api/alerts", beyond).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may change only its own task <id 1> and the tasks below it"}}"#);
    let nowhere = json!({ "message": "Help", "taskId": "nope" });
    assert_snapshot!(with(&app, token, "/api/alerts", nowhere).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
    let id = raised.data()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/alerts/{id}/resolve");
    assert_snapshot!(with(&app, token, &path, json!({})).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"A run of developer may not resolve alerts, because the operator must see them. Leave the alert open"}}"#);
    assert_eq!(messages(&app, "").await, ["Help"; 3]);
    assert_eq!(resolve(&app, &id).await.data()["resolvedBy"], "operator");
}

#[tokio::test]
async fn pages_hold_every_alert_once_and_oldest_first() {
    let app = TestApp::new().await;
    let mut ids = Vec::new();
    for place in 0..7 {
        ids.push(raise(&app, &place.to_string()).await);
    }
    for place in [0, 3] {
        resolve(&app, &ids[place]).await.data();
    }
    for (query, expected) in [
        ("", &["1", "2", "4", "5", "6"][..]),
        ("resolved=false", &["1", "2", "4", "5", "6"]),
        ("resolved=true", &["0", "1", "2", "3", "4", "5", "6"]),
    ] {
        for limit in [1, 2, 5, 7, 1000] {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let path = format!("/api/alerts?{query}&limit={limit}{after}");
                let reply = app.get(&path).await;
                let page = reply.data();
                let page = page.as_array().unwrap();
                assert!(page.len() <= limit);
                found.extend(page.iter().map(|alert| alert["message"].clone()));
                match reply.json()["meta"]["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{query} {limit}");
        }
    }
    // An item that has left the list still works as a cursor.
    let behind = format!("limit=2&after={}", ids[3]);
    assert_eq!(messages(&app, &behind).await, ["4", "5"]);
    let refused = async |query: &str| app.get(&format!("/api/alerts?{query}")).await.line();
    assert_snapshot!(refused("limit=0").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(refused("resolved=yes").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: resolved: provided string was not `true` or `false`"}}"#);
    assert_snapshot!(refused("after=a%2Fb").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused("state=active").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: unknown field `state`, expected one of `resolved`, `limit`, `after`"}}"#);
}

#[tokio::test]
async fn alerts_appear_in_the_history_of_their_task_and_in_the_event_stream() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let about = json!({ "message": "Of the task", "taskId": task });
    let about = app.post("/api/alerts", about).await.data();
    let alone = raise(&app, "Of nothing").await;
    for id in [about["id"].as_str().unwrap(), &alone] {
        resolve(&app, id).await.data();
    }
    let history = app.get(&format!("/api/tasks/{task}/history")).await.data();
    let events = history["events"].as_array().unwrap().iter();
    let events: Vec<_> = events.map(|event| event["eventType"].clone()).collect();
    assert_eq!(events, ["task_created", "alert_raised", "alert_resolved"]);
    // The stream ends after the last event, because the server is stopping.
    app.engine.stopping().cancel();
    let shown = async |query: &str| {
        let stream = app.get(&format!("/api/events?after=1{query}")).await;
        crate::support::redact(std::str::from_utf8(&stream.body).unwrap())
    };
    assert_snapshot!(shown("").await, @r#"
    id: 1

    id: 2
    data: {"timestamp":1767225600000,"eventType":"alert_raised","data":{"alertId":"<id 1>","by":"anonymous","message":"Of the task"},"number":2,"taskId":"<id 2>","masterTaskId":"<id 2>"}

    id: 3
    data: {"timestamp":1767225600000,"eventType":"alert_raised","data":{"alertId":"<id 3>","by":"anonymous","message":"Of nothing"},"number":3}

    id: 4
    data: {"timestamp":1767225600000,"eventType":"alert_resolved","data":{"alertId":"<id 1>","by":"operator"},"number":4,"taskId":"<id 2>","masterTaskId":"<id 2>"}

    id: 5
    data: {"timestamp":1767225600000,"eventType":"alert_resolved","data":{"alertId":"<id 3>","by":"operator"},"number":5}
    "#);
    assert_snapshot!(shown(&format!("&task={task}")).await, @r#"
    id: 1

    id: 2
    data: {"timestamp":1767225600000,"eventType":"alert_raised","data":{"alertId":"<id 1>","by":"anonymous","message":"Of the task"},"number":2,"taskId":"<id 2>","masterTaskId":"<id 2>"}

    id: 4
    data: {"timestamp":1767225600000,"eventType":"alert_resolved","data":{"alertId":"<id 1>","by":"operator"},"number":4,"taskId":"<id 2>","masterTaskId":"<id 2>"}
    "#);
}
