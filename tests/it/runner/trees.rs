//! Agents that wait for agents: repeated calls, answers that are not fetched, limits that stand still, and cancels that go down.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use chorus::api::Answer;
use chorus::client::Client;
use chorus::domain::{Handoff, Outcome, Task};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::enforcement::wait_until;
use super::{HANDOFF_SCRIPT, client_of_run, waiting_agents};
use crate::support::{
    Events, Gate, Sandbox, Server, last_handoff_id, reserve_port, start_handoff, wait_for_end,
};

/// A script that starts a waiting command, and kills it when the gate opens, as the shell tool of a model does at its limit.
fn cut_off(command: &str, gate: &Gate) -> String {
    format!(
        "setsid {command} $CHORUS_TASK_ID child 'same words' >cut & pid=$!; read _ <{}; kill -s KILL -- -$pid; wait $pid; cat cut; echo cut",
        gate.path().display()
    )
}

async fn get(client: &Client, id: impl std::fmt::Display) -> Handoff {
    let reply = client.get(&format!("/api/handoffs/{id}"), &[]).await;
    reply.unwrap().data().unwrap()
}

async fn cancel(client: &Client, task: &Task) {
    let path = format!("/api/tasks/{}/handoff/cancel", task.id);
    let body = json!({});
    let cancelled = client.send_json(Method::POST, &path, &body);
    let cancelled = tokio::time::timeout(crate::support::TIMEOUT, cancelled).await;
    cancelled.expect("the cancel was not answered").unwrap();
}

