//! `/api/ids`

use std::process::Command;

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::TestApp;

#[tokio::test]
async fn ids_are_listed_newest_first_by_their_beginning() {
    let app = TestApp::new().await;
    let (first, second) = (app.task("first\nof two").await, app.task("second").await);
    assert_snapshot!(app.get("/api/ids?noun=task").await.line(), @r#"200 {"data":[{"id":"<id 1>","title":"second"},{"id":"<id 2>","title":"first of two"}],"meta":{"timestamp":1767225600000}}"#);
    assert_snapshot!(app.get("/api/ids?noun=task&limit=1").await.line(), @r#"200 {"data":[{"id":"<id 1>","title":"second"}],"meta":{"timestamp":1767225600000}}"#);
    assert_snapshot!(app.get("/api/ids?noun=mail").await.line(), @r#"200 {"data":[],"meta":{"timestamp":1767225600000}}"#);
    let of_first = app.get(&format!("/api/ids?noun=task&prefix={first}")).await;
    assert_eq!(
        of_first.data(),
        json!([{ "id": first, "title": "first of two" }])
    );
    let shared: String = first
        .chars()
        .zip(second.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a)
        .collect();
    let of_both = app
        .get(&format!(
            "/api/ids?noun=task&prefix={}",
            shared.to_uppercase()
        ))
        .await
        .data();
    let ids: Vec<_> = of_both
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["id"])
        .collect();
    assert_eq!(ids, [&second, &first]);
}

#[tokio::test]
async fn an_unknown_noun_and_an_illegal_prefix_are_refused() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/ids?noun=agent").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: noun: unknown variant `agent`, expected one of `task`, `handoff`, `request`, `increment`, `alert`, `mail`"}}"#);
    assert_snapshot!(app.get("/api/ids").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: missing field `noun`"}}"#);
    assert_snapshot!(app.get("/api/ids?noun=task&prefix=%25").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: prefix: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(app.get("/api/ids?noun=task&limit=0").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
}

/// A run may list every noun, so it may look up the ids, until it passes control on.
#[tokio::test]
async fn a_run_sees_what_its_lists_show() {
    let app = TestApp::new().await;
    let own = app.task("own").await;
    let other = app.task("other").await;
    app.start_run(&own, "developer", "sesame").await;
    let listed = app
        .with_token("sesame", Method::GET, "/api/tasks", Value::Null)
        .await
        .data();
    let found = app
        .with_token("sesame", Method::GET, "/api/ids?noun=task", Value::Null)
        .await
        .data();
    assert_eq!(
        (listed.as_array().unwrap().len(), &found[0]["id"]),
        (2, &json!(other))
    );
    let refused = app
        .with_token("wrong", Method::GET, "/api/ids?noun=task", Value::Null)
        .await;
    assert_eq!(refused.status, 401);
}

const NOUNS: [(&str, &str); 6] = [
    ("tasks", "substr(description, 1, 400)"),
    ("handoffs", "agent_name || ': ' || substr(prompt, 1, 400)"),
    ("requests", "title"),
    ("increments", "title"),
    ("alerts", "substr(message, 1, 400)"),
    ("mail", "subject"),
];

/// Returns the steps of SQLite for a query.
fn plan(app: &TestApp, query: &str) -> Vec<String> {
    let plan = Command::new("sqlite3")
        .arg("-readonly")
        .arg(app.data_dir.database())
        .arg(format!("EXPLAIN QUERY PLAN {query}"))
        .output()
        .unwrap();
    let plan = String::from_utf8(plan.stdout).unwrap();
    plan.lines().skip(1).map(str::to_owned).collect()
}

/// A prefix is a range of the unique index of the ids, in its order.
#[tokio::test]
async fn a_prefix_is_found_by_the_index() {
    let app = TestApp::new().await;
    for (table, text) in NOUNS {
        let query = format!(
            "SELECT id, {text} FROM {table} WHERE id > 'a' AND id < 'a~' ORDER BY id DESC LIMIT 10"
        );
        let search =
            format!("`--SEARCH {table} USING INDEX sqlite_autoindex_{table}_1 (id>? AND id<?)");
        assert_eq!(plan(&app, &query), [search], "{table}");
    }
}

/// An end is looked for in the index of the ids. The rows, with their long texts, are not read.
#[tokio::test]
async fn an_end_is_looked_for_in_the_index_only() {
    let app = TestApp::new().await;
    for (table, text) in NOUNS {
        let query = format!(
            "SELECT id, {text} FROM {table} WHERE id IN (SELECT id FROM {table}
              WHERE substr(id, -length('beef')) = 'beef' ORDER BY id DESC LIMIT 10) ORDER BY id DESC"
        );
        let index = format!("sqlite_autoindex_{table}_1");
        let plan = plan(&app, &query);
        let scans: Vec<_> = plan.iter().filter(|step| step.contains("SCAN")).collect();
        let scan = format!("SCAN {table} USING COVERING INDEX {index}");
        assert!(
            matches!(scans[..], [step] if step.ends_with(&scan)),
            "{plan:?}"
        );
        let search = format!("`--SEARCH {table} USING INDEX {index} (id=?)");
        assert!(
            plan.iter().any(|step| step.ends_with(&search[3..])),
            "{plan:?}"
        );
    }
}

#[tokio::test]
async fn ids_are_found_by_their_end_if_none_begins_with_it() {
    let app = TestApp::new().await;
    let (first, second) = (app.task("first").await, app.task("second").await);
    for id in [&first, &second] {
        let end = id[id.len() - 8..].to_uppercase();
        let found = app.get(&format!("/api/ids?noun=task&part={end}")).await;
        assert_eq!(found.data()[0]["id"], json!(id));
        let other = app.get(&format!("/api/ids?noun=request&part={end}")).await;
        assert_eq!(other.data(), json!([]));
    }
    let begun = app.get("/api/ids?noun=task&part=0").await.data();
    assert_eq!(begun.as_array().unwrap().len(), 2);
    assert_snapshot!(app.get("/api/ids?noun=task&part=a&prefix=b").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: part: cannot be combined with prefix"}}"#);
}
