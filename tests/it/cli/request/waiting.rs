//! `chorus request wait`.

use std::process::Stdio;

use insta::assert_snapshot;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Office, show};
use crate::cli::{transcript, until_asked};
use crate::support::{Chorus, Sandbox, Server, reserve_port};

/// Starts `chorus request wait`.
fn begin_to_wait(server: &Server, id: &str) -> std::process::Child {
    server
        .chorus(["request", "wait", id, "--timeout", "60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

#[tokio::test]
async fn a_wait_fails_at_its_timeout() {
    let office = Office::open();
    let id = office.create("One").await;
    assert_snapshot!(office.run(["request", "wait", &id, "--timeout", "0"]).await, @"
    exit 6
    --- stdout
    --- stderr
    error: request <id 1> is still needs, not done
    ");
    assert_snapshot!(office.run(["request", "wait", &id, "--timeout", "1", "--state", "claimed"]).await, @"
    exit 6
    --- stdout
    --- stderr
    error: request <id 1> is still needs, not claimed
    ");
    assert_snapshot!(office.run(["request", "wait", &id, "--state", "needs", "--timeout", "60"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    office.run(["request", "approve", &id]).await;
    assert_snapshot!(office.run(["request", "wait", &id, "--state", "next", "--timeout", "60"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
}

#[tokio::test]
async fn a_wait_reports_failures_and_a_kind_without_an_agent() {
    let office = Office::open();
    let id = office.create("One").await;
    office.run(["request", "next", &id]).await;
    office
        .run(["request", "claim", &id, "--as", "worker"])
        .await;
    office
        .run(["request", "requeue", &id, "The key has expired"])
        .await;
    assert_snapshot!(office.run(["request", "wait", &id, "--timeout", "1"]).await, @"
    exit 6
    --- stdout
    --- stderr
    request <id 1> failed: The key has expired (Re-queued for a decision by the operator)
    error: request <id 1> is still needs, not done; the last attempt: The key has expired
    ");
    let id = office.create_of_kind("Two", "unheard-of").await;
    let seen = office.run(["request", "wait", &id, "--timeout", "1"]).await;
    assert!(
        seen.contains("no agent handles requests of kind unheard-of"),
        "{seen}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_when_the_request_is_done_elsewhere() {
    let office = Office::open();
    let id = office.create("One").await;
    let waits = begin_to_wait(&office.server, &id);
    until_asked(&office.server.client()).await;
    office
        .run(["request", "done", &id, "# It is done\nreally"])
        .await;
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "# It is done\nreally\n"
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_survives_a_restart_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let port = reserve_port();
    let serve = || {
        let command = Chorus::new(["serve", "--port", &port, "--max-runs", "0", "--log", "warn"]);
        Server::spawn(folder.path(), command)
    };
    let server = serve();
    let body = json!({ "title": "One", "body": "", "kind": "fix" });
    let client = server.client();
    let made = client.send_json(Method::POST, "/api/requests", &body).await;
    let made: Value = made.unwrap().data().unwrap();
    let id = made["id"].as_str().unwrap();
    let waits = begin_to_wait(&server, id);
    until_asked(&client).await;
    server.kill();
    let server = serve();
    until_asked(&client).await;
    let done = transcript(server.chorus(["request", "done", id, "After all."]));
    assert!(done.await.unwrap().starts_with("exit 0"));
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "After all.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_prints_the_response_of_the_dispatched_agent() {
    let sandbox = Sandbox::new().with_agent("worker", "cat >/dev/null; echo 'I did it.'");
    let server = sandbox.serve_with(1, &["--port", "0", "--debounce-seconds", "0"]);
    let client = server.client();
    let routes = server
        .chorus(["request", "kinds", "--set", "-"])
        .input(r#"[{ "kind": "fix", "agent": "worker", "rank": 1 }]"#);
    assert!(transcript(routes).await.unwrap().starts_with("exit 0"));
    let made = server
        .chorus(["request", "create", "One", "--kind", "fix"])
        .output();
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let waits = begin_to_wait(&server, &id);
    until_asked(&client).await;
    let approved = transcript(server.chorus(["request", "approve", &id]));
    assert!(approved.await.unwrap().starts_with("exit 0"));
    let output = waits.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "I did it.\n");
    let request = show(&client, &id).await;
    let moved_by: Vec<_> = request["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["by"].clone())
        .collect();
    assert_eq!(moved_by, ["anonymous", "operator", "dispatcher", "worker"]);
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}
