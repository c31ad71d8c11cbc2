//! The system lacks descriptors, processes or room on the disk while agents work, and has them again later.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use chorus::client::Client;
use chorus::domain::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use super::expect_refusal;
use crate::support::{
    Events, NoDescriptors, ProcessLimit, ReadOnly, Sandbox, Server, create_task, last_handoff_id,
    run_agent, start_handoff, wait_for_end,
};

async fn readiness(client: &Client) -> Value {
    let ready = client.get("/readyz", &[]).await.unwrap();
    ready.data().unwrap()
}

fn messages(sandbox: &Sandbox) -> String {
    sandbox.query("SELECT group_concat(content, '|') FROM (SELECT content FROM messages WHERE type = 'assistant_message' ORDER BY number)")
}

#[tokio::test]
async fn without_descriptors_a_run_waits_in_the_queue() {
    let sandbox = Sandbox::new().with_agent("quick", "echo done");
    let server = sandbox.serve(2);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    // The client keeps its connection, because the server cannot accept another one.
    let paused = readiness(&client).await;
    assert_eq!(paused["runs"], json!({ "paused": false, "reason": null }));
    let shortage = NoDescriptors::of(&server);
    let task = start_handoff(&client, "quick").await;
    let requeued = events.wait_for("run_requeued", "quick").await;
    let reason = requeued["data"]["reason"].as_str().unwrap();
    assert!(reason.contains("Too many open files"), "{reason}");
    let paused = readiness(&client).await;
    assert_eq!(paused["runs"]["paused"], true);
    let reason = paused["runs"]["reason"].as_str().unwrap();
    assert!(reason.contains("Too many open files"), "{reason}");
    drop(shortage);
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "done");
    sandbox.wait_until_no_process();
    assert!(server.stop().success());
    sandbox.assert_invariants();
}

#[tokio::test]
async fn on_a_read_only_disk_a_run_waits_in_the_queue() {
    let sandbox = Sandbox::new().with_agent("quick", "echo done");
    let server = sandbox.serve(2);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    let Some(shortage) = ReadOnly::make(&sandbox.data_dir) else {
        return;
    };
    let task = start_handoff(&client, "quick").await;
    let requeued = events.wait_for("run_requeued", "quick").await;
    let reason = requeued["data"]["reason"].as_str().unwrap();
    assert!(reason.contains("Read-only file system"), "{reason}");
    let paused = readiness(&client).await;
    assert_eq!(paused["runs"]["paused"], true);
    drop(shortage);
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "done");
    assert!(server.stop().success());
    sandbox.assert_invariants();
}

#[tokio::test]
async fn without_descriptors_an_agent_at_work_is_followed_to_its_end() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("echo one; read _ <{}; echo two", gate.path().display());
    let sandbox = sandbox.with_agent("slow", &script);
    let server = sandbox.serve(2);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "slow").await;
    events.wait_for("message_added", "one").await;
    let shortage = NoDescriptors::of(&server);
    gate.let_one_through();
    events.wait_for("message_added", "two").await;
    // The agent has ended, and nobody can read the end yet.
    sandbox.wait_until_no_process();
    assert_eq!(readiness(&client).await["status"], "ok");
    drop(shortage);
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "one\ntwo");
    assert!(server.stop().success());
    assert_eq!(messages(&sandbox), "one|two");
    sandbox.assert_invariants();
}

/// A shortage is no verdict on the caller.
#[tokio::test]
async fn without_descriptors_a_caller_without_a_token_is_asked_to_wait() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("echo one; read _ <{}", gate.path().display());
    let sandbox = sandbox.with_agent("slow", &script);
    let server = sandbox.serve(2);
    let (operator, person) = (server.operator(), server.client());
    let mut events = Events::listen(&operator).await;
    // The connection exists before the first run, so the server has not looked at the process yet.
    readiness(&person).await;
    let task = start_handoff(&operator, "slow").await;
    events.wait_for("message_added", "one").await;
    let shortage = NoDescriptors::of(&server);
    let (status, code, _) = expect_refusal(person.get("/api/tasks", &[]).await);
    assert_eq!((status, code.as_str()), (503, "NOT_READY"));
    drop(shortage);
    let seen = person.get("/api/tasks", &[]).await;
    assert!(seen.is_ok(), "{seen:?}");
    gate.let_one_through();
    wait_for_end(&operator, last_handoff_id(&task)).await;
    sandbox.wait_until_no_process();
    assert!(server.stop().success());
}

