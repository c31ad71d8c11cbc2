//! The router gives tasks to agents by role, and increments go through their stages.

mod choice;
mod context;
mod decisions;
mod failures;
mod figures;
mod increments;
mod late_context;
mod readiness;
mod restart;
mod unsuited;

use chorus::client::Client;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Events;

/// A shell command that prints an agent's report.
fn print_report(result: &str, summary: &str) -> String {
    format!(r#"echo 'Done. {{"result":"{result}","summary":"{summary}"}}'"#)
}

async fn get(client: &Client, path: &str) -> Value {
    client.get(path, &[]).await.unwrap().data().unwrap()
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Value {
    let answer = client.send_json(method, path, body).await;
    answer.unwrap().data().unwrap()
}

async fn create_task(client: &Client, body: &Value) -> String {
    let task = send(client, Method::POST, "/api/tasks", body).await;
    task["id"].as_str().unwrap().to_owned()
}

async fn create_increment(client: &Client, body: &Value) -> String {
    let made = send(client, Method::POST, "/api/increments", body).await;
    made["id"].as_str().unwrap().to_owned()
}

async fn wait_until_done(client: &Client, id: &str) -> Value {
    Events::listen(client)
        .await
        .wait_for("increment_done", id)
        .await;
    get(client, &format!("/api/increments/{id}")).await
}

async fn wait_until_blocked(client: &Client, id: &str) -> Value {
    let mut events = Events::listen(client).await;
    events.wait_for("increment_blocked", id).await;
    get(client, &format!("/api/increments/{id}")).await
}

/// Formats each task of an increment as a line: stage, round, status and agents.
fn stage_lines(increment: &Value) -> Vec<String> {
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

/// Returns the prompt of the last hand-off of a task.
async fn last_prompt(client: &Client, data_dir: &std::path::Path, task: &Value) -> String {
    let id = task["agentChain"].as_array().unwrap().last().unwrap()["id"].clone();
    let handoff = get(client, &format!("/api/handoffs/{}", id.as_str().unwrap())).await;
    let run = handoff["run"]["id"].as_str().unwrap().to_owned();
    std::fs::read_to_string(data_dir.join("runs").join(run).join("prompt.txt")).unwrap()
}

fn task_with_role(role: &str, tags: &[&str]) -> Value {
    json!({ "description": "a task", "agentRole": role, "specialistTags": tags })
}
