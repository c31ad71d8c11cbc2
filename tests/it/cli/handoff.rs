//! `chorus handoff` and `chorus cancel`

use std::process::Stdio;

use axum::http::Method;
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{Desk, transcript, until_asked};
use crate::support::{Chorus, Server, redact};

/// Starts a command and returns as soon as its hand-off is open.
async fn begin(desk: &Desk, command: Chorus) -> JoinHandle<String> {
    let mut feed = desk.app.engine.feed().follow();
    let command = transcript(command);
    while feed
        .recv()
        .await
        .unwrap()
        .event
        .unwrap()
        .event_type
        .as_str()
        != "agent_handoff_started"
    {}
    command
}

/// The largest number of seconds that the command line accepts.
#[tokio::test]
async fn a_timeout_beyond_the_end_of_time_waits_for_ever() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let longest = u64::MAX.to_string();
    let command = desk.chorus(["handoff", &id, "qa", "Test it", "--timeout", &longest]);
    let command = begin(&desk, command).await;
    let path = format!("/api/tasks/{id}/handoff/complete");
    desk.app
        .put(&path, json!({ "output": "Done" }))
        .await
        .data();
    assert_snapshot!(command.await.unwrap(), @"
    exit 0
    --- stdout
    Done
    --- stderr
    handed <id 1> to qa (hand-off <id 2>)
    ");
    let missing = "0198f3c0-aaaa-7000-8000-000000000000";
    assert_snapshot!(desk.run(["request", "wait", missing, "--timeout", &longest]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Request not found: <id 1>
    hint: `chorus request list` lists the requests
    ");
}

#[tokio::test]
async fn the_final_message_is_all_that_is_printed_to_standard_output() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let command = begin(
        &desk,
        desk.chorus([
            "handoff",
            &id,
            "Developer",
            "Write it",
            "--reason",
            "why not",
        ]),
    )
    .await;
    let path = format!("/api/tasks/{id}/handoff/complete");
    desk.app
        .put(&path, json!({ "output": "Done:\nall tests pass" }))
        .await
        .data();
    assert_snapshot!(command.await.unwrap(), @"
    exit 0
    --- stdout
    Done:
    all tests pass
    --- stderr
    handed <id 1> to developer (hand-off <id 2>)
    ");
    let handoff = desk
        .app
        .get(&format!("/api/tasks/{id}/handoffs"))
        .await
        .data()[0]
        .clone();
    assert_eq!(
        (&handoff["prompt"], &handoff["reason"]),
        (&json!("Write it"), &json!("why not"))
    );
}

#[tokio::test]
async fn a_handoff_that_does_not_end_well_fails_with_its_error() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let command = begin(&desk, desk.chorus(["handoff", &id, "qa", "p"])).await;
    let path = format!("/api/tasks/{id}/handoff/cancel");
    desk.app
        .post(&path, json!({ "reason": "no \u{1b}[31mlonger needed" }))
        .await
        .data();
    assert_snapshot!(command.await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    handed <id 1> to qa (hand-off <id 2>)
    error: cancelled: no �[31mlonger needed
    ");
}

#[tokio::test]
async fn a_prompt_can_come_from_standard_input() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let command = desk
        .chorus(["handoff", &id, "qa", "-", "--no-wait"])
        .input("a long\nprompt");
    assert_snapshot!(transcript(command).await.unwrap(), @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    let handoff = desk
        .app
        .get(&format!("/api/tasks/{id}/handoffs"))
        .await
        .data()[0]
        .clone();
    assert_eq!(handoff["prompt"], "a long\nprompt");
}

#[tokio::test]
async fn the_output_comes_through_as_the_agent_wrote_it() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let output = "\u{1b}[32mgreen\u{1b}[0m\r\n\ttab";
    let command = desk.chorus(["handoff", &id, "qa", "p"]);
    let mut feed = desk.app.engine.feed().follow();
    let running = tokio::task::spawn_blocking(move || command.output());
    feed.recv().await.unwrap();
    desk.app
        .put(
            &format!("/api/tasks/{id}/handoff/complete"),
            json!({ "output": output }),
        )
        .await
        .data();
    let printed = running.await.unwrap().stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), format!("{output}\n"));
}

