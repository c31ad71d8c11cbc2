//! Tasks with a role find their agents, and increments test themselves.

mod choice;
mod context;
mod decisions;
mod failures;
mod increments;
mod readiness;
mod restart;

use chorus::client::Client;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Events;

/// What a scripted agent prints to say what came out.
fn report(result: &str, summary: &str) -> String {
    format!(r#"echo 'Done. {{"result":"{result}","summary":"{summary}"}}'"#)
}

/// Asks the server for something.
async fn get(client: &Client, path: &str) -> Value {
    client.get(path, &[]).await.unwrap().data().unwrap()
}

/// Sends something to the server.
async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Value {
    let answer = client.send_json(method, path, body).await;
    answer.unwrap().data().unwrap()
}

/// Makes a task.
async fn make(client: &Client, body: &Value) -> String {
    let task = send(client, Method::POST, "/api/tasks", body).await;
    task["id"].as_str().unwrap().to_owned()
}

/// Makes an increment.
async fn increment(client: &Client, body: &Value) -> String {
    let made = send(client, Method::POST, "/api/increments", body).await;
    made["id"].as_str().unwrap().to_owned()
}

/// Waits until an increment is done, and returns it.
async fn done(client: &Client, id: &str) -> Value {
    Events::listen(client)
        .await
        .until("increment_done", id)
        .await;
    get(client, &format!("/api/increments/{id}")).await
}

/// Waits until an increment is blocked, and returns it.
async fn blocked(client: &Client, id: &str) -> Value {
    let mut events = Events::listen(client).await;
    events.until("increment_blocked", id).await;
    get(client, &format!("/api/increments/{id}")).await
}

/// Shows the tasks of an increment, one in a line: stage, round, status and who worked on it.
fn stages(increment: &Value) -> Vec<String> {
    let tasks = increment["tasks"].as_array().unwrap();
    tasks
        .iter()
        .map(|task| {
            let chain = task["agentChain"].as_array().unwrap();
            let agents: Vec<_> = chain
                .iter()
                .map(|entry| entry["agentName"].as_str().unwrap())
                .collect();
            format!(
                "{} {} {} {}",
                task["stage"].as_str().unwrap(),
                task["round"],
                task["status"]["type"].as_str().unwrap(),
                agents.join(" ")
            )
        })
        .collect()
}

/// Returns what an agent was told at its last hand-off on a task.
async fn prompt(client: &Client, data_dir: &std::path::Path, task: &Value) -> String {
    let id = task["agentChain"].as_array().unwrap().last().unwrap()["id"].clone();
    let handoff = get(client, &format!("/api/handoffs/{}", id.as_str().unwrap())).await;
    let run = handoff["run"]["id"].as_str().unwrap().to_owned();
    std::fs::read_to_string(data_dir.join("runs").join(run).join("prompt.txt")).unwrap()
}

fn need(role: &str, tags: &[&str]) -> Value {
    json!({ "description": "a task", "agentRole": role, "specialistTags": tags })
}
