//! The server dies or stops while agents work; they go on, and the next server takes them up.

use chorus::domain::{Handoff, Outcome, RunState};
use serde_json::json;

use crate::support::{Events, Server, Workshop, begin, ended, last_id};

/// Agents that say something, wait at a gate, and say something more.
fn workers() -> (Workshop, crate::support::Gate) {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let script = format!(
        "echo one $CHORUS_TASK_ID; echo noise >&2; read _ <{}; echo two; echo x >>runs; exit $(cat fail 2>/dev/null || echo 0)",
        gate.path().display()
    );
    (workshop.agent("worker", &script), gate)
}

/// Reads what was said on a task, in order.
fn said(workshop: &Workshop, task: &str) -> String {
    workshop.read(&format!(
        "SELECT group_concat(content, '|') FROM (SELECT m.content FROM messages m JOIN tasks t ON t.number = m.task_number
          WHERE t.id = '{task}' AND NOT m.is_prompt ORDER BY m.number)"
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_go_on_when_the_server_goes_and_are_taken_up_by_the_next() {
    let goes: [fn(Server); 2] = [Server::kill, |server| assert!(server.stop().success())];
    for go in goes {
        let (workshop, gate) = workers();
        let mut server = workshop.serve(5);
        let mut events = Events::listen(&server.client()).await;
        let mut tasks = Vec::new();
        for _ in 0..5 {
            let task = begin(&server.client(), "worker").await;
            events.until("message_added", task.id.as_str()).await;
            tasks.push(task);
        }
        let before = workshop.supervisors();
        for _ in 0..2 {
            go(server);
            assert_eq!(workshop.supervisors(), before, "nobody was lost");
            server = workshop.serve(5);
        }
        let client = server.client();
        let running = workshop.read("SELECT count(*) FROM runs WHERE state = 'running'");
        assert_eq!(running, "5");
        for _ in &tasks {
            gate.let_one_through();
        }
        for task in &tasks {
            let handoff = ended(&client, last_id(task)).await;
            assert_eq!(
                handoff.outcome,
                Some(Outcome::Completed),
                "{}",
                handoff.output
            );
            let one = format!("one {}", task.id);
            assert_eq!(handoff.output.as_str(), format!("{one}\ntwo"));
            assert_eq!(said(&workshop, task.id.as_str()), format!("{one}|two"));
        }
        workshop.until_quiet();
        assert_eq!(workshop.violations(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_while_no_server_is_there_is_recorded_by_the_next() {
    let (workshop, gate) = workers();
    let workshop = workshop.configured(
        "idle",
        &json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", "echo so far; sleep 600"], "idleSeconds": 1 }),
    );
    let server = workshop.serve(3);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let good = begin(&client, "worker").await;
    events.until("message_added", good.id.as_str()).await;
    let bad = begin(&client, "worker").await;
    events.until("message_added", bad.id.as_str()).await;
    let workspace = workshop.data_dir.join("workspaces").join(bad.id.as_str());
    std::fs::write(workspace.join("fail"), "3").unwrap();
    let idle = begin(&client, "idle").await;
    events.until("message_added", "so far").await;
    server.kill();
    gate.let_one_through();
    gate.let_one_through();
    // The limits hold without a server, too.
    workshop.until_quiet();

    let server = workshop.serve(3);
    let client = server.client();
    for (task, outcome) in [
        (good, Outcome::Completed),
        (bad, Outcome::Failed),
        (idle, Outcome::TimedOut),
    ] {
        let handoff = ended(&client, last_id(&task)).await;
        assert_eq!(handoff.outcome, Some(outcome), "{}", handoff.output);
        assert_eq!(handoff.run.unwrap().state, RunState::Ended);
    }
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_right_after_it_was_asked_has_the_work_done_once() {
    let workshop = Workshop::new().agent("worker", "echo $CHORUS_TASK_ID >>ran; echo done");
    let mut tasks = Vec::new();
    for round in 0..6 {
        let server = workshop.serve(4);
        // The more are asked, the further the first has come.
        for _ in 0..round {
            tasks.push(begin(&server.client(), "worker").await);
        }
        server.kill();
    }
    let server = workshop.serve(4);
    for task in &tasks {
        let handoff = ended(&server.client(), last_id(task)).await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::Completed),
            "{}",
            handoff.output
        );
        assert_eq!(handoff.output.as_str(), "done");
        assert_eq!(said(&workshop, task.id.as_str()), "done");
        let workspace = workshop.data_dir.join("workspaces").join(task.id.as_str());
        let ran = std::fs::read_to_string(workspace.join("ran")).unwrap();
        assert_eq!(ran, format!("{}\n", task.id), "once");
    }
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_killed_while_no_server_is_there_is_interrupted_and_nothing_of_it_is_left() {
    let (workshop, _gate) = workers();
    let server = workshop.serve(3);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = begin(&client, "worker").await;
    events.until("message_added", first.id.as_str()).await;
    let of_first = workshop.processes();
    let second = begin(&client, "worker").await;
    events.until("message_added", second.id.as_str()).await;
    server.kill();
    // Both supervisors, before they can say how their agents ended; of the second nothing else.
    for pid in workshop.supervisors() {
        assert!(workshop.kill(pid));
    }
    for (pid, _) in of_first {
        workshop.kill(pid);
    }
    assert_ne!(workshop.processes(), []);
    let server = workshop.serve(3);
    for task in [first, second] {
        let handoff = ended(&server.client(), last_id(&task)).await;
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
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

/// Leaves a run as if its server had died between taking and starting it, and returns how the next server ends it.
async fn taken_in(workshop: &Workshop, data_dir: &str) -> Handoff {
    let server = workshop.serve(0);
    let task = begin(&server.client(), "worker").await;
    server.kill();
    let connection = crate::support::invariants::open(&workshop.data_dir.join("chorus.db"));
    let taken = "UPDATE runs SET state = 'running', started_at = 1, token_hash = zeroblob(32), claimed_in = $1";
    connection.execute(taken, [data_dir]).unwrap();
    drop(connection);
    let server = workshop.serve(1);
    ended(&server.client(), last_id(&task)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_taken_and_never_started_is_started_by_the_next_server() {
    let workshop = Workshop::new().agent("worker", "echo done");
    let own = workshop.data_dir.canonicalize().unwrap();
    let handoff = taken_in(&workshop, own.to_str().unwrap()).await;
    assert_eq!(handoff.output.as_str(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_another_data_directory_is_not_done_again_by_a_copy_of_its_database() {
    let workshop = Workshop::new().agent("worker", "echo done");
    let handoff = taken_in(&workshop, "/srv/the/original").await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert!(
        handoff.output.as_str().contains("another data directory"),
        "{}",
        handoff.output
    );
}