/// Delegates as a run, and returns the task and whether the hand-off existed.
async fn delegate(client: &Client, task: &Task, body: &Value) -> (Task, bool) {
    let path = format!("/api/tasks/{}/handoff", task.id);
    let reply = client.send_json(Method::POST, &path, body).await.unwrap();
    let answer: Answer<Task> = reply.answer().unwrap();
    (answer.data, answer.meta.existing)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_cut_off_waits_for_the_same_child_again() {
    for command in ["chorus handoff", HANDOFF_SCRIPT] {
        let sandbox = Sandbox::new();
        let (cut, go) = (sandbox.gate("cut"), sandbox.gate("go"));
        let again = format!(
            "{}; {command} $CHORUS_TASK_ID child 'same words'; {command} $CHORUS_TASK_ID child 'same words'",
            cut_off(command, &cut)
        );
        let child = format!(
            "echo begun; read _ <{}; echo $CHORUS_TASK_ID",
            go.path().display()
        );
        let sandbox = sandbox
            .with_agent("parent", &again)
            .with_agent("child", &child);
        let server = sandbox.serve(1);
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let parent = start_handoff(&client, "parent").await;
        events.wait_for("message_added", "begun").await;
        cut.let_one_through();
        // The third call is a new hand-off, because the second got the answer.
        go.let_one_through();
        go.let_one_through();
        let handoff = wait_for_end(&client, last_handoff_id(&parent)).await;
        let output = handoff.output.as_str();
        assert_eq!(handoff.outcome, Some(Outcome::Completed), "{output}");
        let children = sandbox.query(
            "SELECT group_concat('begun' || char(10) || id, char(10)) FROM (SELECT id FROM tasks WHERE is_delegated ORDER BY number)",
        );
        assert_eq!(output, format!("cut\n{children}"));
        assert_eq!(sandbox.query("SELECT count(*) FROM handoffs"), "3");
        assert_eq!(handoff.unanswered_handoffs, []);
        for (arguments, shown) in [(&["task", "list"][..], 1), (&["task", "list", "--all"], 3)] {
            let listed = server.chorus(arguments.iter().copied());
            let listed = tokio::task::block_in_place(|| listed.output());
            assert_eq!(
                String::from_utf8(listed.stdout).unwrap().lines().count(),
                shown
            );
        }
        assert_eq!(
            sandbox.query("SELECT count(*) FROM delegations WHERE delivered_at IS NULL"),
            "0"
        );
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_between_two_calls_is_given_to_the_second() {
    let sandbox = Sandbox::new();
    let (cut, again) = (sandbox.gate("cut"), sandbox.gate("again"));
    let script = format!(
        "{}; read _ <{}; chorus handoff $CHORUS_TASK_ID child 'same words' 2>notice; cat notice",
        cut_off("chorus handoff", &cut),
        again.path().display()
    );
    let go = sandbox.gate("go");
    let child = format!("echo begun; read _ <{}; echo answer", go.path().display());
    let sandbox = sandbox
        .with_agent("parent", &script)
        .with_agent("child", &child);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let parent = start_handoff(&client, "parent").await;
    events.wait_for("message_added", "begun").await;
    cut.let_one_through();
    events.wait_for("message_added", "cut").await;
    go.let_one_through();
    events.wait_for("agent_handoff_completed", "child").await;
    again.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&parent)).await;
    let output = handoff.output.as_str();
    assert!(
        output.starts_with("cut\nbegun\nanswer\nchild was asked the same "),
        "{output}"
    );
    assert!(
        output.contains("its answer was not fetched yet"),
        "{output}"
    );
    assert_eq!(sandbox.query("SELECT count(*) FROM handoffs"), "2");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_calls_at_once_have_one_child_and_other_calls_their_own() {
    let sandbox = waiting_agents(&["a", "b", "c"]);
    let server = sandbox.serve(3);
    let mut events = Events::listen(&server.client()).await;
    let parent = start_handoff(&server.client(), "a").await;
    let run = client_of_run(&server, &mut events, &parent).await;
    let body = |agent: &str, prompt: &str| json!({ "agentName": agent, "prompt": prompt });
    let same = body("b", "p");
    let calls = join_all((0..8).map(|_| delegate(&run, &parent, &same))).await;
    assert!(calls.iter().all(|(task, _)| task.id == calls[0].0.id));
    assert_eq!(calls.iter().filter(|(_, existing)| !existing).count(), 1);
    let child = &calls[0].0;
    let mut others = vec![body("b", "q"), body("c", "p"), same.clone()];
    others[2]["new"] = true.into();
    for other in &others {
        let (task, existing) = delegate(&run, &parent, other).await;
        assert!(!existing && task.id != child.id, "{other}");
    }
    // Both that wait get the answer; whoever asks after that asks anew.
    let wait = || wait_for_end(&run, last_handoff_id(child));
    let path = format!("/api/tasks/{}/handoff/complete", child.id);
    let complete = async {
        let output = json!({ "output": "answer" });
        let done = server.client().send_json(Method::PUT, &path, &output).await;
        done.unwrap();
    };
    let (one, other, ()) = tokio::join!(wait(), wait(), complete);
    assert_eq!(
        (one.output.as_str(), other.output.as_str()),
        ("answer", "answer")
    );
    // The newest of two with the same words is still open.
    let (task, existing) = delegate(&run, &parent, &same).await;
    assert!(existing && task.id != child.id);
    // A new run of the same agent is a new caller.
    cancel(&server.client(), &parent).await;
    let body = json!({ "agentName": "a", "prompt": "again" });
    let parent = crate::support::hand_off(&server.client(), &parent, &body).await;
    let parent = parent.unwrap();
    let run = client_of_run(&server, &mut events, &parent).await;
    assert!(!delegate(&run, &parent, &same).await.1);
    cancel(&server.client(), &parent).await;
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_is_told_of_an_answer_that_the_agent_did_not_wait_for() {
    let sandbox = Sandbox::new();
    let (cut, go) = (sandbox.gate("cut"), sandbox.gate("go"));
    let parent = format!("{}; echo done", cut_off("chorus handoff", &cut));
    let child = format!("echo begun; read _ <{}; echo late", go.path().display());
    let sandbox = sandbox
        .with_agent("parent", &parent)
        .with_agent("child", &child);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    for command in ["chorus", "script"] {
        let task = crate::support::create_task(&client).await;
        let waiter = match command {
            "chorus" => server
                .chorus(["handoff", task.id.as_str(), "parent", "p"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn(),
            _ => Command::new(HANDOFF_SCRIPT)
                .args([task.id.as_str(), "parent", "p"])
                .env("CHORUS_URL", &server.url)
                .env_remove("CHORUS_TOKEN")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        };
        events.wait_for("message_added", "begun").await;
        cut.let_one_through();
        let output = tokio::task::block_in_place(|| waiter.wait_with_output()).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "cut\ndone\n");
        assert!(
            stderr.contains("parent ended without the answer of child"),
            "{stderr}"
        );
        events.wait_for("answer_missed", "child").await;
        let shown = server.chorus(["task", "show", task.id.as_str()]);
        let shown = tokio::task::block_in_place(|| shown.output());
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(
            shown.contains("parent ended without the answer of child, which is still working"),
            "{shown}"
        );
        go.let_one_through();
        events.wait_for("agent_handoff_completed", "child").await;
        let parent_id = sandbox.query(&format!(
            "SELECT h.id FROM handoffs h JOIN tasks t ON t.number = h.task_number WHERE t.id = '{}'",
            task.id
        ));
        let parent = get(&client, parent_id).await;
        let [missed] = &parent.unanswered_handoffs[..] else {
            panic!("{parent:?}");
        };
        assert_eq!(missed.outcome, Some(Outcome::Completed));
        let child: Task = client
            .get(&format!("/api/tasks/{}", missed.task_id), &[])
            .await
            .unwrap()
            .data()
            .unwrap();
        assert_eq!(child.status, chorus::domain::Status::Completed);
    }
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_goes_down_to_all_that_is_waited_for_and_no_further() {
    let sandbox = waiting_agents(&["a", "b", "c", "d"]);
    let server = sandbox.serve(4);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let mut task = start_handoff(&client, "a").await;
    let root = task.clone();
    let body = |agent: &str| json!({ "agentName": agent, "prompt": "p" });
    for next in ["b", "c"] {
        let run = client_of_run(&server, &mut events, &task).await;
        task = delegate(&run, &task, &body(next)).await.0;
    }
    let run = client_of_run(&server, &mut events, &task).await;
    let mut detached = body("d");
    detached["detached"] = true.into();
    let detached = delegate(&run, &task, &detached).await.0;
    client_of_run(&server, &mut events, &detached).await;
    cancel(&client, &root).await;
    // All are stopped when the cancel is answered.
    let left =
        sandbox.query("SELECT group_concat(agent_name) FROM handoffs WHERE completed_at IS NULL");
    assert_eq!(left, "d");
    wait_until("a supervisor is left", || sandbox.supervisors().len() == 1);
    let outputs = sandbox.query(
        "SELECT group_concat(line, '|') FROM (
             SELECT h.output || ' ' || t.status AS line FROM handoffs h JOIN tasks t ON t.number = h.task_number
              WHERE h.outcome = 'cancelled' ORDER BY h.number)",
    );
    assert_eq!(
        outputs,
        "Cancelled waiting|Cancelled: a, which waited for the answer, was cancelled failed|\
         Cancelled: b, which waited for the answer, was cancelled failed"
    );
    cancel(&client, &detached).await;
    assert_eq!(sandbox.processes(), []);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_or_interrupted_agent_takes_down_what_it_waited_for() {
    let sandbox = Sandbox::new();
    let cut = sandbox.gate("cut");
    let failing = format!("{}; exit 3", cut_off("chorus handoff", &cut));
    let sandbox = sandbox
        .with_agent("failing", &failing)
        .with_agent("asking", "chorus handoff $CHORUS_TASK_ID child p")
        .with_agent("child", "echo begun; exec sleep 600");
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    for (agent, outcome) in [
        ("failing", Outcome::Failed),
        ("asking", Outcome::Interrupted),
    ] {
        let task = start_handoff(&client, agent).await;
        events.wait_for("message_added", "begun").await;
        if agent == "asking" {
            let run = get(&client, last_handoff_id(&task)).await.run.unwrap();
            let processes = sandbox.all_processes();
            let is_its =
                |line: &str| line.contains(" supervise ") && line.contains(run.id.as_str());
            let (pid, _) = processes.iter().find(|(_, line)| is_its(line)).unwrap();
            sandbox.kill(*pid);
        } else {
            cut.let_one_through();
        }
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(handoff.outcome, Some(outcome), "{}", handoff.output);
        sandbox.wait_until_no_process();
        let child = sandbox.query("SELECT outcome FROM handoffs ORDER BY number DESC LIMIT 1");
        assert_eq!(child, "cancelled");
    }
    sandbox.assert_invariants();
}

/// Adds an agent with a short idle and time limit that asks a child, which waits at a gate.
fn impatient(sandbox: Sandbox, gate: &Gate) -> Sandbox {
    let script = "chorus handoff $CHORUS_TASK_ID child p";
    let child = format!("echo begun; read _ <{}; echo answer", gate.path().display());
    let agent = json!({
        "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], "idleSeconds": 1, "maxSeconds": 3,
    });
    sandbox
        .with_configured_agent("parent", &agent)
        .with_agent("child", &child)
}

/// Waits until the time of a limit has passed.
fn let_pass(seconds: u32) {
    let slept = Command::new("sleep").arg(seconds.to_string()).status();
    assert!(slept.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_an_agent_stand_still_while_it_waits_also_without_a_server() {
    // The guard of the next server would act eight seconds after its start.
    let ends: [(fn(Server), u32); 2] = [
        (Server::kill, 9),
        (|server| assert!(server.stop().success()), 1),
    ];
    for (end, later) in ends {
        let sandbox = Sandbox::new();
        let gate = sandbox.gate("gate");
        let sandbox = impatient(sandbox, &gate);
        let port = reserve_port();
        let server = sandbox.serve_with(1, &["--port", &port]);
        let mut events = Events::listen(&server.client()).await;
        let parent = start_handoff(&server.client(), "parent").await;
        events.wait_for("message_added", "begun").await;
        tokio::task::block_in_place(|| let_pass(2));
        end(server);
        tokio::task::block_in_place(|| let_pass(2));
        assert_eq!(sandbox.supervisors().len(), 2);
        let server = sandbox.serve_with(1, &["--port", &port]);
        tokio::task::block_in_place(|| let_pass(later));
        gate.let_one_through();
        let handoff = wait_for_end(&server.client(), last_handoff_id(&parent)).await;
        assert_eq!(handoff.output.as_str(), "begun\nanswer");
        assert_eq!(handoff.outcome, Some(Outcome::Completed));
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_an_agent_continue_when_its_child_ends_without_a_server() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let sandbox = impatient(sandbox, &gate);
    let server = sandbox.serve(1);
    let mut events = Events::listen(&server.client()).await;
    let parent = start_handoff(&server.client(), "parent").await;
    events.wait_for("message_added", "begun").await;
    wait_until("the supervisor was not told", || {
        let runs = std::fs::read_dir(sandbox.data_dir.join("runs")).unwrap();
        runs.flatten().any(|run| {
            std::fs::read_to_string(run.path().join("waits.json"))
                .is_ok_and(|waits| waits.contains("\"others\":false"))
        })
    });
    server.kill();
    gate.let_one_through();
    // The command that waits has no server, so the agent prints nothing.
    sandbox.wait_until_no_process();
    let server = sandbox.serve(1);
    let handoff = wait_for_end(&server.client(), last_handoff_id(&parent)).await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::TimedOut),
        "{}",
        handoff.output
    );
    let [missed] = &handoff.unanswered_handoffs[..] else {
        panic!("{handoff:?}");
    };
    let child = wait_for_end(&server.client(), &missed.id).await;
    assert_eq!(child.output.as_str(), "begun\nanswer");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_command_shows_who_works() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let sandbox = impatient(sandbox, &gate);
    let server = sandbox.serve(1);
    let client = server.client();
    let task = crate::support::create_task(&client).await;
    let mut waiter = server
        .chorus(["handoff", task.id.as_str(), "parent", "p"])
        .env("CHORUS_TEST_ALIVE_MILLIS", "20")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut signs = BufReader::new(waiter.stderr.take().unwrap()).lines();
    let sign = tokio::task::block_in_place(|| {
        signs.find_map(|line| Some(line.unwrap()).filter(|line| line.contains("; child ")))
    });
    let sign = sign.unwrap();
    assert!(
        sign.starts_with("parent waits for child; child has w"),
        "{sign}"
    );
    let tree = server.chorus(["task", "tree", task.id.as_str()]);
    let tree = tokio::task::block_in_place(|| tree.output());
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("waits for child for "), "{tree}");
    gate.let_one_through();
    drop(signs);
    let output = tokio::task::block_in_place(|| waiter.wait_with_output()).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "begun\nanswer\n");
}
