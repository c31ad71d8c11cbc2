//! The order in which runs are started.

use chorus::domain::{Handoff, Outcome, RunState};

use crate::support::{Events, Sandbox, last_handoff_id, start_handoff, wait_for_end};

#[tokio::test(flavor = "multi_thread")]
async fn at_most_max_runs_run_at_once_and_the_oldest_is_next() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("echo $CHORUS_TASK_ID; read _ <{}", gate.path().display());
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let mut tasks = Vec::new();
    for _ in 0..6 {
        tasks.push(start_handoff(&client, "worker").await);
    }
    let state = async |number: usize| -> RunState {
        let path = format!("/api/handoffs/{}", last_handoff_id(&tasks[number]));
        let handoff: Handoff = client.get(&path, &[]).await.unwrap().data().unwrap();
        handoff.run.unwrap().state
    };
    // The two running agents print their task ids, in any order.
    let mut started = Vec::new();
    for _ in 0..2 {
        let event = events.wait_for("message_added", "").await;
        started.push(event["data"]["content"].as_str().unwrap().to_owned());
    }
    started.sort_unstable();
    let mut oldest: Vec<_> = tasks[..2].iter().map(|task| task.id.to_string()).collect();
    oldest.sort_unstable();
    assert_eq!(started, oldest);
    for number in 0..6 {
        let expected = if number < 2 {
            RunState::Running
        } else {
            RunState::Queued
        };
        assert_eq!(state(number).await, expected, "{number}");
    }
    for next in &tasks[2..] {
        gate.let_one_through();
        // Whichever run ends, the oldest queued run starts.
        let event = events.wait_for("message_added", "").await;
        assert_eq!(event["data"]["content"], next.id.as_str());
        let running = sandbox.query("SELECT count(*) FROM runs WHERE state = 'running'");
        assert_eq!(running, "2");
        // A supervisor may outlive its agent for a moment, to sync the files of the run.
        let agents = sandbox.agents();
        assert_eq!(agents.len(), 2, "{agents:?}");
    }
    for _ in 0..2 {
        gate.let_one_through();
    }
    for task in &tasks {
        let handoff = wait_for_end(&client, last_handoff_id(task)).await;
        assert_eq!(handoff.outcome, Some(Outcome::Completed));
        assert_eq!(handoff.output.as_str(), task.id.as_str());
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_in_the_queue_is_never_started() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("echo begun; read _ <{}", gate.path().display());
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    let second = start_handoff(&client, "worker").await;
    let path = format!("/api/tasks/{}/handoff/cancel", second.id);
    let cancelled = client
        .send_json(reqwest::Method::POST, &path, &serde_json::json!({}))
        .await;
    cancelled.unwrap();
    let handoff = wait_for_end(&client, last_handoff_id(&second)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Cancelled));
    gate.let_one_through();
    wait_for_end(&client, last_handoff_id(&first)).await;
    assert_eq!(
        sandbox.query("SELECT count(*) FROM events WHERE type = 'run_started'"),
        "1"
    );
    assert!(!sandbox.run_dir(&handoff).exists());
    sandbox.assert_invariants();
}
