//! Lists that are longer than a page

use chorus::config::Limits;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::TestApp;

/// Creates tasks and completes every third. Returns all ids, and those of the completed tasks.
async fn create_tasks(app: &TestApp, count: usize) -> (Vec<String>, Vec<String>) {
    let (mut all, mut completed) = (Vec::new(), Vec::new());
    for place in 0..count {
        let id = app.task(&format!("task {place}")).await;
        if place % 3 == 0 {
            app.put(
                &format!("/api/tasks/{id}/status"),
                json!({ "status": "completed" }),
            )
            .await
            .data();
            completed.push(id.clone());
        }
        all.push(id);
    }
    (all, completed)
}

/// Follows `meta.next` to the end and returns the ids of each page.
async fn pages(app: &TestApp, query: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut after = String::new();
    loop {
        let reply = app.get(&format!("/api/tasks?{query}{after}")).await;
        let ids = reply.data().as_array().unwrap().iter().map(id).collect();
        pages.push(ids);
        match reply.json()["meta"]["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return pages,
        }
    }
}

fn id(task: &Value) -> String {
    task["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn pages_hold_every_task_once_and_oldest_first() {
    let app = TestApp::new().await;
    let (all, completed) = create_tasks(&app, 25).await;
    for view in ["full", "summary"] {
        for limit in [1, 7, 24, 25, 26, 1000] {
            let found = pages(&app, &format!("view={view}&limit={limit}")).await;
            assert!(found.iter().all(|page| page.len() <= limit));
            assert_eq!(found.concat(), all, "{view} {limit}");
            let query = format!("view={view}&limit={limit}&status=completed");
            assert_eq!(
                pages(&app, &query).await.concat(),
                completed,
                "{view} {limit}"
            );
        }
    }
    assert_eq!(
        pages(&app, "limit=25").await.len(),
        1,
        "a full last page has no next"
    );
    assert_eq!(pages(&app, "status=failed").await, [[""; 0]]);
}

#[tokio::test]
async fn changes_between_two_pages_lose_no_task() {
    let app = TestApp::new().await;
    let (all, completed) = create_tasks(&app, 9).await;
    let first = app.get("/api/tasks?status=completed&limit=1").await;
    // The task of the cursor leaves the list, and a new task joins at its end.
    app.put(
        &format!("/api/tasks/{}/status", completed[0]),
        json!({ "status": "failed" }),
    )
    .await
    .data();
    app.put(
        &format!("/api/tasks/{}/status", all[8]),
        json!({ "status": "completed" }),
    )
    .await
    .data();
    let next = first.json()["meta"]["next"].as_str().unwrap().to_owned();
    let rest = app
        .get(&format!("/api/tasks?status=completed&after={next}"))
        .await
        .data();
    let ids: Vec<_> = rest.as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, [completed[1].as_str(), &completed[2], &all[8]]);
}

#[tokio::test]
async fn a_list_without_a_limit_has_the_default_length() {
    let limits = Limits {
        page: 3,
        largest_page: 5,
        ..Limits::default()
    };
    let app = TestApp::with_limits(limits).await;
    create_tasks(&app, 6).await;
    let lengths = |pages: Vec<Vec<String>>| pages.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(pages(&app, "").await), [3, 3]);
    assert_eq!(lengths(pages(&app, "limit=5").await), [5, 1]);
    assert_snapshot!(app.get("/api/tasks?limit=6").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 5"}}"#);
}