#[tokio::test]
async fn without_processes_runs_wait_and_agents_are_not_interrupted() {
    let Some(limit) = ProcessLimit::new() else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("quick", "echo done");
    let server = sandbox.serve(2);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    readiness(&client).await;
    limit.add(server.pid());
    // From no process at all to almost enough: supervisor, agent and the waiting thread compete for the rest.
    for more in 0..5 {
        limit.allow_more(more);
        let task = start_handoff(&client, "quick").await;
        if more == 0 {
            events.wait_for("run_requeued", "quick").await;
        } else {
            events.wait_for("run_started", "quick").await;
        }
        limit.allow(None);
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(handoff.outcome, Some(Outcome::Completed), "{more}");
        assert_eq!(handoff.output.as_str(), "done");
    }
    sandbox.wait_until_no_process();
    assert!(server.stop().success());
    sandbox.assert_invariants();
}

#[tokio::test]
async fn a_supervisor_that_cannot_start_its_agent_says_that_it_may_pass() {
    let Some(limit) = ProcessLimit::new() else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("quick", "echo done");
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "quick").await;
    assert!(server.stop().success());
    let run = sandbox.run_dir(&handoff);
    limit.allow(Some(1));
    // The shell becomes the supervisor, which is the one allowed process.
    let script = format!(
        "echo $$ >{} && exec {} supervise {}",
        limit.members().display(),
        env!("CARGO_BIN_EXE_chorus"),
        run.display()
    );
    let ended = Command::new("/bin/sh").args(["-c", &script]).status();
    // The server believes the exit code, and not the file, which an agent can forge.
    let code = ended.unwrap().code();
    assert_eq!(code, Some(i32::from(chorus::supervisor::NOT_STARTED)));
    let exit = std::fs::read(run.join("exit.json")).unwrap();
    let exit: Value = serde_json::from_slice(&exit).unwrap();
    assert_eq!(exit["end"]["type"], "notStarted");
    assert_eq!(exit["end"]["mayPass"], true);
}

#[tokio::test]
async fn a_run_whose_agent_could_not_start_for_a_moment_starts_later() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("read _ <{} && echo went", gate.path().display());
    let sandbox = sandbox.with_agent("waiting", &script);
    let server = sandbox.serve(1);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "waiting").await;
    events.wait_for("run_started", "waiting").await;
    let handoff: chorus::domain::Handoff = client
        .get(&format!("/api/handoffs/{}", last_handoff_id(&task)), &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    let run = sandbox.run_dir(&handoff);
    // The supervisor runs, and has begun to start the agent.
    while !run.join("started.json").exists() {
        tokio::task::yield_now().await;
    }
    server.kill();
    // As if the supervisor had found no process for the agent.
    while !sandbox.all_processes().is_empty() {
        for (pid, _) in sandbox.all_processes() {
            sandbox.kill(pid);
        }
    }
    std::fs::remove_file(run.join("started.json")).unwrap();
    let exit = json!({ "end": { "type": "notStarted", "error": "no process", "mayPass": true }, "cause": "byItself" });
    std::fs::write(run.join("exit.json"), exit.to_string()).unwrap();

    let server = sandbox.serve(1);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    events.wait_for("run_requeued", "no process").await;
    gate.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "went");
    assert!(server.stop().success());
    sandbox.assert_invariants();
}

