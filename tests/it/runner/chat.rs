//! Chats with real processes: the prompt of each message, sessions, transfers, and servers that are killed.

use chorus::client::Client;
use chorus::domain::{Handoff, Task};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Events, Sandbox, Server, create_task, last_handoff_id, wait_for_end};

async fn chat(client: &Client, task: &Task, body: Value) -> Value {
    let path = format!("/api/tasks/{}/chat", task.id);
    let reply = client.send_json(Method::POST, &path, &body).await;
    reply.unwrap().data().unwrap()
}

async fn say(client: &Client, task: &Task, content: &str) -> Value {
    chat(client, task, json!({ "content": content })).await
}

/// Starts a conversation, and returns its first hand-off.
async fn begin(client: &Client, task: &Task, agent: &str, content: &str) -> Handoff {
    let started = chat(
        client,
        task,
        json!({ "content": content, "agentName": agent }),
    )
    .await;
    serde_json::from_value(started["handoff"].clone()).unwrap()
}

async fn handoffs(client: &Client, task: &Task) -> Vec<Handoff> {
    let path = format!("/api/tasks/{}/handoffs", task.id);
    client.get(&path, &[]).await.unwrap().data().unwrap()
}

fn prompt_file(sandbox: &Sandbox, handoff: &Handoff) -> String {
    std::fs::read_to_string(sandbox.run_dir(handoff).join("prompt.txt")).unwrap()
}

