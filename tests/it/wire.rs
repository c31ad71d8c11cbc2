//! The wire format: files written by hand from the contract, which must survive a round trip.

use std::path::Path;

use chorus::domain::{Agent, History, Queue, Task, TaskSummary};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{TestApp, indent_json};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/wire")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Reads a file and checks that writing it again gives the same text.
fn round_trip<T: DeserializeOwned + Serialize>(name: &str) -> T {
    let text = file(name);
    let value: T = serde_json::from_str(&text).unwrap();
    let written = serde_json::to_string_pretty(&value).unwrap() + "\n";
    assert_eq!(written, text, "{name}");
    value
}

/// Lists the paths of all keys in a JSON text, in its order; the elements of an array share theirs.
fn keys(json: &str) -> Vec<String> {
    let mut path: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for line in json.lines() {
        let key = line
            .trim_start()
            .strip_prefix('"')
            .and_then(|rest| rest.split_once("\": "));
        path.truncate((line.len() - line.trim_start().len()) / 2);
        path.resize((line.len() - line.trim_start().len()) / 2, "");
        if let Some((key, _)) = key {
            path.push(key);
            let name = path
                .iter()
                .filter(|part| !part.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(".");
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn tasks_survive_a_round_trip() {
    let task: Task = round_trip("description_only_task.json");
    assert!(task.plan.planning.is_none());
    let task: Task = round_trip("planned_task.json");
    assert_eq!(task.current_agent().unwrap().as_str(), "qa");
    let task: Task = round_trip("failed_task.json");
    assert_eq!(
        task.status.failure_message().unwrap().as_str(),
        "nobody could"
    );
}

#[test]
fn a_summary_is_derived_from_its_task() {
    let summary: TaskSummary = round_trip("summary.json");
    let task: Task = round_trip("planned_task.json");
    assert_eq!(TaskSummary::from(&task), summary);
}

#[test]
fn the_registry_survives_a_round_trip() {
    #[derive(Serialize, Deserialize)]
    struct Registry {
        version: u32,
        tasks: Vec<TaskSummary>,
    }
    let registry: Registry = round_trip("registry.json");
    assert_eq!((registry.version, registry.tasks.len()), (1, 2));
}

#[test]
fn histories_queues_and_agents_survive_a_round_trip() {
    let history: History = round_trip("history.json");
    assert_eq!(history.events.len(), 6);
    round_trip::<Queue>("queue.json");
    round_trip::<Agent>("agent.json");
}

#[test]
fn the_documented_keys_are_sufficient() {
    let task: Task = serde_json::from_str(&file("documented_keys_only.json")).unwrap();
    assert_eq!(task.current_agent().unwrap().as_str(), "developer");
    let agent = r#"{"name": "a", "specPath": "p", "allowedTools": "t", "permissionMode": "m"}"#;
    assert_eq!(
        serde_json::from_str::<Agent>(agent)
            .unwrap()
            .provider
            .as_str(),
        "claude-code"
    );
}

#[tokio::test]
async fn answers_have_the_keys_of_the_files_in_their_order() {
    let app = TestApp::new().await;
    let id = app.task("Write the parser").await;
    let at = |path: &str| format!("/api/tasks/{id}{path}");
    app.request(
        axum::http::Method::POST,
        &at("/attachments?filename=a.png"),
        "b",
    )
    .await
    .data();
    // The data of an answer, without its envelope.
    let shown = async |path: &str| {
        let text = String::from_utf8(app.get(path).await.body).unwrap();
        let data = text
            .strip_prefix(r#"{"data":"#)
            .unwrap()
            .split_once(r#","meta":"#)
            .unwrap()
            .0
            .to_owned();
        keys(&indent_json(&data))
    };
    assert_eq!(
        shown(&at("")).await,
        keys(&file("description_only_task.json"))
    );
    let planning = json!({ "summary": "s", "requirements": ["r"], "acceptanceCriteria": ["a"], "plan": ["p"] });
    app.put(&at("/planning"), planning).await.data();
    app.post(&at("/handoff"), json!({ "agentName": "qa", "prompt": "p" }))
        .await
        .data();
    let mut with_files = keys(&file("planned_task.json"));
    let place = with_files
        .iter()
        .position(|key| key == "attachments")
        .unwrap()
        + 1;
    let of_a_file =
        ["filename", "size", "contentType", "uploadedAt"].map(|key| format!("attachments.{key}"));
    with_files.splice(place..place, of_a_file);
    assert_eq!(shown(&at("")).await, with_files);
    assert_eq!(shown(&at("/queue")).await, ["messages"]);
    app.post(&at("/queue"), json!({ "content": "c" }))
        .await
        .data();
    assert_eq!(shown(&at("/queue")).await, keys(&file("queue.json")));
    assert_eq!(shown("/api/agents/qa").await, keys(&file("agent.json")));
    assert_eq!(
        shown("/api/tasks?view=summary").await,
        keys(&file("summary.json"))
    );
    let status = json!({ "status": { "type": "failed", "message": "m" } });
    app.put(&at("/status"), status).await.data();
    let failed = keys(&file("failed_task.json"));
    assert_eq!(
        shown("/api/tasks?view=summary").await,
        [
            "id",
            "description",
            "status",
            "status.type",
            "status.message",
            "createdAt",
            "updatedAt",
            "currentAgent"
        ]
    );
    assert!(failed.contains(&"status.message".to_owned()));
    // The API adds a number to events, and the hand-off's id to events of a hand-off.
    let history = shown(&at("/history")).await;
    assert_eq!(
        history[..4],
        [
            "events",
            "events.timestamp",
            "events.eventType",
            "events.data"
        ]
    );
    assert!(history.contains(&"events.handoffId".to_owned()));
}
