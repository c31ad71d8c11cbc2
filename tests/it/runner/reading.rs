//! Output of a running agent: messages, events and the log.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use chorus::client::Client;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Events, Sandbox, hand_off, last_handoff_id, run_agent, start_handoff, wait_for_end,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_lines_of_an_agent_become_messages_and_events_in_order() {
    let sandbox = Sandbox::new().with_agent("counter", "seq 1 400");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let handoff = run_agent(&client, "counter").await;
    let mut messages = Vec::new();
    let mut types = Vec::new();
    loop {
        let event = events.next().await.unwrap();
        let event_type = event["eventType"].as_str().unwrap().to_owned();
        if event_type == "message_added" {
            assert_eq!(event["handoffId"], handoff.id.as_str());
            messages.push(event["data"]["content"].as_str().unwrap().to_owned());
        } else {
            types.push(event_type);
        }
        if types
            .last()
            .is_some_and(|last| last == "agent_handoff_completed")
        {
            break;
        }
    }
    let expected: Vec<_> = (1..=400).map(|number| number.to_string()).collect();
    assert_eq!(messages, expected);
    assert_eq!(
        types,
        [
            "task_created",
            "agent_handoff_started",
            "run_started",
            "agent_handoff_completed"
        ]
    );
    let stored = sandbox.query(
        "SELECT group_concat(content, '|') FROM (SELECT content FROM messages WHERE NOT is_prompt ORDER BY number)",
    );
    assert_eq!(stored, expected.join("|"));
}

async fn log(client: &Client, handoff: &str, query: &str, range: &str) -> (u16, String, String) {
    let request = client.request(Method::GET, &format!("/api/handoffs/{handoff}/log?{query}"));
    let request = if range.is_empty() {
        request
    } else {
        request.header("range", range)
    };
    let response = request.send().await.unwrap();
    let part = response.headers().get("content-range");
    let part = part.map_or("", |part| part.to_str().unwrap()).to_owned();
    (
        response.status().as_u16(),
        part,
        response.text().await.unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_the_output_whole_or_in_ranges() {
    let sandbox = Sandbox::new().with_agent("worker", "printf 0123456789; echo oops >&2");
    let server = sandbox.serve(1);
    let client = server.client();
    let handoff = run_agent(&client, "worker").await.id.to_string();
    let whole = |text: &str| (200, String::new(), text.to_owned());
    assert_eq!(log(&client, &handoff, "", "").await, whole("0123456789"));
    assert_eq!(
        log(&client, &handoff, "stream=stderr", "").await,
        whole("oops\n")
    );
    // Following an ended run returns its log.
    assert_eq!(
        log(&client, &handoff, "follow=true", "").await,
        whole("0123456789")
    );
    assert_eq!(
        log(&client, &handoff, "", "bytes=3-5").await,
        (206, "bytes 3-5/10".to_owned(), "345".to_owned())
    );
    assert_eq!(
        log(&client, &handoff, "stream=stderr", "bytes=-3").await,
        (206, "bytes 2-4/5".to_owned(), "ps\n".to_owned())
    );
    let (status, part, _) = log(&client, &handoff, "", "bytes=10-").await;
    assert_eq!((status, part.as_str()), (416, "bytes */10"));
    let (status, _, body) = log(&client, "nobody", "", "").await;
    assert_eq!(status, 404, "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_has_no_log_yet() {
    let sandbox = Sandbox::new().with_agent("worker", "echo done");
    let server = sandbox.serve(0);
    let task = start_handoff(&server.client(), "worker").await;
    let (status, _, body) = log(&server.client(), &last_handoff_id(&task), "follow=true", "").await;
    assert_eq!(status, 404);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("has not run yet"),
        "{body}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn following_the_log_of_a_queued_run_shows_its_start() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let wait = format!("echo begun; read _ <{}", gate.path().display());
    let sandbox = sandbox
        .with_agent("first", &wait)
        .with_agent("second", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    start_handoff(&client, "first").await;
    events.wait_for("message_added", "begun").await;
    let second = start_handoff(&client, "second").await;
    let id = last_handoff_id(&second);
    let (followed, ()) = tokio::join!(log(&client, &id, "follow=true", ""), async {
        gate.let_one_through();
    });
    let (status, _, body) = followed;
    assert_eq!((status, body.as_str()), (200, "done\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn chorus_log_follows_until_the_agent_has_ended() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "echo one; read _ <{}; echo two; printf three",
        gate.path().display()
    );
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("run_started", "").await;
    events.wait_for("message_added", "one").await;
    let mut follow = server
        .chorus(["log", "-f", &last_handoff_id(&task)])
        .stdout(Stdio::piped())
        .spawn();
    let mut printed = BufReader::new(follow.stdout.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    gate.let_one_through();
    let mut rest = String::new();
    printed.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two\nthree");
    assert!(follow.wait().unwrap().success());
    wait_for_end(&client, last_handoff_id(&task)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_does_not_wait_for_log_followers() {
    let sandbox = Sandbox::new().with_agent("worker", "echo one; exec sleep 600");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "one").await;
    let mut follow = server
        .chorus(["log", "-f", &last_handoff_id(&task)])
        .stdout(Stdio::piped())
        .spawn();
    let mut printed = BufReader::new(follow.stdout.take().unwrap());
    printed.read_line(&mut String::new()).unwrap();
    let start = std::time::Instant::now();
    assert!(server.stop().success());
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    // The exit code says that the log is incomplete.
    assert_eq!(follow.wait().unwrap().code(), Some(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_task_is_the_log_of_its_last_hand_off() {
    let sandbox = Sandbox::new()
        .with_agent("first", "echo early")
        .with_agent("second", "echo late");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = start_handoff(&client, "first").await;
    let first = wait_for_end(&client, last_handoff_id(&task)).await;
    let body = json!({ "agentName": "second", "prompt": "p" });
    let task = hand_off(&client, &task, &body).await.unwrap();
    wait_for_end(&client, last_handoff_id(&task)).await;
    let log = |id: &str| server.chorus(["log", id]).transcript();
    assert!(log(task.id.as_str()).contains("late\n"));
    assert!(log(first.id.as_str()).contains("early\n"));
    let unknown = log("nobody");
    assert!(unknown.starts_with("exit 3\n"), "{unknown}");
    assert!(unknown.contains("Hand-off not found: nobody"), "{unknown}");
}