/// Prints a line, and ends when it may.
fn gated(sandbox: &Sandbox, name: &str) -> (String, crate::support::Gate) {
    let gate = sandbox.gate(name);
    let script = format!(
        "echo started; read _ <{}; echo ended",
        gate.path().display()
    );
    (script, gate)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_sessions_gets_the_whole_conversation() {
    let sandbox = Sandbox::new().with_agent("echo", "echo 'I think so.'");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let first = begin(&client, &task, "echo", "Is it\n# good?").await;
    wait_for_end(&client, &first.id).await;
    let second = say(&client, &task, "Why?").await;
    let second = wait_for_end(&client, second["handoff"]["id"].as_str().unwrap()).await;
    let prompt = prompt_file(&sandbox, &second);
    assert!(
        prompt.contains("These messages were written on your task and those above it.\n\nuser:\n> Is it\n> # good?\n\necho:\n> I think so.\n"),
        "{prompt}"
    );
    assert!(prompt.ends_with("# Your assignment\n\nWhy?\n"), "{prompt}");
    assert!(!prompt.contains("# Results of earlier agents"), "{prompt}");
    assert_eq!(prompt.matches("Why?").count(), 1, "{prompt}");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_sessions_continues_its_own() {
    let claude = r#"cat >"prompt-$(ls prompt-* 2>/dev/null | wc -l)"; echo "$*" >>arguments
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"I have looked.","session_id":"s-1"}'"#;
    let sandbox = Sandbox::new()
        .with_configured_agent(
            "player",
            &json!({ "provider": "claude-code", "specPath": "agents/qa.md" }),
        )
        .with_program("claude", claude);
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let first = begin(&client, &task, "player", "Begin.").await;
    wait_for_end(&client, &first.id).await;
    let second = say(&client, &task, "Go on.").await;
    wait_for_end(&client, second["handoff"]["id"].as_str().unwrap()).await;
    let read =
        |name: &str| std::fs::read_to_string(format!("{}/{name}", task.agent_workspace)).unwrap();
    let arguments = read("arguments");
    let arguments: Vec<_> = arguments.lines().collect();
    assert!(
        !arguments[0].contains("--resume") && arguments[1].contains("--resume s-1"),
        "{arguments:?}"
    );
    let prompt = read("prompt-1");
    assert!(
        prompt.contains("You continue your session")
            && prompt.ends_with("# Your assignment\n\nGo on.\n"),
        "{prompt}"
    );
    assert!(
        !prompt.contains("Begin.") && !prompt.contains("I have looked."),
        "{prompt}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_messages_are_sent_once_however_often_the_server_is_killed() {
    let sandbox = Sandbox::new();
    let (script, gate) = gated(&sandbox, "gate");
    let sandbox = sandbox.with_agent("worker", &format!("{script}; cat >>prompts"));
    let mut server = sandbox.serve(1);
    let task = create_task(&server.client()).await;
    let mut events = Events::listen(&server.client()).await;
    let first = begin(&server.client(), &task, "worker", "Begin.").await;
    events.wait_for("message_added", "started").await;
    say(&server.client(), &task, "one").await;
    let restart = |server: Server| {
        server.kill();
        sandbox.serve(1)
    };
    server = restart(server);
    say(&server.client(), &task, "two").await;
    server = restart(server);
    assert_eq!(handoffs(&server.client(), &task).await.len(), 1);
    gate.let_one_through();
    wait_for_end(&server.client(), &first.id).await;
    server = restart(server);
    let all = handoffs(&server.client(), &task).await;
    assert_eq!(
        all.iter()
            .map(|one| one.prompt.as_str())
            .collect::<Vec<_>>(),
        ["Begin.", "one\n\ntwo"]
    );
    gate.let_one_through();
    let second = wait_for_end(&server.client(), &all[1].id).await;
    assert!(
        second.output.as_str().ends_with("ended"),
        "{}",
        second.output
    );
    server = restart(server);
    assert_eq!(handoffs(&server.client(), &task).await.len(), 2);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_a_transfer_gets_the_queued_messages_with_its_prompt() {
    let sandbox = Sandbox::new();
    let (script, gate) = gated(&sandbox, "gate");
    let call = format!(
        "{script}; curl -s -H \"Authorization: Bearer $CHORUS_TOKEN\" \"$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/tools/to_next\" -d '{{}}' >/dev/null"
    );
    let sandbox = sandbox.with_agent("first", &call).with_agent("next", "cat");
    let server = sandbox.serve(1);
    let client = server.client();
    let tool = json!({ "name": "to_next", "description": "d", "targetAgent": "next" });
    server
        .operator()
        .send_json(Method::POST, "/api/tools", &tool)
        .await
        .unwrap();
    let task = create_task(&client).await;
    let mut events = Events::listen(&client).await;
    begin(&client, &task, "first", "Begin.").await;
    events.wait_for("message_added", "started").await;
    say(&client, &task, "Mind the gap.").await;
    gate.let_one_through();
    let moved = events.wait_for("message_moved", "").await;
    let child = moved["data"]["taskId"].as_str().unwrap().to_owned();
    let path = format!("/api/tasks/{child}");
    let child: Task = client.get(&path, &[]).await.unwrap().data().unwrap();
    let end = wait_for_end(&client, last_handoff_id(&child)).await;
    assert!(
        end.output.as_str().contains("# Messages for you")
            && end.output.as_str().contains("> Mind the gap.\n"),
        "{}",
        end.output
    );
    let path = format!("/api/tasks/{}/conversation", task.id);
    let said: Vec<Value> = client.get(&path, &[]).await.unwrap().data().unwrap();
    let said = said
        .iter()
        .filter(|message| message["content"] == "Mind the gap.");
    let said: Vec<_> = said
        .map(|message| (&message["type"], &message["agentName"]))
        .collect();
    assert_eq!(said, [(&json!("user_message"), &Value::Null)]);
    assert_eq!(
        handoffs(&client, &child).await.len(),
        1,
        "the message is not sent again"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_wait_if_their_agent_cannot_begin() {
    let sandbox = Sandbox::new().with_configured_agent(
        "broken",
        &json!({ "provider": "command", "program": "/no/such/program" }),
    );
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let first = begin(&client, &task, "broken", "Hello?").await;
    wait_for_end(&client, &first.id).await;
    let path = format!("/api/tasks/{}/queue", task.id);
    let queue: Value = client.get(&path, &[]).await.unwrap().data().unwrap();
    assert_eq!(queue["messages"][0]["deliveredAt"], Value::Null);
    assert_eq!(
        handoffs(&client, &task).await.len(),
        1,
        "it is not tried again by itself"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_not_speak_as_a_person() {
    let script = "chorus task queue --add note >/dev/null
        for path in chat queue/x; do
            curl -s -X $([ $path = chat ] && echo POST || echo DELETE) -H \"Authorization: Bearer $CHORUS_TOKEN\" \"$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/$path\" -d '{\"content\": \"I am a person\"}'
        done";
    let sandbox = Sandbox::new().with_agent("actor", script);
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let first = begin(&client, &task, "actor", "Act.").await;
    let end = wait_for_end(&client, &first.id).await;
    assert_eq!(
        end.output.as_str().matches("\"FORBIDDEN\"").count(),
        2,
        "{}",
        end.output
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_sends_standard_input_and_prints_the_answer() {
    let sandbox = Sandbox::new();
    let (script, gate) = gated(&sandbox, "gate");
    let sandbox = sandbox
        .with_agent("worker", &script)
        .with_agent("echo", "tail -n 1");
    let server = sandbox.serve(1);
    let client = server.client();
    let answer = server
        .chorus(["chat", "--agent", "echo"])
        .input("Hello,\nwho are you?")
        .output();
    assert_eq!(String::from_utf8(answer.stdout).unwrap(), "who are you?\n");
    let tasks: Vec<Task> = client.get("/api/tasks", &[]).await.unwrap().data().unwrap();
    assert_eq!(tasks[0].description.as_str(), "Hello,\nwho are you?");
    let task = &tasks[0];
    let again = server
        .chorus(["chat", task.id.as_str()])
        .input("And now?")
        .output();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), "And now?\n");
    let mut events = Events::listen(&client).await;
    begin(&client, task, "worker", "Work.").await;
    events.wait_for("message_added", "started").await;
    // The message waits for the end of the worker, which then gets it.
    let waiting = server.chorus(["chat", task.id.as_str()]).input("Faster!");
    let waiting = tokio::task::spawn_blocking(move || waiting.output());
    events.wait_for("message_queued", "").await;
    gate.let_one_through();
    gate.let_one_through();
    let answer = waiting.await.unwrap();
    assert_eq!(
        String::from_utf8(answer.stdout).unwrap(),
        "started\nended\n",
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    let prompts: Vec<_> = handoffs(&client, task)
        .await
        .iter()
        .map(|one| one.prompt.to_string())
        .collect();
    assert_eq!(prompts[2..], ["Work.", "Faster!"]);
    let refused = server.chorus(["chat"]).input("Hello").output();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let empty = server
        .chorus(["chat", task.id.as_str()])
        .input(" \n")
        .output();
    assert_eq!(empty.status.code(), Some(2), "{empty:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_the_conversation_live_and_carries_out_commands() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let sandbox = Sandbox::new();
    let (script, gate) = gated(&sandbox, "gate");
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let mut events = Events::listen(&client).await;
    let line = format!(
        "{} chat {} --agent worker --url {}",
        env!("CARGO_BIN_EXE_chorus"),
        task.id,
        server.url
    );
    let mut terminal = Command::new("script")
        .args(["-qefc", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = terminal.stdin.take().unwrap();
    let mut type_line = |text: &str| writeln!(stdin, "{text}").unwrap();
    type_line("Begin.");
    events.wait_for("message_added", "started").await;
    type_line("Never mind");
    events.wait_for("message_queued", "").await;
    type_line("/undo");
    events.wait_for("message_taken_back", "").await;
    type_line("Go on.");
    events.wait_for("message_queued", "").await;
    type_line("/queue");
    type_line("/help");
    gate.let_one_through();
    events.wait_for("message_delivered", "").await;
    events.wait_for("message_added", "started").await;
    type_line("/cancel");
    events.wait_for("agent_handoff_cancelled", "").await;
    type_line("/quit");
    let shown = tokio::task::spawn_blocking(move || terminal.wait_with_output().unwrap())
        .await
        .unwrap();
    assert!(shown.status.success(), "{shown:?}");
    let shown = String::from_utf8(shown.stdout).unwrap();
    for text in [
        "started",
        "ended",
        "Queued until worker has completed",
        "Taken back: Never mind",
        "  Go on.",
        "Commands: /agent NAME",
        "Cancelled",
    ] {
        assert!(shown.contains(text), "{text} is not in\n{shown}");
    }
    let prompts: Vec<_> = handoffs(&client, &task)
        .await
        .iter()
        .map(|one| one.prompt.to_string())
        .collect();
    assert_eq!(prompts, ["Begin.", "Go on."]);
    sandbox.assert_invariants();
}
