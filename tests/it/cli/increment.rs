//! `chorus increment`

use insta::assert_snapshot;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Desk, transcript};
use crate::support::{Chorus, Sandbox, Server};

async fn desk() -> Desk {
    let agents: [(&str, &[&str], &[&str]); 4] = [
        ("ada", &["implementation"], &["rust"]),
        ("finn", &["fixing"], &["rust"]),
        ("tess", &["testing"], &[]),
        ("vera", &["verification"], &[]),
    ];
    Desk::with_agents(&agents).await
}

/// Finds the task of a stage in the round that counts.
async fn stage(desk: &Desk, increment: &str, stage: &str) -> String {
    let shown = desk
        .app
        .get(&format!("/api/increments/{increment}"))
        .await
        .data();
    let tasks = shown["tasks"].as_array().unwrap();
    let task = tasks
        .iter()
        .rev()
        .find(|task| task["stage"] == stage)
        .unwrap();
    task["id"].as_str().unwrap().to_owned()
}

/// Gives a stage to its agent, and lets that end with a report.
async fn work(desk: &Desk, increment: &str, name: &str, result: &str, summary: &str) {
    let task = stage(desk, increment, name).await;
    desk.app
        .post(&format!("/api/route/{task}"), json!({}))
        .await
        .data();
    let report = json!({ "result": result, "summary": summary }).to_string();
    let path = format!("/api/tasks/{task}/handoff/complete");
    desk.app
        .put(&path, json!({ "output": report }))
        .await
        .data();
}

