//! Agents continue while the server is killed or stopped, and the next server adopts them.

use chorus::domain::{Handoff, Outcome, RunState};
use serde_json::json;

use crate::support::{Events, Sandbox, Server, last_handoff_id, start_handoff, wait_for_end};

/// Adds an agent that prints a line, waits at a gate and prints another line.
fn gated_worker() -> (Sandbox, crate::support::Gate) {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "echo one $CHORUS_TASK_ID; echo noise >&2; read _ <{}; echo two; echo x >>runs; exit $(cat fail 2>/dev/null || echo 0)",
        gate.path().display()
    );
    (sandbox.with_agent("worker", &script), gate)
}

/// Reads the messages of a task in order.
fn messages_of(sandbox: &Sandbox, task: &str) -> String {
    sandbox.query(&format!(
        "SELECT group_concat(content, '|') FROM (SELECT m.content FROM messages m JOIN tasks t ON t.number = m.task_number
          WHERE t.id = '{task}' AND NOT m.is_prompt ORDER BY m.number)"
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_survive_the_server_and_are_adopted_by_the_next() {
    let ends: [fn(Server); 2] = [Server::kill, |server| assert!(server.stop().success())];
    for end in ends {
        let (sandbox, gate) = gated_worker();
        let mut server = sandbox.serve(5);
        let mut events = Events::listen(&server.client()).await;
        let mut tasks = Vec::new();
        for _ in 0..5 {
            let task = start_handoff(&server.client(), "worker").await;
            events.wait_for("message_added", task.id.as_str()).await;
            tasks.push(task);
        }
        let before = sandbox.supervisors();
        for _ in 0..2 {
            end(server);
            assert_eq!(sandbox.supervisors(), before, "no supervisor has ended");
            server = sandbox.serve(5);
        }
        let client = server.client();
        let running = sandbox.query("SELECT count(*) FROM runs WHERE state = 'running'");
        assert_eq!(running, "5");
        for _ in &tasks {
            gate.let_one_through();
        }
        for task in &tasks {
            let handoff = wait_for_end(&client, last_handoff_id(task)).await;
            assert_eq!(
                handoff.outcome,
                Some(Outcome::Completed),
                "{}",
                handoff.output
            );
            let one = format!("one {}", task.id);
            assert_eq!(handoff.output.as_str(), format!("{one}\ntwo"));
            assert_eq!(
                messages_of(&sandbox, task.id.as_str()),
                format!("{one}|two")
            );
        }
        sandbox.wait_until_no_process();
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_agent_without_a_server_is_recorded_by_the_next() {
    let (sandbox, gate) = gated_worker();
    let sandbox = sandbox.with_configured_agent(
        "idle",
        &json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", "echo so far; sleep 600"], "idleSeconds": 1 }),
    );
    let server = sandbox.serve(3);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let good = start_handoff(&client, "worker").await;
    events.wait_for("message_added", good.id.as_str()).await;
    let bad = start_handoff(&client, "worker").await;
    events.wait_for("message_added", bad.id.as_str()).await;
    let workspace = sandbox.data_dir.join("workspaces").join(bad.id.as_str());
    std::fs::write(workspace.join("fail"), "3").unwrap();
    let idle = start_handoff(&client, "idle").await;
    events.wait_for("message_added", "so far").await;
    server.kill();
    gate.let_one_through();
    gate.let_one_through();
    // The limits also hold without a server.
    sandbox.wait_until_no_process();

    let server = sandbox.serve(3);
    let client = server.client();
    for (task, outcome) in [
        (good, Outcome::Completed),
        (bad, Outcome::Failed),
        (idle, Outcome::TimedOut),
    ] {
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(handoff.outcome, Some(outcome), "{}", handoff.output);
        assert_eq!(handoff.run.unwrap().state, RunState::Ended);
    }
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_to_a_server_that_is_killed_at_once_runs_once() {
    let sandbox = Sandbox::new().with_agent("worker", "echo $CHORUS_TASK_ID >>ran; echo done");
    let mut tasks = Vec::new();
    for round in 0..6 {
        let server = sandbox.serve(4);
        // With more hand-offs, the first one has come further.
        for _ in 0..round {
            tasks.push(start_handoff(&server.client(), "worker").await);
        }
        server.kill();
    }
    let server = sandbox.serve(4);
    for task in &tasks {
        let handoff = wait_for_end(&server.client(), last_handoff_id(task)).await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::Completed),
            "{}",
            handoff.output
        );
        assert_eq!(handoff.output.as_str(), "done");
        assert_eq!(messages_of(&sandbox, task.id.as_str()), "done");
        let workspace = sandbox.data_dir.join("workspaces").join(task.id.as_str());
        let ran = std::fs::read_to_string(workspace.join("ran")).unwrap();
        assert_eq!(ran, format!("{}\n", task.id), "the agent ran once");
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_without_a_server_is_interrupted_and_leaves_no_process() {
    let (sandbox, _gate) = gated_worker();
    let server = sandbox.serve(3);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "worker").await;
    events.wait_for("message_added", first.id.as_str()).await;
    let of_first = sandbox.processes();
    let second = start_handoff(&client, "worker").await;
    events.wait_for("message_added", second.id.as_str()).await;
    server.kill();
    // Both supervisors are killed before they can record the end, and of the first run also the agent.
    for pid in sandbox.supervisors() {
        assert!(sandbox.kill(pid));
    }
    for (pid, _) in of_first {
        sandbox.kill(pid);
    }
    if Sandbox::is_masked() {
        // A masked agent ends with its supervisor, a moment later.
        sandbox.wait_until_no_process();
    } else {
        assert_ne!(sandbox.processes(), []);
    }
    let server = sandbox.serve(3);
    for task in [first, second] {
        let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::Interrupted),
            "{}",
            handoff.output
        );
        assert!(
            handoff.output.as_str().contains(task.id.as_str()),
            "{}",
            handoff.output
        );
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

/// Claims a run as a server that died before starting it, and returns the hand-off after the next server has ended it.
async fn restart_with_claimed_run(sandbox: &Sandbox, data_dir: &str) -> Handoff {
    let server = sandbox.serve(0);
    let task = start_handoff(&server.client(), "worker").await;
    server.kill();
    let connection = crate::support::invariants::open(&sandbox.data_dir.join("chorus.db"));
    let claim = "UPDATE runs SET state = 'running', started_at = 1, token_hash = zeroblob(32), claimed_in = $1";
    connection.execute(claim, [data_dir]).unwrap();
    drop(connection);
    let server = sandbox.serve(1);
    wait_for_end(&server.client(), last_handoff_id(&task)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_claimed_and_not_started_is_started_by_the_next_server() {
    let sandbox = Sandbox::new().with_agent("worker", "echo done");
    let own = sandbox.data_dir.canonicalize().unwrap();
    let handoff = restart_with_claimed_run(&sandbox, own.to_str().unwrap()).await;
    assert_eq!(handoff.output.as_str(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_database_does_not_repeat_the_runs_of_the_original() {
    let sandbox = Sandbox::new().with_agent("worker", "echo done");
    let handoff = restart_with_claimed_run(&sandbox, "/srv/the/original").await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert!(
        handoff.output.as_str().contains("another data directory"),
        "{}",
        handoff.output
    );
}
