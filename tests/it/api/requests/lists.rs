//! Lists of requests.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{STATES, create, in_state, withdrawn};
use crate::support::TestApp;

/// Returns one field of each item of a list.
async fn list(app: &TestApp, query: &str, key: &str) -> Vec<Value> {
    let requests = app.get(&format!("/api/requests?{query}")).await.data();
    let requests = requests.as_array().unwrap().iter();
    requests.map(|request| request[key].clone()).collect()
}

#[tokio::test]
async fn a_list_applies_its_filters() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/requests").await.line(), @r#"200 {"data":[],"meta":{"timestamp":1767225600000,"event":0}}"#);
    for kind in ["fix", "research", "unheard-of"] {
        for priority in ["P0", "P1", "P2"] {
            let body = json!({ "title": format!("{kind} {priority}"), "body": "", "kind": kind, "priority": priority });
            app.post("/api/requests", body).await.data();
        }
    }
    assert_eq!(
        list(&app, "kind=research", "title").await,
        ["research P0", "research P1", "research P2"]
    );
    assert_eq!(
        list(&app, "priority=P1", "title").await,
        ["fix P1", "research P1", "unheard-of P1"]
    );
    assert_eq!(
        list(&app, "kind=fix&priority=P0&state=needs", "title").await,
        ["fix P0"]
    );
    assert_eq!(list(&app, "kind=nobody-asked", "title").await, [""; 0]);
    assert_eq!(list(&app, "kind=fix&state=done", "title").await, [""; 0]);
    assert_eq!(list(&app, "", "title").await.len(), 9);
    for state in STATES {
        in_state(&app, state).await;
    }
    for state in STATES {
        let found = list(
            &app,
            &format!("state={state}&priority=P2&kind=fix"),
            "state",
        )
        .await;
        let expected = if state == "needs" { 2 } else { 1 };
        assert_eq!(found, vec![state; expected]);
    }
    assert_eq!(list(&app, "state=claimed", "title").await, ["claimed"]);
}

#[tokio::test]
async fn withdrawn_requests_are_listed_only_on_demand() {
    let app = TestApp::new().await;
    create(&app, "wanted").await;
    let id = withdrawn(&app, "unwanted").await;
    assert_eq!(list(&app, "", "title").await, ["wanted"]);
    assert_eq!(list(&app, "withdrawn=false", "title").await, ["wanted"]);
    assert_eq!(list(&app, "withdrawn=true", "title").await, ["unwanted"]);
    assert_eq!(
        list(&app, "withdrawn=true&state=needs", "id").await,
        [json!(id)]
    );
    assert_eq!(list(&app, "withdrawn=true&state=done", "id").await, [""; 0]);
    assert_eq!(
        list(&app, "withdrawn=true&kind=research", "id").await,
        [""; 0]
    );
    assert_eq!(list(&app, "state=needs", "title").await, ["wanted"]);
}

#[tokio::test]
async fn pages_hold_every_request_once_and_oldest_first() {
    let app = TestApp::new().await;
    let mut ids = Vec::new();
    for place in 0..7 {
        ids.push(create(&app, &place.to_string()).await);
    }
    for place in [0, 3] {
        super::approve(&app, &ids[place]).await;
    }
    for (query, expected) in [
        ("", &["0", "1", "2", "3", "4", "5", "6"][..]),
        ("state=needs", &["1", "2", "4", "5", "6"]),
        ("state=delegated&kind=fix", &["0", "3"]),
        ("priority=P0", &[]),
    ] {
        for limit in [1, 2, 5, 7, 1000] {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let path = format!("/api/requests?{query}&limit={limit}{after}");
                let reply = app.get(&path).await;
                let page = reply.data();
                let page = page.as_array().unwrap();
                assert!(page.len() <= limit);
                found.extend(page.iter().map(|request| request["title"].clone()));
                match reply.json()["meta"]["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{query} {limit}");
        }
    }
    // An item that has left the list still works as a cursor.
    assert_eq!(
        list(
            &app,
            &format!("state=needs&limit=2&after={}", ids[3]),
            "title"
        )
        .await,
        ["4", "5"]
    );
}

#[tokio::test]
async fn a_list_without_a_limit_has_a_hundred_items() {
    let app = TestApp::new().await;
    for place in 0..101 {
        create(&app, &place.to_string()).await;
    }
    let reply = app.get("/api/requests").await;
    assert_eq!(reply.data().as_array().unwrap().len(), 100);
    assert_eq!(reply.json()["meta"]["next"], reply.data()[99]["id"]);
}

#[tokio::test]
async fn wrong_parameters_are_refused_by_name() {
    let app = TestApp::new().await;
    let refused = async |query: &str| app.get(&format!("/api/requests?{query}")).await.line();
    assert_snapshot!(refused("state=open").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: unknown variant `open`, expected one of `needs`, `delegated`, `next`, `claimed`, `done`"}}"#);
    assert_snapshot!(refused("state=Needs").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: unknown variant `Needs`, expected one of `needs`, `delegated`, `next`, `claimed`, `done`"}}"#);
    assert_snapshot!(refused("state=").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: unknown variant ``, expected one of `needs`, `delegated`, `next`, `claimed`, `done`"}}"#);
    assert_snapshot!(refused("priority=p1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: priority: unknown variant `p1`, expected one of `P0`, `P1`, `P2`"}}"#);
    assert_snapshot!(refused("priority=P3").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: priority: unknown variant `P3`, expected one of `P0`, `P1`, `P2`"}}"#);
    assert_snapshot!(refused("priority=1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: priority: unknown variant `1`, expected one of `P0`, `P1`, `P2`"}}"#);
    assert_snapshot!(refused("kind=Fix").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: kind: must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(refused("kind=").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: kind: must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(refused("kind='%20OR%201=1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: kind: must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(refused("withdrawn=yes").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: withdrawn: provided string was not `true` or `false`"}}"#);
    assert_snapshot!(refused("limit=0").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(refused("limit=1001").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(refused("after=nope").await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Request not found: nope"}}"#);
    assert_snapshot!(refused("after=a%2Fb").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused("status=needs").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: status: unknown field `status`, expected one of `kind`, `state`, `priority`, `withdrawn`, `newest`, `limit`, `after`"}}"#);
    assert_snapshot!(refused("state=needs&state=done").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: duplicate field `state`"}}"#);
}