/// Writes to the ledger until the disk is full.
async fn write_until_full(client: &Client) {
    let body = json!({ "description": "x".repeat(8 * 1024) });
    loop {
        match client.send_json(Method::POST, "/api/tasks", &body).await {
            Ok(_) => {}
            Err(chorus::client::ClientError::Refused { status, error }) => {
                assert_eq!(status, 503);
                assert_eq!(error.details.unwrap()["reason"], "full");
                return;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Starts an agent that prints one line before the gate and one behind it, on a small disk.
async fn agent_on_small_disk() -> Option<(Sandbox, crate::support::Gate, Server, String)> {
    let sandbox = Sandbox::on_small_disk()?;
    let gate = sandbox.gate("gate");
    let script = format!("echo one; read _ <{}; echo two", gate.path().display());
    let sandbox = sandbox.with_agent("slow", &script);
    let server = sandbox.serve(2);
    let client = server.operator();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "slow").await;
    events.wait_for("message_added", "one").await;
    Some((sandbox, gate, server, last_handoff_id(&task)))
}

#[tokio::test]
async fn an_agent_that_ends_on_a_full_disk_has_ended_well() {
    let Some((sandbox, gate, server, handoff_id)) = agent_on_small_disk().await else {
        return;
    };
    let client = server.operator();
    sandbox.fill_disk();
    write_until_full(&client).await;
    gate.let_one_through();
    sandbox.wait_until_no_process();
    sandbox.free_disk();
    let handoff = wait_for_end(&client, handoff_id).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "one\ntwo");
    assert!(server.stop().success());
    assert_eq!(messages(&sandbox), "one|two");
    sandbox.assert_invariants();
}

#[tokio::test]
async fn an_upload_to_a_full_disk_says_so() {
    let Some(sandbox) = Sandbox::on_small_disk() else {
        return;
    };
    let server = sandbox.serve(0);
    let client = server.operator();
    let task = create_task(&client).await;
    let upload = async || {
        let path = format!("/api/tasks/{}/attachments?filename=a.txt", task.id);
        let request = client.request(Method::POST, &path);
        client.send(request.body(vec![b'x'; 64 * 1024])).await
    };
    sandbox.fill_disk();
    let refused = expect_refusal(upload().await);
    assert_eq!(
        (refused.0, refused.1.as_str()),
        (503, "NOT_READY"),
        "{}",
        refused.2
    );
    let uploads = sandbox.data_dir.join("uploads").join(task.id.as_str());
    assert_eq!(std::fs::read_dir(&uploads).unwrap().count(), 0);
    sandbox.free_disk();
    upload().await.unwrap();
    assert_eq!(std::fs::read_dir(&uploads).unwrap().count(), 1);
    assert!(server.stop().success());
    sandbox.assert_invariants();
}

#[tokio::test]
async fn a_server_that_stops_on_a_full_disk_leaves_the_output_to_the_next_one() {
    let Some((sandbox, gate, server, handoff_id)) = agent_on_small_disk().await else {
        return;
    };
    sandbox.fill_disk();
    write_until_full(&server.client()).await;
    gate.let_one_through();
    sandbox.wait_until_no_process();
    assert!(server.stop().success());
    sandbox.free_disk();
    let server = sandbox.serve(2);
    let handoff = wait_for_end(&server.client(), handoff_id).await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "one\ntwo");
    assert!(server.stop().success());
    assert_eq!(messages(&sandbox), "one|two");
    sandbox.assert_invariants();
}

/// Starts a server that may have one process, and returns it with its first notice.
fn start_without_threads(sandbox: &Sandbox, limit: &ProcessLimit) -> (Child, String) {
    limit.allow(Some(1));
    let script = format!(
        "echo $$ >{} && exec {} serve --port 0 --max-runs 1 --data-dir {}",
        limit.members().display(),
        env!("CARGO_BIN_EXE_chorus"),
        sandbox.data_dir.display()
    );
    let mut server = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notice = String::new();
    let mut stderr = BufReader::new(server.stderr.as_mut().unwrap());
    stderr.read_line(&mut notice).unwrap();
    (server, notice)
}

#[test]
fn a_server_waits_for_threads_before_it_starts() {
    let Some(limit) = ProcessLimit::new() else {
        return;
    };
    let sandbox = Sandbox::new();
    let (mut server, notice) = start_without_threads(&sandbox, &limit);
    assert!(notice.contains("waiting"), "{notice}");
    limit.allow(None);
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.as_mut().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("listens on"), "{line}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_server_that_waits_for_threads_can_be_stopped() {
    let Some(limit) = ProcessLimit::new() else {
        return;
    };
    let sandbox = Sandbox::new();
    let (mut server, notice) = start_without_threads(&sandbox, &limit);
    assert!(notice.contains("waiting"), "{notice}");
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    server.wait().unwrap();
}
