//! Ending hand-offs while their agents work: no process stays, and later output does not count.

use std::time::{Duration, Instant};

use chorus::client::Client;
use chorus::domain::{Outcome, RunState, Task};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::support::{Events, Sandbox, hand_off, last_handoff_id, start_handoff, wait_for_end};

/// Ignores SIGTERM, and so does the process that it starts.
const STUBBORN: &str = "trap '' TERM
    setsid sleep 600 &
    echo begun
    while :; do sleep 0.05; echo still here; done";

async fn cancel(client: &Client, task: &Task) -> Task {
    let path = format!("/api/tasks/{}/handoff/cancel", task.id);
    let task = client.send_json(Method::POST, &path, &json!({})).await;
    task.unwrap().data().unwrap()
}

async fn complete(client: &Client, task: &Task, output: &str) -> Task {
    let path = format!("/api/tasks/{}/handoff/complete", task.id);
    let body = json!({ "output": output });
    let task = client.send_json(Method::PUT, &path, &body).await;
    task.unwrap().data().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_returns_as_soon_as_all_processes_are_gone() {
    let sandbox =
        Sandbox::new().with_agent("polite", "setsid sleep 600 & echo begun; exec sleep 600");
    // An agent that ends on SIGTERM does not use up the grace period.
    let server = sandbox.serve_with(4, &["--port", "0", "--grace-seconds", "600"]);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "polite").await;
    events.wait_for("message_added", "begun").await;
    let cancelled = tokio::time::timeout(Duration::from_mins(1), cancel(&client, &task)).await;
    assert_eq!(sandbox.processes(), []);
    assert_eq!(cancelled.unwrap().current_agent(), None);
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Cancelled));
    assert_eq!(handoff.run.unwrap().outcome, Some(Outcome::Cancelled));
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let sandbox = Sandbox::new().with_agent("stubborn", STUBBORN);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "stubborn").await;
    events.wait_for("message_added", "begun").await;
    let start = Instant::now();
    cancel(&client, &task).await;
    assert_eq!(sandbox.processes(), []);
    assert!(
        start.elapsed() >= Duration::from_millis(900),
        "{:?}",
        start.elapsed()
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_at_any_moment_of_the_start_leaves_no_process() {
    let sandbox = Sandbox::new().with_agent("sleeper", "exec sleep 600");
    let server = sandbox.serve(8);
    let client = server.client();
    // The number of other starts varies the moment of the cancel.
    for others in [0, 1, 3, 7, 15] {
        let round = (0..=others).map(|_| async {
            let task = start_handoff(&client, "sleeper").await;
            cancel(&client, &task).await;
        });
        let round = tokio::time::timeout(Duration::from_mins(1), join_all(round));
        round.await.expect("a cancel was not answered");
        assert_eq!(sandbox.processes(), []);
    }
    assert_eq!(
        sandbox.query("SELECT count(*) FROM runs WHERE state <> 'ended'"),
        "0"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn output_after_an_outside_completion_is_only_in_the_log() {
    let sandbox = Sandbox::new().with_agent(
        "worker",
        "trap 'echo too late; exit 0' TERM; echo begun; while :; do sleep 0.02; done",
    );
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    let completed = complete(&client, &task, "from outside").await;
    assert_eq!(completed.current_agent(), None);
    sandbox.wait_until_no_process();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "from outside");
    // The next run starts after the first has ended, so its messages come last.
    let log = std::fs::read_to_string(sandbox.run_dir(&handoff).join("stdout.log")).unwrap();
    assert_eq!(log, "begun\ntoo late\n");
    let next = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    cancel(&client, &next).await;
    assert_eq!(
        sandbox.query("SELECT group_concat(content) FROM messages WHERE NOT is_prompt"),
        "begun,from outside,begun"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_never_work_on_one_task_at_once() {
    let sandbox = Sandbox::new()
        .with_agent("stubborn", STUBBORN)
        .with_agent("next", "echo done");
    let server = sandbox.serve_with(4, &["--port", "0", "--grace-seconds", "3"]);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "stubborn").await;
    events.wait_for("message_added", "begun").await;
    // The supervisor may still sync its files when the agent's processes have ended.
    let mut first = sandbox.processes();
    first.retain(|(_, line)| !line.contains(" supervise "));
    assert!(!first.is_empty());
    complete(&client, &task, "enough").await;
    let body = json!({ "agentName": "next", "prompt": "go on" });
    let task = hand_off(&client, &task, &body).await.unwrap();
    // The run is queued while the first agent lives, for the grace period.
    let handoff = client
        .get(&format!("/api/handoffs/{}", last_handoff_id(&task)), &[])
        .await;
    let handoff: chorus::domain::Handoff = handoff.unwrap().data().unwrap();
    assert_eq!(handoff.run.unwrap().state, RunState::Queued);
    events.wait_for("run_started", "next").await;
    for (pid, line) in first {
        let is_alive = sandbox.processes().iter().any(|(other, _)| *other == pid);
        assert!(!is_alive, "{line} still runs");
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.output.as_str(), "done");
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_server_died_while_stopping_it_is_stopped_by_the_next() {
    let sandbox = Sandbox::new()
        .with_agent("stubborn", STUBBORN)
        .with_agent("next", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "stubborn").await;
    events.wait_for("message_added", "begun").await;
    // The server is killed within the grace period of one second.
    complete(&client, &task, "enough").await;
    server.kill();
    let server = sandbox.serve(1);
    let client = server.client();
    let body = json!({ "agentName": "next", "prompt": "go on" });
    let task = hand_off(&client, &task, &body).await.unwrap();
    wait_for_end(&client, last_handoff_id(&task)).await;
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_ended_without_a_server_is_stopped_by_the_next() {
    let sandbox = Sandbox::new().with_agent("worker", "echo begun; exec sleep 600");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    server.kill();
    // As if the server had recorded the end and died before it stopped the run.
    let ended_by_hand =
        "UPDATE handoffs SET completed_at = 1, outcome = 'completed', output = 'by hand';
                         UPDATE runs SET state = 'ended', outcome = 'cancelled', ended_at = 1;
                         UPDATE tasks SET status = 'waiting'";
    let connection = crate::support::invariants::open(&sandbox.data_dir.join("chorus.db"));
    connection.execute_batch(ended_by_hand).unwrap();
    drop(connection);
    assert_ne!(sandbox.processes(), []);
    let server = sandbox.serve(1);
    sandbox.wait_until_no_process();
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.output.as_str(), "by hand");
}