#[tokio::test]
async fn wrong_parameters_are_refused_by_name() {
    let app = TestApp::new().await;
    let refused = async |query: &str| app.get(&format!("/api/tasks?{query}")).await.line();
    assert_snapshot!(refused("limit=0").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(refused("limit=1001").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(refused("limit=-1").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: invalid digit found in string"}}"#);
    assert_snapshot!(refused("limit=abc").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: invalid digit found in string"}}"#);
    assert_snapshot!(refused("limit=").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: cannot parse integer from empty string"}}"#);
    assert_snapshot!(refused("limit=99999999999").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: number too large to fit in target type"}}"#);
    assert_snapshot!(refused("limit=1&limit=2").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: duplicate field `limit`"}}"#);
    assert_snapshot!(refused("status=done").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: status: unknown variant `done`, expected one of `pending`, `active`, `waiting`, `completed`, `failed`"}}"#);
    assert_snapshot!(refused("view=big").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: view: unknown variant `big`, expected `full` or `summary`"}}"#);
    assert_snapshot!(refused("offset=3").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: offset: unknown field `offset`, expected one of `status`, `agentRole`, `tags`, `ready`, `forAgent`, `delegated`, `newest`, `limit`, `after`, `view`"}}"#);
    assert_snapshot!(refused("after=a%2Fb").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: after: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused("after=0198f3c0").await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: 0198f3c0"}}"#);
}

#[tokio::test]
async fn an_empty_list_is_an_empty_array() {
    let app = TestApp::new().await;
    assert_snapshot!(app.get("/api/tasks").await.line(), @r#"200 {"data":[],"meta":{"timestamp":1767225600000,"event":0}}"#);
}

#[tokio::test]
async fn requests_are_listed_oldest_or_newest_first() {
    let app = TestApp::new().await;
    let mut all = Vec::new();
    for place in 0..5 {
        let kind = if place % 2 == 0 { "fix" } else { "chores" };
        let request = json!({ "title": format!("request {place}"), "body": "", "kind": kind });
        all.push(id(&app.post("/api/requests", request).await.data()));
    }
    for filter in ["", "&state=needs"] {
        for limit in [1, 2, 5] {
            for (order, kind) in [("false", ""), ("true", ""), ("true", "&kind=fix")] {
                let mut expected: Vec<_> = match kind {
                    "" => all.clone(),
                    _ => all.iter().step_by(2).cloned().collect(),
                };
                if order == "true" {
                    expected.reverse();
                }
                let query = format!("newest={order}&limit={limit}{filter}{kind}");
                let mut found = Vec::new();
                let mut after = String::new();
                loop {
                    let reply = app.get(&format!("/api/requests?{query}{after}")).await;
                    found.extend(reply.data().as_array().unwrap().iter().map(id));
                    match reply.json()["meta"]["next"].as_str() {
                        Some(next) => after = format!("&after={next}"),
                        None => break,
                    }
                }
                assert_eq!(found, expected, "{query}");
            }
        }
    }
}

#[tokio::test]
async fn tasks_are_listed_newest_first_on_request() {
    let app = TestApp::new().await;
    let mut all = Vec::new();
    for place in 0..5 {
        let (role, tag) = if place % 2 == 0 {
            ("testing", "sql")
        } else {
            ("fixing", "rust")
        };
        let task = json!({ "description": "d", "agentRole": role, "specialistTags": [tag] });
        all.push(id(&app.post("/api/tasks", task).await.data()));
    }
    let even: Vec<_> = all.iter().step_by(2).cloned().collect();
    for (filter, mut expected) in [
        ("", all.clone()),
        ("&status=pending", all.clone()),
        ("&agentRole=testing", even.clone()),
        ("&tags=sql", even),
        ("&tags=sql,rust", all),
    ] {
        expected.reverse();
        for limit in [1, 2, 5] {
            let mut found = Vec::new();
            let mut after = String::new();
            loop {
                let path = format!("/api/tasks?newest=true&limit={limit}{filter}{after}");
                let reply = app.get(&path).await;
                found.extend(reply.data().as_array().unwrap().iter().map(id));
                match reply.json()["meta"]["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{filter} {limit}");
        }
    }
    assert_snapshot!(app.get("/api/tasks?newest=true&ready=true").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: newest: cannot be combined with ready=true; ready tasks are sorted by priority"}}"#);
}