#[tokio::test]
async fn a_new_increment_prints_its_id_and_its_tasks() {
    let desk = desk().await;
    let seen = desk.run(["increment", "create", "Read \"dates\""]).await;
    assert_snapshot!(seen, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    implementation  <id 2>
    test            <id 3>
    verify          <id 4>
    ");
    let first = desk.app.get("/api/increments").await.data()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path();
    let command = desk.chorus([
        "increment",
        "create",
        "Write dates",
        "--description",
        "-",
        "--test-command",
        "cargo test",
        "--depends-on",
        &first,
        "--tags",
        "Rust",
        "--priority",
        "P0",
        "--workspace",
        "work",
        "--json",
    ]);
    let seen = transcript(command.input("ISO only\n").current_dir(folder))
        .await
        .unwrap();
    assert!(
        seen.starts_with("exit 0\n--- stdout\n{\"data\":{"),
        "{seen}"
    );
    let all = desk.app.get("/api/increments").await.data();
    let second = all[1]["id"].as_str().unwrap();
    let shown = desk
        .app
        .get(&format!("/api/increments/{second}"))
        .await
        .data();
    assert_eq!(shown["description"], "ISO only\n");
    assert_eq!(shown["testCommand"], "cargo test");
    assert_eq!(shown["dependsOn"], json!([first]));
    let task = &shown["tasks"][0];
    assert_eq!(task["priority"], 0);
    assert_eq!(task["specialistTags"][0], "rust");
    assert_eq!(
        task["agentWorkspace"],
        folder.join("work").to_str().unwrap()
    );
    assert_eq!(task["source"]["sourceType"], "cli");
}

#[tokio::test]
async fn an_increment_is_drawn_stage_by_stage() {
    let desk = desk().await;
    let id = desk
        .make([
            "increment",
            "create",
            "Read \"dates\"",
            "--test-command",
            "cargo test",
            "--description",
            "Of all kinds",
        ])
        .await;
    assert_snapshot!(desk.run(["increment", "show", &id]).await, @r#"
    exit 0
    --- stdout
    increment  <id 1>
    title      Read "dates"
    state      active, round 1
    test       cargo test

    · implementation  round 1  <id 2>
    · test            round 1  <id 3>
    · verify          round 1  <id 4>

    Of all kinds
    --- stderr
    "#);
    let first = stage(&desk, &id, "implementation").await;
    desk.run(["task", "route", &first]).await;
    let seen = desk.run(["increment", "show", &id]).await;
    assert!(
        seen.contains("\n▶ implementation  round 1  <id 2>  ada is working\n"),
        "{seen}"
    );
    desk.app
        .put(
            &format!("/api/tasks/{first}/handoff/complete"),
            json!({ "output": "Done" }),
        )
        .await
        .data();
    work(&desk, &id, "test", "failed", "2 of 9\nfail").await;
    assert_snapshot!(desk.run(["increment", "show", &id]).await, @r#"
    exit 0
    --- stdout
    increment  <id 1>
    title      Read "dates"
    state      active, round 2
    test       cargo test

    ✓ implementation  round 1  <id 2>  ada
    ✗ test            round 1  <id 3>  tess: 2 of 9 fail
    · fix             round 2  <id 4>
    · test            round 2  <id 5>
    · verify          round 2  <id 6>

    Of all kinds
    --- stderr
    "#);
    work(&desk, &id, "fix", "passed", "Mended").await;
    work(&desk, &id, "test", "passed", "All pass").await;
    work(&desk, &id, "verify", "blocked", "Which calendar?").await;
    assert_snapshot!(desk.run(["increment", "show", &id]).await, @r#"
    exit 0
    --- stdout
    increment  <id 1>
    title      Read "dates"
    state      blocked, round 2: Which calendar?
    test       cargo test

    ✓ implementation  round 1  <id 2>  ada
    ✗ test            round 1  <id 3>  tess: 2 of 9 fail
    ✓ fix             round 2  <id 4>  finn
    ✓ test            round 2  <id 5>  tess
    ! verify          round 2  <id 6>  vera: Which calendar?

    Of all kinds
    --- stderr
    "#);
    let seen = desk.make(["increment", "show", &id, "--json"]).await;
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(
        seen["data"],
        desk.app.get(&format!("/api/increments/{id}")).await.data()
    );
}

#[tokio::test]
async fn increments_are_listed_by_state() {
    let desk = desk().await;
    let first = desk.make(["increment", "create", "First"]).await;
    desk.make(["increment", "create", "Second", "--depends-on", &first])
        .await;
    work(&desk, &first, "implementation", "blocked", "No\nkey").await;
    assert_snapshot!(desk.run(["increment", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	blocked	1	2026-01-01 00:00:00	First	No key
    <id 2>	active	1	2026-01-01 00:00:00	Second	-
    --- stderr
    ");
    assert_snapshot!(desk.run(["increment", "list", "--state", "blocked"]).await, @"
    exit 0
    --- stdout
    <id 1>	blocked	1	2026-01-01 00:00:00	First	No key
    --- stderr
    ");
    assert_snapshot!(desk.run(["increment", "list", "--state", "done"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["increment", "list", "--limit", "1"]).await, @"
    exit 0
    --- stdout
    <id 1>	blocked	1	2026-01-01 00:00:00	First	No key
    --- stderr
    More rows: --after <id 1>
    ");
    let seen = desk.run(["increment", "list", "--after", &first]).await;
    assert!(seen.contains("Second") && !seen.contains("First"), "{seen}");
}

#[tokio::test]
async fn a_wait_ends_when_the_increment_is_done() {
    let desk = desk().await;
    let id = desk.make(["increment", "create", "Read dates"]).await;
    let other = desk.make(["increment", "create", "Other"]).await;
    let command = transcript(desk.chorus(["increment", "show", &id, "--wait"]));
    work(&desk, &other, "implementation", "blocked", "b").await;
    work(&desk, &id, "implementation", "passed", "p").await;
    work(&desk, &id, "test", "passed", "p").await;
    work(&desk, &id, "verify", "passed", "p").await;
    assert_snapshot!(command.await.unwrap(), @"
    exit 0
    --- stdout
    increment  <id 1>
    title      Read dates
    state      done, round 1

    ✓ implementation  round 1  <id 2>  ada
    ✓ test            round 1  <id 3>  tess
    ✓ verify          round 1  <id 4>  vera
    --- stderr
    ");
}

#[tokio::test]
async fn a_wait_for_a_blocked_increment_fails_with_a_hint() {
    let desk = desk().await;
    let id = desk.make(["increment", "create", "Read dates"]).await;
    let command = transcript(desk.chorus(["increment", "show", &id, "--wait"]));
    work(
        &desk,
        &id,
        "implementation",
        "blocked",
        "Which \"calendar\"?",
    )
    .await;
    assert_snapshot!(command.await.unwrap(), @r#"
    exit 1
    --- stdout
    increment  <id 1>
    title      Read dates
    state      blocked, round 1: Which "calendar"?

    ! implementation  round 1  <id 2>  ada: Which "calendar"?
    · test            round 1  <id 3>
    · verify          round 1  <id 4>
    --- stderr
    error: increment <id 1> is blocked: Which "calendar"?
    hint: see `chorus increment show <id 1>`; then continue with `chorus increment retry <id 1>`
    "#);
    let first = stage(&desk, &id, "implementation").await;
    desk.run(["task", "status", &first, "pending"]).await;
    let seen = desk.run(["increment", "list", "--state", "active"]).await;
    assert!(seen.contains("Read dates"), "{seen}");
}

/// Waits until somebody listens to the events of a server.
async fn until_somebody_listens(server: &Server) {
    loop {
        let metrics = server.client().request(Method::GET, "/metrics").send();
        let metrics = metrics.await.unwrap().text().await.unwrap();
        if metrics.contains("chorus_event_streams 1\n") {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn agents_finish_an_increment_round_by_round_while_a_command_waits() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let make = format!(
        "read _ <{}; echo one >done; echo Wrote it",
        gate.path().display()
    );
    let test = r#"if [ $(wc -l <done) -lt 2 ]; then chorus task report failed --summary "Line 2 is missing"; else chorus task report passed; fi"#;
    let verify = r#"echo 'As asked. {"result": "passed", "summary": "As asked"}'"#;
    let sandbox = sandbox
        .with_specialist("ada", "implementation", &[], &make)
        .with_specialist("finn", "fixing", &[], "echo two >>done; echo Mended it")
        .with_specialist("tess", "testing", &[], test)
        .with_specialist("vera", "verification", &[], verify);
    let server = sandbox.serve(2);
    let created = server.chorus(["increment", "create", "Two lines"]).output();
    let id = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    let waits = transcript(server.chorus(["increment", "show", &id, "--wait"]));
    until_somebody_listens(&server).await;
    gate.let_one_through();
    let seen = waits.await.unwrap();
    assert_snapshot!(seen, @"
    exit 0
    --- stdout
    increment  <id 1>
    title      Two lines
    state      done, round 2

    ✓ implementation  round 1  <id 2>  ada
    ✗ test            round 1  <id 3>  tess: Line 2 is missing
    ✓ fix             round 2  <id 4>  finn
    ✓ test            round 2  <id 5>  tess
    ✓ verify          round 2  <id 6>  vera
    --- stderr
    ");
    sandbox.assert_invariants();
}

#[tokio::test]
async fn bad_input_is_refused() {
    let desk = desk().await;
    assert_snapshot!(desk.run(["increment", "show", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Increment not found: nope
    hint: `chorus increment list` lists the increments
    ");
    assert_snapshot!(desk.run(["increment", "show", "nope", "--wait"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Increment not found: nope
    hint: `chorus increment list` lists the increments
    ");
    assert_snapshot!(desk.run(["increment", "create", "t", "--depends-on", "nope"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --depends-on: increment nope does not exist
    ");
    assert_snapshot!(desk.run(["increment", "create", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: TITLE: must not be empty
    ");
    assert_snapshot!(desk.run(["increment", "create", "two\nlines"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: TITLE: must be one line; put the rest into the description
    ");
    assert_snapshot!(desk.run(["increment", "list", "--state", "open"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'open' for '--state <STATE>'
      [possible values: active, done, blocked]

      tip: a similar value exists: 'done'

    For more information, try '--help'.
    ");
    let seen = desk
        .run(["increment", "create", "t", "--priority", "9"])
        .await;
    assert!(seen.starts_with("exit 2"), "{seen}");
    let nobody = Chorus::new(["increment", "list", "--url", "http://127.0.0.1:1"]);
    let seen = transcript(nobody).await.unwrap();
    assert!(seen.starts_with("exit 5"), "{seen}");
}
