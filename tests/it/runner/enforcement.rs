//! No agent outlives a stop or a limit, whatever it does to its supervisor and its files.

use std::fs::{File, TryLockError};
use std::time::Instant;

use chorus::client::Client;
use chorus::domain::{Outcome, Task};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Events, Sandbox, TIMEOUT, last_handoff_id, run_agent, start_handoff, wait_for_end,
};

/// Waits until a condition holds that no event announces.
pub(super) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

async fn cancel(client: &Client, task: &Task) -> Value {
    let path = format!("/api/tasks/{}/handoff/cancel", task.id);
    let reply = client.send_json(Method::POST, &path, &json!({})).await;
    serde_json::from_str(&reply.unwrap().text).unwrap()
}

/// Adds agents that make their supervisor deaf in different ways.
fn with_unruly_agents(sandbox: Sandbox) -> Sandbox {
    let own = "own=$(echo $0/${CHORUS_RUN##*/})";
    let runs = sandbox.data_dir.join("runs").display().to_string();
    let own = own.replace("$0", &runs);
    [
        ("stopping", "kill -STOP $PPID"),
        ("removing", "rm $own/control"),
        (
            "eating",
            "(while :; do cat <$own/control >/dev/null; done) &",
        ),
        (
            "forging",
            "kill -STOP $PPID; export CHORUS_RUN=${CHORUS_RUN%/*}/01900000-0000-7000-8000-000000000000; exec sh -c 'echo begun; while :; do sleep 600; done'",
        ),
    ]
    .into_iter()
    .fold(sandbox, |sandbox, (name, trick)| {
        sandbox.with_unmasked_agent(
            name,
            &format!("trap '' TERM; {own}; {trick}\necho begun\nwhile :; do sleep 600; done"),
        )
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_makes_its_supervisor_deaf_does_not_outlive_a_cancel() {
    let sandbox = with_unruly_agents(Sandbox::new());
    let server = sandbox.serve(4);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let mut tasks = Vec::new();
    for agent in ["stopping", "removing", "eating", "forging"] {
        tasks.push(start_handoff(&client, agent).await);
        events.wait_for("message_added", "begun").await;
    }
    let cancelled = join_all(tasks.iter().map(|task| cancel(&client, task)));
    let cancelled = tokio::time::timeout(TIMEOUT, cancelled).await;
    for answer in cancelled.expect("a cancel was not answered") {
        assert_eq!(answer["meta"]["warning"], Value::Null, "{answer}");
    }
    assert_eq!(sandbox.all_processes(), []);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_stops_its_supervisor_does_not_outlive_its_limits() {
    let agent = |limit: &str| {
        let script = "kill -STOP $PPID; echo begun; exec sleep 600";
        json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], limit: 1, "isolation": "none" })
    };
    let sandbox = Sandbox::new()
        .with_configured_agent("slow", &agent("maxSeconds"))
        .with_configured_agent("idle", &agent("idleSeconds"));
    let server = sandbox.serve(2);
    let client = server.client();
    let ends = ["slow", "idle"].map(|agent| run_agent(&client, agent));
    let reasons = ["time limit of 1 s", "printed nothing for 1 s"];
    for (handoff, reason) in join_all(ends).await.into_iter().zip(reasons) {
        assert_eq!(handoff.outcome, Some(Outcome::TimedOut));
        assert!(
            handoff.output.as_str().contains(reason),
            "{}",
            handoff.output
        );
    }
    assert_eq!(sandbox.all_processes(), []);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_stops_its_supervisor_does_not_outlive_a_restart() {
    let sandbox = with_unruly_agents(Sandbox::new());
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "stopping").await;
    events.wait_for("message_added", "begun").await;
    server.kill();
    // The agent pretends that it has ended.
    let runs = sandbox.data_dir.join("runs");
    let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    let forged = r#"{"end":{"type":"exited","code":0},"cause":"byItself"}"#;
    std::fs::write(run.path().join("exit.json"), forged).unwrap();
    let connection = crate::support::invariants::open(&sandbox.data_dir.join("chorus.db"));
    let ended_by_hand =
        "UPDATE handoffs SET completed_at = 1, outcome = 'completed', output = 'by hand';
         UPDATE runs SET state = 'ended', outcome = 'cancelled', ended_at = 1;
         UPDATE tasks SET status = 'waiting'";
    connection.execute_batch(ended_by_hand).unwrap();
    drop(connection);
    let server = sandbox.serve(1);
    sandbox.wait_until_no_process();
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.output.as_str(), "by hand");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_holds_the_lock_of_its_dead_supervisor_is_ended() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "echo begun; read _ <{}; kill -9 $PPID; exec flock {}/${{CHORUS_RUN##*/}}/lock sleep 600",
        gate.path().display(),
        sandbox.data_dir.join("runs").display()
    );
    let sandbox = sandbox.with_unmasked_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    server.kill();
    gate.let_one_through();
    let runs = sandbox.data_dir.join("runs");
    let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    wait_until("the agent does not lock the file", || {
        let lock = File::open(run.path().join("lock")).unwrap();
        let is_held = matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
        is_held && sandbox.supervisors().is_empty()
    });
    let server = sandbox.serve(1);
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_directory_vanishes_is_not_started_again() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let ran = sandbox.path("ran");
    let script = format!(
        "echo begun; read _ <{}; rm -rf {}/${{CHORUS_RUN##*/}}; echo ran >>{}; exec sleep 600",
        gate.path().display(),
        sandbox.data_dir.join("runs").display(),
        ran.display()
    );
    let sandbox = sandbox.with_unmasked_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    wait_until("the start is not recorded", || {
        sandbox.query("SELECT count(*) FROM runs WHERE launched_at IS NOT NULL") == "1"
    });
    server.kill();
    gate.let_one_through();
    wait_until("the agent does not remove the directory", || ran.exists());
    for _ in 0..2 {
        let server = sandbox.serve(1);
        // If the run were started again, its agent would wait here no longer.
        gate.let_one_through();
        let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::Interrupted),
            "{}",
            handoff.output
        );
    }
    sandbox.wait_until_no_process();
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_directory_and_supervisor_vanish_is_not_started_again() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let ran = sandbox.path("ran");
    let script = format!(
        "echo ran >>{}; echo begun; read _ <{}; rm -rf {}/${{CHORUS_RUN##*/}}; kill -9 $PPID; exec sleep 600",
        ran.display(),
        gate.path().display(),
        sandbox.data_dir.join("runs").display(),
    );
    let sandbox = sandbox.with_unmasked_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    gate.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    sandbox.wait_until_no_process();
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_environment_is_ended_with_its_killed_supervisor() {
    let sandbox = Sandbox::new();
    let marked = sandbox.path("escaped").display().to_string();
    let script = format!("env -i sh -c 'sleep 600; : {marked}' & echo begun; exec sleep 600");
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    let escaped = || -> Vec<String> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
        pids.filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let environment = std::fs::read(format!("/proc/{pid}/environ"));
            String::from_utf8_lossy(&line).contains(&marked)
                && environment.is_ok_and(|environment| {
                    !String::from_utf8_lossy(&environment).contains("CHORUS")
                })
        })
        .collect()
    };
    wait_until("the process without environment does not start", || {
        !escaped().is_empty()
    });
    for pid in sandbox.supervisors() {
        assert!(sandbox.kill(pid));
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert_eq!(escaped(), Vec::<String>::new());
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cannot_pretend_again_and_again_that_it_never_began() {
    let sandbox = Sandbox::new();
    let ran = sandbox.path("ran");
    let runs = sandbox.data_dir.join("runs").display().to_string();
    let forged =
        r#"{"end":{"type":"notStarted","error":"no room","mayPass":true},"cause":"byItself"}"#;
    let script = format!(
        "cd {runs}/${{CHORUS_RUN##*/}}; echo ran >>{}; rm -f started.json; $FORGE; kill -9 $PPID",
        ran.display()
    );
    let write = format!("echo '{forged}' >exit.json");
    let sandbox = sandbox
        .with_unmasked_agent("forging", &script.replace("$FORGE", &write))
        .with_unmasked_agent("erasing", &script.replace("$FORGE", ":"));
    let server = sandbox.serve(1);
    for (agent, outcome) in [
        ("forging", Outcome::Failed),
        ("erasing", Outcome::Interrupted),
    ] {
        std::fs::write(&ran, "").unwrap();
        let handoff = run_agent(&server.client(), agent).await;
        assert_eq!(handoff.outcome, Some(outcome), "{}", handoff.output);
        // Once, and three times more because its files said so.
        assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n".repeat(4));
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_agent_that_stopped_its_supervisor_is_noticed() {
    let sandbox = Sandbox::new().with_unmasked_agent("worker", "kill -STOP $PPID; echo done");
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "worker").await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_forges_its_end_and_kills_its_supervisor_is_ended() {
    let sandbox = Sandbox::new();
    let runs = sandbox.data_dir.join("runs").display().to_string();
    let forged = r#"{"end":{"type":"exited","code":0},"cause":"byItself"}"#;
    let script = format!(
        "cd {runs}/${{CHORUS_RUN##*/}}; echo said; echo '{forged}' >exit.json; kill -9 $PPID; exec sleep 600"
    );
    let sandbox = sandbox.with_unmasked_agent("forging", &script);
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "forging").await;
    // The output that the agent printed counts, and the work is over.
    assert_eq!(handoff.output.as_str(), "said");
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_looks_like_the_supervisor_of_an_ended_run_is_ended() {
    let sandbox = Sandbox::new();
    let runs = sandbox.data_dir.join("runs").display().to_string();
    let held = sandbox.path("held").display().to_string();
    // The child has the mark, the arguments and the lock of the ended run, and leaves the cgroup of its own.
    let script = format!(
        "old=$(cat {ended})
         echo 'flock 0; exec 9>{held}; flock 9; sleep 600' >supervise
         for all in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/unified/cgroup.procs; do (echo 0 >$all) 2>/dev/null && echo 0 >$all; done
         CHORUS_RUN=${{CHORUS_RUN%/*}}/$old sh supervise {runs}/$old <{runs}/$old/lock &
         while flock --nonblock {held} true; do :; done
         echo begun; exec sleep 600",
        ended = sandbox.path("ended").display(),
    );
    let sandbox = sandbox
        .with_agent("quick", "true")
        .with_unmasked_agent("pretending", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let ended = run_agent(&client, "quick").await.run.unwrap().id;
    std::fs::write(sandbox.path("ended"), ended.as_str()).unwrap();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "pretending").await;
    events.wait_for("message_added", "begun").await;
    for pid in sandbox.supervisors() {
        let own = format!("{runs}/{ended}");
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        if !String::from_utf8_lossy(&line).contains(&own) {
            assert!(sandbox.kill(pid));
        }
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    sandbox.wait_until_no_process();
}
