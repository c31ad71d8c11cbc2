//! Every outcome of a run, each without leftover processes.

use chorus::domain::Outcome;
use serde_json::json;

use super::fixture;
use crate::support::{
    Events, Sandbox, env_number, last_handoff_id, run_agent, start_handoff, wait_for_end,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_an_agent_is_its_final_message() {
    let sandbox = Sandbox::new()
        .with_agent("echo", "cat >/dev/null; echo; echo ' a  b'; echo ünï; echo")
        .with_agent("silent", "exit 0")
        .with_agent("blank", "echo; echo '  '")
        .with_agent("broken", "echo half; echo 'no idea' >&2; exit 3")
        .with_agent("dead", "kill -9 $$");
    let server = sandbox.serve(4);
    let client = server.client();

    let handoff = run_agent(&client, "echo").await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "\n a  b\nünï\n");
    for (agent, expected) in [
        ("silent", "without a final message"),
        ("blank", "without a final message"),
        (
            "broken",
            "exit code 3. Standard error:\nno idea\nIts output until then:\nhalf",
        ),
        ("dead", "was killed by signal 9 before it gave a result"),
    ] {
        let handoff = run_agent(&client, agent).await;
        assert_eq!(handoff.outcome, Some(Outcome::Failed), "{agent}");
        assert!(
            handoff.output.as_str().contains(expected),
            "{agent}: {}",
            handoff.output
        );
        assert_eq!(handoff.error, Some(handoff.output), "{agent}");
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
    let metrics = client
        .request(reqwest::Method::GET, "/metrics")
        .send()
        .await;
    let metrics = metrics.unwrap().text().await.unwrap();
    let counted = "chorus_handoffs_ended_total{outcome=\"failed\"} 4";
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_cannot_be_started_has_failed_with_a_reason() {
    let sandbox = Sandbox::new()
        .with_configured_agent("gone", &json!({ "provider": "command", "program": "/nowhere/agent" }))
        .with_configured_agent("nothing", &json!({ "provider": "command" }))
        .with_configured_agent(
            "unspecified",
            &json!({ "provider": "command", "program": "/bin/cat", "specPath": "agents/nobody.md" }),
        )
        .with_configured_agent(
            "outside",
            &json!({ "provider": "claude-code", "program": "/bin/cat", "specPath": "../secret.md" }),
        );
    let server = sandbox.serve(2);
    for (agent, expected) in [
        ("gone", "Program /nowhere/agent is not installed"),
        ("nothing", "has no program"),
        (
            "unspecified",
            "Spec agents/nobody.md of agent unspecified does not exist",
        ),
        ("outside", "without `..`"),
    ] {
        let handoff = run_agent(&server.client(), agent).await;
        assert_eq!(handoff.outcome, Some(Outcome::Failed), "{agent}");
        assert!(
            handoff.output.as_str().contains(expected),
            "{agent}: {}",
            handoff.output
        );
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_workspace_is_reported() {
    let sandbox = Sandbox::new().with_agent("echo", "echo hello");
    let server = sandbox.serve(1);
    let client = server.client();
    let folder = sandbox.path("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let body = json!({ "description": "d", "agentWorkspace": folder });
    let task = client
        .send_json(reqwest::Method::POST, "/api/tasks", &body)
        .await;
    let task: chorus::domain::Task = task.unwrap().data().unwrap();
    std::fs::remove_dir(&folder).unwrap();
    let body = json!({ "agentName": "echo", "prompt": "p" });
    let task = crate::support::hand_off(&client, &task, &body)
        .await
        .unwrap();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    assert_eq!(
        handoff.output.as_str(),
        format!(
            "Workspace {} does not exist, or is not a directory. Put a directory there that agents may use, or give the task another one: chorus task edit {} --workspace DIR",
            folder.canonicalize().unwrap_or(folder).display(),
            task.id
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_became_a_forbidden_place_is_refused_at_the_start_of_a_run() {
    let sandbox = Sandbox::new().with_agent("echo", "echo $PWD; touch was-here");
    let server = sandbox.serve(1);
    let client = server.client();
    for (name, target) in [
        ("data", sandbox.data_dir.clone()),
        ("root", "/".into()),
        ("proc", "/proc/self".into()),
    ] {
        let folder = sandbox.path(name).with_extension("workspace");
        let body = json!({ "description": "d", "agentWorkspace": folder });
        let task = client
            .send_json(reqwest::Method::POST, "/api/tasks", &body)
            .await;
        let task: chorus::domain::Task = task.unwrap().data().unwrap();
        std::os::unix::fs::symlink(&target, &folder).unwrap();
        let body = json!({ "agentName": "echo", "prompt": "p" });
        let task = crate::support::hand_off(&client, &task, &body)
            .await
            .unwrap();
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(handoff.outcome, Some(Outcome::Failed), "{name}");
        let output = handoff.output.as_str();
        assert!(output.contains(" must not be "), "{name}: {output}");
        assert!(!target.join("was-here").exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_agent_is_not_started_and_a_running_one_is_stopped() {
    let sandbox = Sandbox::new()
        .with_agent("first", "echo begun; exec sleep 600")
        .with_agent("second", "echo hello");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "first").await;
    let second = start_handoff(&client, "second").await;
    events.wait_for("message_added", "begun").await;
    server.kill();
    let connection = rusqlite::Connection::open(sandbox.data_dir.join("chorus.db")).unwrap();
    connection.execute_batch("DELETE FROM agents").unwrap();
    drop(connection);

    let server = sandbox.serve(1);
    for (task, expected) in [
        (first, "during its run"),
        (second, "before its run started"),
    ] {
        let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
        assert_eq!(handoff.outcome, Some(Outcome::Failed));
        assert!(
            handoff.output.as_str().contains(expected),
            "{}",
            handoff.output
        );
    }
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_ends_a_run_and_its_output_is_kept() {
    let agent = |script: &str, limit: &str| json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], limit: 1 });
    // Constant output never reaches the idle limit: only the time limit ends this agent.
    let chatty = "while :; do echo still here; sleep 0.1; done";
    let sandbox = Sandbox::new()
        .with_configured_agent("slow", &agent(chatty, "maxSeconds"))
        .with_configured_agent("idle", &agent("echo so far; sleep 600", "idleSeconds"));
    let server = sandbox.serve(2);
    let client = server.client();
    for (agent, reason, last_output) in [
        ("slow", "time limit of 1 s", "still here"),
        (
            "idle",
            "printed nothing for 1 s, its idle limit",
            "The agent's last message:\nso far",
        ),
    ] {
        let handoff = run_agent(&client, agent).await;
        assert_eq!(handoff.outcome, Some(Outcome::TimedOut), "{agent}");
        let output = handoff.output.as_str();
        assert!(
            output.contains(reason) && output.contains(last_output),
            "{agent}: {output}"
        );
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_supervisor_is_killed_is_interrupted_and_leaves_no_process() {
    let sandbox = Sandbox::new()
        .with_agent("worker", "setsid sleep 600 & echo begun; exec sleep 600")
        .with_program("claude", "cat >/dev/null; cat \"$FIXTURE\"; exec sleep 600")
        .with_configured_agent(
            "claude",
            &json!({
                "provider": "claude-code",
                "specPath": "agents/developer.md",
                "environment": { "FIXTURE": fixture("claude-stream-bash.jsonl") },
            }),
        );
    let server = sandbox.serve_with(2, &["--port", "0", "--grace-seconds", "600"]);
    let client = server.client();
    let mut events = Events::listen(&client).await;

    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    for pid in sandbox.supervisors() {
        assert!(sandbox.kill(pid));
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert!(
        handoff
            .output
            .as_str()
            .contains("The agent's last message:\nbegun"),
        "{}",
        handoff.output
    );
    sandbox.wait_until_no_process();

    // A result counts, even if the supervisor is killed afterwards.
    let task = start_handoff(&client, "claude").await;
    events.wait_for("message_added", "tool_result").await;
    for pid in sandbox.supervisors() {
        assert!(sandbox.kill(pid));
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    sandbox.wait_until_no_process();

    // Only the agent is killed.
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    let supervisors = sandbox.supervisors();
    for (pid, _) in sandbox.processes() {
        if !supervisors.contains(&pid) {
            sandbox.kill(pid);
        }
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    assert!(
        handoff.output.as_str().contains("signal 9"),
        "{}",
        handoff.output
    );
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_output_is_not_a_result() {
    let sandbox = Sandbox::new()
        .with_program("claude", "cat >/dev/null; head -n 3 \"$FIXTURE\"")
        .with_configured_agent(
            "claude",
            &json!({
                "provider": "claude-code",
                "specPath": "agents/developer.md",
                "environment": { "FIXTURE": fixture("claude-stream-bash.jsonl") },
            }),
        );
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "claude").await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    assert!(
        handoff.output.as_str().contains("output was cut"),
        "{}",
        handoff.output
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_starts_background_processes_leaves_none() {
    let sandbox = Sandbox::new()
        .with_agent(
            "forker",
            "for i in 1 2 3; do (sleep 600 & setsid sleep 600 & setsid sh -c 'trap \"\" TERM HUP; sleep 600 & sleep 600' & ) ; done
             echo done",
        )
        .with_agent("quick", "echo done");
    let server = sandbox.serve(4);
    for agent in ["forker", "quick"] {
        let handoff = run_agent(&server.client(), agent).await;
        assert_eq!(handoff.outcome, Some(Outcome::Completed), "{agent}");
        assert_eq!(handoff.output.as_str(), "done");
        // The end is recorded after all processes are gone.
        let agents: Vec<_> = sandbox.processes();
        assert!(agents.is_empty(), "{agent}: {agents:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_exit_after_its_result_is_stopped_and_the_result_counts() {
    let sandbox = Sandbox::new()
        .with_program(
            "claude",
            "trap '' TERM; cat >/dev/null; cat \"$FIXTURE\"; while :; do sleep 600; done",
        )
        .with_configured_agent(
            "claude",
            &json!({
                "provider": "claude-code",
                "specPath": "agents/developer.md",
                "environment": { "FIXTURE": fixture("claude-stream-text-then-tool.jsonl") },
            }),
        );
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "claude").await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    let exit = std::fs::read_to_string(sandbox.run_dir(&handoff).join("exit.json")).unwrap();
    assert!(exit.contains("finished"), "{exit}");
    sandbox.wait_until_no_process();
}

/// Reads the peak memory of a process.
fn peak_megabytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kilobytes / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_output_uses_little_memory_and_is_complete_in_the_log() {
    let megabytes = u64::from(env_number("CHORUS_TEST_FLOOD_MB", 20));
    let line = "x".repeat(1023);
    let lines = megabytes * 1024;
    let sandbox = Sandbox::new()
        .with_agent(
            "flood",
            &format!("yes {line} | head -n {lines}; echo the end"),
        )
        .with_agent(
            "endless",
            &format!("yes {line} | tr -d '\\n' | head -c {}", megabytes << 20),
        );
    let server = sandbox.serve(1);
    let client = server.client();
    run_agent(&client, "endless").await;
    let handoff = run_agent(&client, "flood").await;
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    let output = handoff.output.as_str();
    assert!(output.len() < 1100 * 1024, "{}", output.len());
    assert!(output.ends_with("B more in the log]"));
    let log = sandbox.run_dir(&handoff).join("stdout.log");
    assert_eq!(log.metadata().unwrap().len(), (megabytes << 20) + 8);
    let peak = peak_megabytes(server.pid());
    assert!(peak < 256, "the server used {peak} MB");
    let messages = sandbox.query("SELECT count(*) FROM messages WHERE NOT is_prompt");
    assert!(messages.parse::<u64>().unwrap() <= 1001, "{messages}");
}
