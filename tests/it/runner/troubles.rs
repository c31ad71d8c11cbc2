//! Programs that print nothing but errors.

use chorus::client::Client;
use chorus::domain::{Handoff, Outcome, Run, Task};
use serde_json::{Value, json};

use crate::support::{
    Events, Sandbox, TIMEOUT, create_task, hand_off, last_handoff_id, start_handoff, wait_for_end,
};

const LIMIT: [&str; 4] = ["--port", "0", "--error-seconds", "1"];

/// Adds the agent `player`, whose program is a script.
fn with_player(program: &str, provider: &str, script: &str) -> Sandbox {
    let agent = json!({ "provider": provider, "specPath": "agents/developer.md" });
    Sandbox::new()
        .with_program(program, script)
        .with_configured_agent("player", &agent)
}

fn codex_error(message: &str) -> String {
    format!("echo '{}'", json!({ "type": "error", "message": message }))
}

async fn run_of(client: &Client, task: &Task) -> Run {
    let path = format!("/api/handoffs/{}", last_handoff_id(task));
    let handoff: Handoff = client.get(&path, &[]).await.unwrap().data().unwrap();
    handoff.run.unwrap()
}

/// Asks until the run is recorded as failing, which follows the message of its error.
async fn until_failing(client: &Client, task: &Task) -> Run {
    let give_up = std::time::Instant::now() + TIMEOUT;
    loop {
        let run = run_of(client, task).await;
        if run.failing_since.is_some() {
            return run;
        }
        assert!(std::time::Instant::now() < give_up, "{run:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_prints_only_errors_is_shown_and_ended_after_its_limit() {
    let error = codex_error("Reconnecting... 1/5 (getaddrinfo EAI_AGAIN api.openai.com)");
    for (program, provider, script) in [
        ("codex", "codex", error.clone()),
        (
            "gemini",
            "gemini",
            "echo 'Attempt 1 failed with status 429. Retrying with backoff... quota' >&2"
                .to_owned(),
        ),
        (
            "opencode",
            "opencode",
            "echo 'level=ERROR message=\"stream error\" error.error=\"AI_APICallError: 429\"' >&2"
                .to_owned(),
        ),
    ] {
        let sandbox = with_player(
            program,
            provider,
            &format!("[ \"$1\" = session ] && exit; {script}; exec sleep 600"),
        );
        let server = sandbox.serve_with(1, &LIMIT);
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let task = start_handoff(&client, "player").await;
        events.wait_for("message_added", "").await;
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::TimedOut),
            "{provider}: {}",
            handoff.output
        );
        let output = handoff.output.as_str();
        let beginning = "The agent's program printed nothing but errors for 1 s, its error limit. The last one:\n";
        assert!(output.starts_with(beginning), "{provider}: {output}");
        let advice = if provider == "codex" {
            "cannot be reached"
        } else {
            "rate limit"
        };
        assert!(output.contains(advice), "{provider}: {output}");
        sandbox.wait_until_no_process();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_errors_are_shown_while_they_last_and_forgotten_when_the_program_continues() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let item = |item: Value| {
        format!(
            "echo '{}'",
            json!({ "type": "item.completed", "item": item })
        )
    };
    let script = format!(
        "{}; read _ <{gate}; {}; read _ <{gate}; echo '{}'",
        codex_error("Reconnecting... 1/5"),
        item(json!({ "type": "agent_message", "text": "I am back" })),
        json!({ "type": "turn.completed", "usage": {} }),
        gate = gate.path().display(),
    );
    let agent = json!({ "provider": "codex", "specPath": "agents/developer.md" });
    let sandbox = sandbox
        .with_program("codex", &script)
        .with_configured_agent("player", &agent);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client).await;
    let body = json!({ "agentName": "player", "prompt": "p" });
    let task = hand_off(&client, &task, &body).await.unwrap();
    events.wait_for("message_added", "Reconnecting").await;
    let run = until_failing(&client, &task).await;
    assert_eq!(run.last_error.unwrap().as_str(), "Reconnecting... 1/5");
    let shown = server.chorus(["task", "show", task.id.as_str()]);
    let shown = tokio::task::block_in_place(|| shown.output());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("    nothing but errors since ") && shown.contains(": Reconnecting... 1/5"),
        "{shown}"
    );
    gate.let_one_through();
    events.wait_for("message_added", "I am back").await;
    gate.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    let run = handoff.run.unwrap();
    assert_eq!((run.failing_since, run.last_error), (None, None));
}

/// Adds a program that fails in standard error and waits at a gate, and returns the gate.
fn with_failing_gemini() -> (Sandbox, crate::support::Gate) {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "echo 'Attempt 1 failed with status 429. Retrying with backoff... quota' >&2; read _ <{}; exec sleep 600",
        gate.path().display()
    );
    let agent = json!({ "provider": "gemini", "specPath": "agents/developer.md" });
    let sandbox = sandbox.with_program("gemini", &script);
    (sandbox.with_configured_agent("player", &agent), gate)
}

const LONG_LIMIT: [&str; 4] = ["--port", "0", "--error-seconds", "3600"];

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_does_not_renew_the_error_limit() {
    let (sandbox, _gate) = with_failing_gemini();
    let server = sandbox.serve_with(1, &LONG_LIMIT);
    let task = start_handoff(&server.client(), "player").await;
    let run = until_failing(&server.client(), &task).await;
    server.kill();
    let errors = "SELECT count(*) FROM messages WHERE content LIKE '%status 429%'";
    assert_eq!(sandbox.query(errors), "1");

    let server = sandbox.serve_with(1, &LONG_LIMIT);
    let adopted = until_failing(&server.client(), &task).await;
    assert_eq!(adopted.failing_since, run.failing_since);
    server.kill();
    sandbox.query("UPDATE runs SET failing_since = failing_since - 3600000 RETURNING 1");

    let server = sandbox.serve_with(1, &LONG_LIMIT);
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::TimedOut));
    let output = handoff.output.as_str();
    assert!(output.contains("nothing but errors for 3600 s"), "{output}");
    // Standard error was read by three servers.
    assert_eq!(sandbox.query(errors), "1");
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_ended_without_a_server_is_forgotten() {
    let sandbox = Sandbox::new();
    let (gate, back) = (sandbox.gate("gate"), sandbox.gate("back"));
    let message = json!({ "type": "item.completed", "item": { "type": "agent_message", "text": "I am back" } });
    let script = format!(
        "{}; read _ <{gate}; echo '{message}'; echo >{back}; exec sleep 600",
        codex_error("Reconnecting... 1/5"),
        gate = gate.path().display(),
        back = back.path().display(),
    );
    let agent = json!({ "provider": "codex", "specPath": "agents/developer.md" });
    let sandbox = sandbox
        .with_program("codex", &script)
        .with_configured_agent("player", &agent);
    let server = sandbox.serve_with(1, &LONG_LIMIT);
    let task = start_handoff(&server.client(), "player").await;
    until_failing(&server.client(), &task).await;
    server.kill();
    sandbox.query("UPDATE runs SET failing_since = failing_since - 3600000 RETURNING 1");
    gate.let_one_through();
    back.wait_for_line();
    let server = sandbox.serve_with(1, &LONG_LIMIT);
    let give_up = std::time::Instant::now() + TIMEOUT;
    loop {
        let run = run_of(&server.client(), &task).await;
        assert_eq!(run.outcome, None);
        if run.failing_since.is_none() {
            assert_eq!(run.last_error, None);
            return;
        }
        assert!(std::time::Instant::now() < give_up, "{run:?}");
    }
}