#[tokio::test]
async fn json_is_the_full_record_of_the_handoff() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let command = desk.chorus(["handoff", &id, "qa", "p", "--json"]);
    let mut feed = desk.app.engine.feed().follow();
    let running = tokio::task::spawn_blocking(move || command.output());
    feed.recv().await.unwrap();
    let path = format!("/api/tasks/{id}/handoff/complete");
    let task = desk
        .app
        .request(Method::PUT, &path, r#"{"output": "o"}"#)
        .await
        .data();
    let printed: Value = serde_json::from_slice(&running.await.unwrap().stdout).unwrap();
    assert_eq!(printed["data"]["id"], task["agentChain"][0]["id"]);
    assert_eq!(
        (&printed["data"]["prompt"], &printed["data"]["output"]),
        (&json!("p"), &json!("o"))
    );
}

#[tokio::test]
async fn a_wait_ends_at_its_timeout_and_the_handoff_continues() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    assert_snapshot!(desk.run(["handoff", &id, "qa", "p", "--timeout", "0"]).await, @"
    exit 6
    --- stdout
    --- stderr
    handed <id 1> to qa (hand-off <id 2>)
    error: qa has not finished in time; the hand-off continues
    hint: `chorus task wait <id 1>` waits again
    ");
    let task = desk.app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(task["currentAgent"], "qa");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_wait_says_that_the_handoff_continues() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let made = server.chorus(["task", "create", "d"]).output();
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let waits = server
        .chorus(["handoff", &id, "qa", "Test it"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    until_asked(&server.client()).await;
    let pid = Pid::from_raw(waits.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_snapshot!(redact(&String::from_utf8(output.stderr).unwrap()), @"
    handed <id 1> to qa (hand-off <id 2>)
    error: Interrupted; the hand-off continues
    hint: `chorus task wait <id 1>` waits again
    hint: `chorus cancel <id 1>` ends the hand-off
    ");
}

#[tokio::test]
async fn a_task_is_waited_for_until_its_last_handoff_has_ended() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    assert_snapshot!(desk.run(["log", &id]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: Task <id 1> was never handed off, so it has no output
    hint: `chorus handoff <id 1> AGENT PROMPT` hands it off
    ");
    assert_snapshot!(desk.run(["task", "wait", &id]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: Task <id 1> was never handed off, so there is nothing to wait for
    hint: `chorus handoff <id 1> AGENT PROMPT` hands it off
    ");
    desk.run(["handoff", &id, "qa", "p", "--no-wait"]).await;
    assert_snapshot!(desk.run(["task", "wait", &id, "--timeout", "0"]).await, @"
    exit 6
    --- stdout
    --- stderr
    error: qa has not finished in time; the hand-off continues
    hint: `chorus task wait <id 1>` waits again
    ");
    let command = desk.chorus(["task", "wait", &id]);
    let waiting = tokio::task::spawn_blocking(move || command.output());
    while desk.app.engine.feed().watched() == 0 {
        assert!(!waiting.is_finished(), "the command did not wait");
        tokio::task::yield_now().await;
    }
    let path = format!("/api/tasks/{id}/handoff/complete");
    let end = r#"{"output": "All is well"}"#;
    desk.app.request(Method::PUT, &path, end).await.data();
    let printed = waiting.await.unwrap();
    assert!(printed.status.success());
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), "All is well\n");
    // A hand-off that has already ended answers at once.
    assert_snapshot!(desk.run(["task", "wait", &id]).await, @"
    exit 0
    --- stdout
    All is well
    --- stderr
    ");
}

#[tokio::test]
async fn an_unknown_agent_comes_with_the_names_of_the_known_ones() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    assert_snapshot!(desk.run(["handoff", &id, "desinger", "p"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Unknown agent: desinger
    hint: known agents: developer, developer-review, orchestrator, planner, qa
    ");
}

#[tokio::test]
async fn a_handoff_is_cancelled_once() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    desk.app
        .post(
            &format!("/api/tasks/{id}/handoff"),
            json!({ "agentName": "qa", "prompt": "p" }),
        )
        .await
        .data();
    assert_snapshot!(desk.run(["cancel", &id, "--reason", "too slow"]).await, @"
    exit 0
    --- stdout
    <id 1> cancelled: qa was stopped
    --- stderr
    ");
    assert_snapshot!(desk.run(["cancel", &id]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: No agent is active on task <id 1>: its last hand-off, to qa, has ended. See `chorus task show <id 1>`
    ");
    let task = desk.app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(task["agentChain"][0]["output"], "too slow");
}
