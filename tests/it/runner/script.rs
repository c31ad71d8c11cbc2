//! `scripts/agent/handoff.sh`: prompts and final messages pass through it unchanged.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use chorus::client::Client;
use chorus::domain::Handoff;
use reqwest::Method;
use serde_json::json;

use super::HANDOFF_SCRIPT;
use crate::support::{Events, Sandbox, Server, create_task, reserve_port};

/// Runs the script with `input` on standard input.
fn run_script(server: &Server, arguments: &[&str], input: &str) -> Output {
    let mut process = Command::new(HANDOFF_SCRIPT)
        .args(arguments)
        .env_remove("CHORUS_TOKEN")
        .env("CHORUS_URL", &server.url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    // An error means that the script does not read its input.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    process.wait_with_output().unwrap()
}

async fn last_prompt(client: &Client, task_id: &str) -> String {
    let handoffs = client
        .get(&format!("/api/tasks/{task_id}/handoffs"), &[])
        .await;
    let handoffs: Vec<Handoff> = handoffs.unwrap().data().unwrap();
    handoffs.last().unwrap().prompt.as_str().to_owned()
}

/// Texts that a shell, JSON or HTTP could corrupt.
fn odd_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "plain",
        "it's \"quoted\" `and` $HOME $(id) \\ \\n %s {} [] * ? ! & | ; < > ~ #",
        "two\nlines\n\nand a blank one\tand a tab",
        "ünïcödé 漢字 🎉 \u{200d} \u{fe0f}",
        "{\"error\": {\"code\": 1}}",
        "-n",
        "/help @file",
        "carriage\r\nreturn \u{7f} \u{1b}[31mred\u{1b}[0m",
        "at the end\n\n\n",
        "\n\nat the beginning",
    ]
    .map(str::to_owned)
    .into();
    texts.push("ä'\"$`\\\n".repeat(12_500));
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_arrive_and_final_messages_come_back_unchanged() {
    let sandbox = Sandbox::new().with_agent("echo", "cat >/dev/null; cat answer");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let folder = sandbox.data_dir.join("workspaces").join(task.id.as_str());
    std::fs::create_dir_all(&folder).unwrap();
    let mut texts = odd_texts();
    let long = "0123456789 ünï\n".repeat(20_000);
    assert!(long.len() > 300_000);
    texts.push(long);
    for text in texts {
        // The final line break of a program's output is not part of its answer.
        std::fs::write(folder.join("answer"), format!("{text}\n")).unwrap();
        let by_argument = text.len() <= 110_000;
        let (prompt, input) = if by_argument {
            (text.as_str(), "")
        } else {
            ("-", text.as_str())
        };
        let arguments = [task.id.as_str(), "echo", prompt];
        let output = tokio::task::block_in_place(|| run_script(&server, &arguments, input));
        let excerpt: String = text.chars().take(60).collect();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{excerpt:?}: {stderr}");
        assert!(
            last_prompt(&client, task.id.as_str()).await == text,
            "{excerpt:?}"
        );
        assert!(
            String::from_utf8(output.stdout).unwrap() == format!("{text}\n"),
            "{excerpt:?}"
        );
        assert!(stderr.starts_with("handoff: echo works on "), "{stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_or_refused_hand_off_exits_with_1_and_the_reason() {
    let sandbox = Sandbox::new()
        .with_agent("broken", "echo half; echo 'no idea' >&2; exit 3")
        .with_agent("sleeper", "echo begun; exec sleep 600");
    let server = sandbox.serve(2);
    let client = server.client();
    let busy = crate::support::start_handoff(&client, "sleeper").await;
    let free = create_task(&client).await;
    for (arguments, expected) in [
        ([free.id.as_str(), "broken", "p"], "failed: "),
        ([free.id.as_str(), "nobody", "p"], "Unknown agent: nobody"),
        (
            [free.id.as_str(), "broken", " "],
            "prompt: must not be empty",
        ),
        (["not-there", "broken", "p"], "Task not found: not-there"),
        (
            [busy.id.as_str(), "broken", "p"],
            "Agent already active on task: sleeper",
        ),
    ] {
        let output = tokio::task::block_in_place(|| run_script(&server, &arguments, ""));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(output.stdout, b"");
        assert!(stderr.contains(expected), "{stderr}");
    }
    let usage = tokio::task::block_in_place(|| run_script(&server, &["only-one"], ""));
    assert_eq!(usage.status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_is_answered_by_the_next_server() {
    let ends: [fn(Server); 2] = [Server::kill, |server| assert!(server.stop().success())];
    for end in ends {
        let sandbox = Sandbox::new();
        let gate = sandbox.gate("gate");
        let answer = format!("echo begun; read _ <{}; echo done", gate.path().display());
        let sandbox = sandbox.with_agent("worker", &answer);
        let port = reserve_port();
        let server = sandbox.serve_with(2, &["--port", &port]);
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let (first, second) = (create_task(&client).await, create_task(&client).await);
        let url = server.url.clone();
        let by_script = Command::new(HANDOFF_SCRIPT)
            .args([first.id.as_str(), "worker", "p"])
            .env("CHORUS_URL", &url)
            .env_remove("CHORUS_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let by_program = server
            .chorus(["handoff", second.id.as_str(), "worker", "p"])
            .stdout(Stdio::piped())
            .spawn();
        for _ in 0..2 {
            events.wait_for("message_added", "begun").await;
        }
        end(server);
        gate.let_one_through();
        gate.let_one_through();
        sandbox.wait_until_no_process();
        let server = sandbox.serve_with(2, &["--port", &port]);
        assert_eq!(server.url, url);
        for waiter in [by_script, by_program] {
            let output = tokio::task::block_in_place(|| waiter.wait_with_output()).unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "begun\ndone\n");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_of_an_outside_completion_is_printed_unchanged() {
    let sandbox = Sandbox::new().with_agent("sleeper", "echo begun; exec sleep 600");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client).await;
    for text in odd_texts() {
        let waiter = Command::new(HANDOFF_SCRIPT)
            .args([task.id.as_str(), "sleeper", "p"])
            .env("CHORUS_URL", &server.url)
            .env_remove("CHORUS_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        events.wait_for("agent_handoff_started", "").await;
        let path = format!("/api/tasks/{}/handoff/complete", task.id);
        let body = json!({ "output": text });
        client.send_json(Method::PUT, &path, &body).await.unwrap();
        let output = tokio::task::block_in_place(|| waiter.wait_with_output()).unwrap();
        assert!(output.status.success());
        assert!(
            output.stdout == format!("{text}\n").into_bytes(),
            "{text:.60}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_follows_transfers_to_the_last_agent() {
    let pass = |to: &str| {
        format!("echo passing; chorus tool call $CHORUS_TASK_ID to_{to} --var step=$CHORUS_AGENT")
    };
    let sandbox = Sandbox::new()
        .with_agent("first", &pass("second"))
        .with_agent("second", &pass("third"))
        .with_agent(
            "third",
            "grep -c '^step: second$'; echo \"done by $CHORUS_AGENT\"",
        )
        .with_agent("failing", "echo 'no idea' >&2; exit 3")
        .with_agent("unlucky", &pass("failing"));
    let server = sandbox.serve(1);
    let client = server.client();
    for target in ["second", "third", "failing"] {
        let tool = json!({
            "name": format!("to_{target}"), "description": "d", "targetAgent": target,
            "contextVariables": [{ "name": "step", "type": "string", "required": true }],
        });
        let made = server
            .operator()
            .send_json(Method::POST, "/api/tools", &tool)
            .await;
        made.unwrap();
    }
    for agent in ["first", "unlucky"] {
        let (one, other) = (create_task(&client).await, create_task(&client).await);
        let by_script =
            tokio::task::block_in_place(|| run_script(&server, &[one.id.as_str(), agent, "p"], ""));
        let by_program = server.chorus(["handoff", other.id.as_str(), agent, "p"]);
        let by_program = tokio::task::block_in_place(|| by_program.output());
        for output in [by_script, by_program] {
            let stdout = String::from_utf8(output.stdout).unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            if agent == "first" {
                assert_eq!(
                    (output.status.code(), stdout.as_str()),
                    (Some(0), "1\ndone by third\n"),
                    "{stderr}"
                );
                assert!(stderr.contains("→ second continues (hand-off "), "{stderr}");
                assert!(stderr.contains("→ third continues (hand-off "), "{stderr}");
            } else {
                assert_eq!(
                    (output.status.code(), stdout.as_str()),
                    (Some(1), ""),
                    "{stderr}"
                );
                assert!(
                    stderr.contains("→ failing continues (hand-off "),
                    "{stderr}"
                );
                assert!(
                    stderr.contains("failed: ") && stderr.contains("no idea"),
                    "{stderr}"
                );
            }
        }
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_of_a_tool_call_or_session_follows_transfers() {
    let sandbox = Sandbox::new()
        .with_agent(
            "first",
            "chorus tool call $CHORUS_TASK_ID to_last >/dev/null",
        )
        .with_agent("last", "echo \"done by $CHORUS_AGENT\"");
    let server = sandbox.serve(1);
    let client = server.client();
    for target in ["first", "last"] {
        let tool =
            json!({ "name": format!("to_{target}"), "description": "d", "targetAgent": target });
        let made = server
            .operator()
            .send_json(Method::POST, "/api/tools", &tool)
            .await;
        made.unwrap();
    }
    let task = create_task(&client).await;
    let call = ["tool", "call", task.id.as_str(), "to_first", "--wait"];
    let moved = "session handoff s last first --reason r --intent i --wait";
    for arguments in [call.to_vec(), moved.split(' ').collect()] {
        let command = server.chorus(arguments);
        let output = tokio::task::block_in_place(|| command.output());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "done by last\n",
            "{stderr}"
        );
        assert!(stderr.contains("→ last continues (hand-off "), "{stderr}");
    }
}
