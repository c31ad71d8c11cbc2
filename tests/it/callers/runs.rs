//! A process of a run that drops its token.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use chorus::domain::{Handoff, Task};
use reqwest::Method;
use serde_json::json;

use crate::support::{Chorus, Events, Sandbox, Server, preload, run_agent, start_handoff};

/// Defines `try_to_set_up`, which prints the status and the message of a call that only the operator may make: 403 for a run, 401
/// for everybody else.
const TRY: &str = r#"
try_to_set_up() { "$@" curl -s --max-time 60 -w ' %{http_code}\n' -X PUT -d '{"provider":"command","program":"/bin/sh"}' "$URL/api/agents/x"; }
try_by_socket() { "$@" curl -s --max-time 60 -w ' %{http_code}\n' -X PUT -d '{}' --unix-socket "$SOCKET" http://localhost/api/agents/x; }
URL=$CHORUS_URL; SOCKET=$(pwd)/../../chorus.sock; unset CHORUS_TOKEN
"#;

async fn output_of(sandbox: &Sandbox, server: &Server, agent: &str) -> Handoff {
    let handoff = run_agent(&server.client(), agent).await;
    sandbox.wait_until_no_process();
    handoff
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_of_a_run_is_that_run_without_its_token() {
    let script = format!(
        "{TRY}
         try_to_set_up
         try_to_set_up env -i
         try_to_set_up setsid env -i
         (try_to_set_up setsid env -i >orphan & ) ; while ! [ -s orphan ]; do sleep 0.05; done; cat orphan
         try_by_socket
         try_by_socket setsid env -i"
    );
    let sandbox = Sandbox::new().with_agent("sly", &script);
    let server = sandbox.serve(1);
    let handoff = output_of(&sandbox, &server, "sly").await;
    let lines: Vec<_> = handoff.output.as_str().lines().collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    for line in lines {
        assert!(line.ends_with(" 403"), "{line}");
        assert!(
            line.contains("A run of sly may not change the configuration"),
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_calls_without_a_token_while_agents_work() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let sandbox = sandbox.with_agent("busy", &format!("read _ <{}", gate.path().display()));
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    start_handoff(&client, "busy").await;
    events.wait_for("agent_handoff_started", "busy").await;
    let body = json!({ "description": "by a person" });
    let socket = format!("unix:{}", sandbox.data_dir.join("chorus.sock").display());
    for url in [&server.url, &socket] {
        let person = chorus::client::Client::new(url, None).unwrap();
        person
            .send_json(Method::POST, "/api/tasks", &body)
            .await
            .unwrap();
    }
    gate.let_one_through();
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_start_has_not_returned_is_no_person() {
    let sandbox = Sandbox::new();
    let foreign = sandbox.path("foreign");
    let script = format!(
        "unset CHORUS_TOKEN; curl -s --max-time 60 -w ' %{{http_code}}' -X PATCH -d '{{\"priority\":1}}' $CHORUS_URL/api/tasks/$(cat {})",
        foreign.display()
    );
    let sandbox = sandbox.with_agent("early", &script);
    let serve = Chorus::new(["serve", "--port", "0", "--max-runs", "1"])
        .env("LD_PRELOAD", preload::compile("slow_spawn"));
    let server = Server::spawn(&sandbox.data_dir, serve);
    let body = json!({ "description": "d" });
    let client = server.client();
    let made = client.send_json(Method::POST, "/api/tasks", &body).await;
    let task: Task = made.unwrap().data().unwrap();
    std::fs::write(foreign, task.id.as_str()).unwrap();
    let handoff = output_of(&sandbox, &server, "early").await;
    let output = handoff.output.as_str();
    assert!(output.ends_with(" 403"), "{output}");
}

/// A child that a program starts has the program's sockets until it executes or ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_whose_children_end_meanwhile_is_a_person() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let sandbox = sandbox.with_agent("busy", &format!("read _ <{}", gate.path().display()));
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    start_handoff(&client, "busy").await;
    events.wait_for("agent_handoff_started", "busy").await;
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let call = move |milliseconds: u64| {
        let mut connection = TcpStream::connect(&address).unwrap();
        let copy: OwnedFd = connection.try_clone().unwrap().into();
        let mut child = Command::new("/bin/sleep")
            .arg(format!(
                "{:.3}",
                Duration::from_millis(milliseconds).as_secs_f64()
            ))
            .stdin(Stdio::from(copy))
            .spawn()
            .unwrap();
        let head =
            format!("GET /api/agents HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        connection.write_all(head.as_bytes()).unwrap();
        let waiting = std::thread::spawn(move || child.wait().unwrap());
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        waiting.join().unwrap();
        answer
    };
    let answers = tokio::task::spawn_blocking(move || (0..80).map(|n| call(n % 20)).collect());
    let answers: Vec<String> = answers.await.unwrap();
    for answer in answers {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    gate.let_one_through();
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_of_a_killed_supervisor_is_not_a_person() {
    let sandbox = Sandbox::new();
    let (gate, found) = (sandbox.gate("gate"), sandbox.path("found"));
    // The orphan has no environment, no session and no supervisor any more.
    let orphan = format!(
        "echo $$ >{1}; while kill -0 $1 2>/dev/null; do sleep 0.05; done; curl -s --max-time 60 -w ' %{{http_code}}' -d '{{\"description\":\"by an orphan\"}}' $2/api/tasks >{0}.new; mv {0}.new {0}",
        found.display(),
        sandbox.path("pid").display()
    );
    let script = format!(
        "setsid env -i sh -c '{}' orphan $PPID $CHORUS_URL & until [ -s {} ]; do sleep 0.05; done; kill -9 $PPID; read _",
        orphan.replace('\'', r"'\''"),
        sandbox.path("pid").display()
    );
    let sandbox = sandbox
        .with_agent("busy", &format!("read _ <{}", gate.path().display()))
        .with_agent("killer", &script);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    start_handoff(&client, "busy").await;
    events.wait_for("agent_handoff_started", "busy").await;
    start_handoff(&client, "killer").await;
    // The server may end the orphan before it calls.
    let is_over = || {
        let orphan = std::fs::read_to_string(sandbox.path("pid")).unwrap_or_default();
        let orphan = orphan.strip_suffix('\n');
        found.exists() || orphan.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    while !is_over() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = std::fs::read_to_string(&found).unwrap_or_default();
    assert!(answer.is_empty() || answer.ends_with(" 401"), "{answer}");
    assert_eq!(
        sandbox.query("SELECT count(*) FROM tasks WHERE description = 'by an orphan'"),
        "0"
    );
    gate.let_one_through();
    sandbox.wait_until_no_process();
}
