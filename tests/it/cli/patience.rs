//! Commands while the server is away.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::{Desk, transcript};
use crate::support::Chorus;

/// The fate of the first connection.
#[derive(Clone, Copy)]
enum First {
    /// The server dies before it reads the request.
    RequestIsLost,
    /// The server dies after the change, before the answer is read.
    AnswerIsLost,
}

/// Listens in front of a server, and loses the first connection.
async fn unsteady(desk: &Desk, first: First) -> String {
    let server = desk.url.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut caller, _) = listener.accept().await.unwrap();
        if let First::AnswerIsLost = first {
            let request = whole_request(&mut caller).await;
            let mut server = TcpStream::connect(&server).await.unwrap();
            server.write_all(&request).await.unwrap();
            // The first byte of the answer comes after the commit.
            server.read_u8().await.unwrap();
        }
        drop(caller);
        loop {
            let (mut caller, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut caller, &mut server).await });
        }
    });
    url
}

async fn whole_request(caller: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("content-length: ").map_or(0, |(_, rest)| {
                rest.lines().next().unwrap().trim().parse().unwrap()
            });
            if body.len() >= length {
                return request;
            }
        }
        assert_ne!(caller.read_buf(&mut request).await.unwrap(), 0);
    }
}

/// Begins a command that an agent runs.
fn by_agent<'a>(url: &str, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
    Chorus::new(arguments)
        .env("CHORUS_URL", url)
        .env("CHORUS_HANDOFF_ID", "0198f3c0-aaaa-7000-8000-000000000000")
}

#[tokio::test]
async fn a_command_of_an_agent_waits_for_the_server() {
    let desk = Desk::open().await;
    let task = desk.app.task("Write the parser").await;
    let url = unsteady(&desk, First::RequestIsLost).await;
    let seen = transcript(by_agent(&url, ["task", "status", &task, "failed"]));
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("exit 0\n"), "{seen}");
    assert!(seen.contains("; waiting for at most 300 s\n"), "{seen}");
    assert_eq!(desk.task(&task).await["status"]["type"], "failed");
}

#[tokio::test]
async fn a_change_of_an_agent_happens_once_although_its_answer_was_lost() {
    let desk = Desk::open().await;
    let url = unsteady(&desk, First::AnswerIsLost).await;
    let seen = transcript(by_agent(&url, ["task", "create", "Write the parser"]));
    assert!(seen.await.unwrap().starts_with("exit 0\n"));
    let tasks = desk.app.get("/api/tasks").await.data();
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
}

#[tokio::test]
async fn a_command_of_a_person_fails_at_once() {
    let desk = Desk::open().await;
    let url = unsteady(&desk, First::RequestIsLost).await;
    let seen = transcript(Chorus::new(["task", "list", "--url", &url]));
    assert!(seen.await.unwrap().starts_with("exit 5\n"));
}

#[tokio::test]
async fn a_wait_with_a_shortened_id_survives_a_restart() {
    let desk = Desk::open().await;
    let task = desk.app.task("Write the parser").await;
    let path = format!("/api/tasks/{task}/handoff");
    let input = json!({ "agentName": "qa", "prompt": "Test it" });
    desk.app.post(&path, input).await.data();
    let output = json!({ "output": "Done" });
    let path = format!("{path}/complete");
    desk.app.put(&path, output).await.data();
    let url = unsteady(&desk, First::RequestIsLost).await;
    let end = &task[task.len() - 8..];
    let seen = transcript(Chorus::new(["task", "wait", end, "--url", &url]));
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("exit 0\n--- stdout\nDone\n"), "{seen}");
}

#[tokio::test]
async fn a_wait_says_at_once_that_no_server_is_there() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let task = "0198f3c0-aaaa-7000-8000-000000000000";
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/agent/handoff.sh");
    let by_script = Command::new(script)
        .args([task, "qa", "p"])
        .env("CHORUS_URL", &url)
        .env_remove("CHORUS_TOKEN")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let by_program = Chorus::new(["handoff", task, "qa", "p", "--url", &url])
        .stderr(Stdio::piped())
        .spawn();
    for mut waiter in [by_script, by_program] {
        let mut said = String::new();
        let mut stderr = BufReader::new(waiter.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        assert!(
            said.contains(&url) && said.contains("; waiting for at most "),
            "{said}"
        );
        waiter.kill().unwrap();
        waiter.wait().unwrap();
    }
}
