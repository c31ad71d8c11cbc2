//! `/api/requests`

mod claims;
mod idempotency;
mod input;
mod life;
mod lists;
mod moves;
mod operator;
mod runs;
mod waiting;
mod withdraw;

use std::time::Duration;

use axum::http::{Method, Request};
use chorus::domain::FileTag;
use chorus::engine::DispatcherOptions;
use chorus::ledger::request::{self, FileReport, FilesReport};
use serde_json::{Value, json};

use crate::support::{OPERATOR_TOKEN, Reply, TestApp};

/// Every state, in the order of a request's life.
const STATES: [&str; 5] = ["needs", "delegated", "next", "claimed", "done"];

/// Creates a request and returns its id.
async fn create(app: &TestApp, title: &str) -> String {
    let body = json!({ "title": title, "body": "All of it.", "kind": "fix" });
    id(&app.post("/api/requests", body).await)
}

fn id(reply: &Reply) -> String {
    reply.data()["id"].as_str().unwrap().to_owned()
}

/// Posts an action on a request without a token.
async fn act(app: &TestApp, id: &str, action: &str, body: Value) -> Reply {
    let path = format!("/api/requests/{id}/{action}");
    app.post(&path, body).await
}

/// Posts an action on a request as the operator.
async fn act_as_operator(app: &TestApp, id: &str, action: &str, body: Value) -> Reply {
    let path = format!("/api/requests/{id}/{action}");
    app.operator().post(&path, body).await
}

async fn approve(app: &TestApp, id: &str) {
    act_as_operator(app, id, "approve", json!({})).await.data();
}

/// Claims a request and returns the fencing token.
async fn claim(app: &TestApp, id: &str, agent: &str) -> u64 {
    let claimed = act(app, id, "claim", json!({ "agent": agent }))
        .await
        .data();
    claimed["lease"]["fencing"].as_u64().unwrap()
}

/// Creates a request and brings it to a state.
async fn in_state(app: &TestApp, state: &str) -> String {
    let id = create(app, state).await;
    match state {
        "needs" => {}
        "next" => {
            act_as_operator(app, &id, "next", json!({})).await.data();
        }
        _ => approve(app, &id).await,
    }
    if matches!(state, "claimed" | "done") {
        claim(app, &id, "worker").await;
    }
    if state == "done" {
        act(app, &id, "done", json!({ "response": "It is done." }))
            .await
            .data();
    }
    assert_eq!(show(app, &id).await["state"], state);
    id
}

async fn show(app: &TestApp, id: &str) -> Value {
    app.get(&format!("/api/requests/{id}")).await.data()
}

/// Returns the status and the message of an error.
fn refusal(reply: &Reply) -> String {
    let json = reply.json();
    let message = json["error"]["message"].as_str().unwrap();
    crate::support::redact(&format!("{} {message}", reply.status.as_u16()))
}

/// Starts a run of the developer on a new task, with this token. Returns the task.
async fn task_with_run(app: &TestApp, token: &str) -> String {
    let task = app.task("Write it").await;
    app.start_run(&task, "developer", token).await;
    task
}

/// Posts JSON with an idempotency key.
async fn with_key(app: &TestApp, key: &str, path: &str, body: Value) -> Reply {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {OPERATOR_TOKEN}"))
        .header("idempotency-key", key);
    app.send(request.body(body.to_string().into()).unwrap())
        .await
}

/// Creates a request from a file, and withdraws it by removing it from the file.
async fn withdrawn(app: &TestApp, title: &str) -> String {
    reconcile(app, &[title]).await;
    reconcile(app, &[]).await;
    let found = app.get("/api/requests?withdrawn=true").await.data();
    let mut found = found.as_array().unwrap().iter();
    let found = found.find(|request| request["title"] == title).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

/// Reports the requests that a file contains now.
async fn reconcile(app: &TestApp, titles: &[&str]) {
    let tag = |(line, title): (u32, &&str)| FileTag {
        kind: "fix".parse().unwrap(),
        state: chorus::domain::RequestState::Needs,
        line,
        title: (*title).to_owned(),
        body: String::new(),
        priority: None,
        effort: None,
    };
    let report = FilesReport {
        files: vec![FileReport {
            file: "/notes/todo.md".parse().unwrap(),
            root: "/notes".parse().unwrap(),
            tags: (1..).zip(titles).map(tag).collect(),
            alerts: Vec::new(),
        }],
        file_approval: true,
    };
    app.write(move |tx| request::reconcile_files(tx, &report))
        .await
        .unwrap();
}

/// Runs one round of a dispatcher that may start nothing.
async fn dispatch_nothing(app: &TestApp) -> Duration {
    let options = DispatcherOptions {
        enabled: false,
        debounce: Duration::ZERO,
        max_runs: 0,
        tmux: None,
    };
    app.engine.dispatch_round(&options).await.unwrap().next
}
