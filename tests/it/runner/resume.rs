//! Agents that resume the session of their last run.

use chorus::client::Client;
use chorus::domain::{Handoff, Outcome, Task};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Sandbox, create_task, hand_off, last_handoff_id, wait_for_end};

/// Saves its prompts in the workspace. Does not know the session any more if `lost` is there.
const CLAUDE: &str = r#"
case "$*" in *--resume*)
    if [ -e lost ]; then cat >refused; echo "No conversation found with session ID: s-1" >&2; exit 1; fi
esac
cat >"prompt-$(ls prompt-* 2>/dev/null | wc -l)"
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"I have looked.","session_id":"s-1"}'"#;

fn sandbox() -> Sandbox {
    Sandbox::new()
        .with_configured_agent(
            "player",
            &json!({ "provider": "claude-code", "specPath": "agents/qa.md" }),
        )
        .with_agent("other", "echo 'The other has looked.'")
        .with_program("claude", CLAUDE)
}

async fn play(client: &Client, task: &Task, agent: &str, prompt: &str, resume: bool) -> Handoff {
    let body = json!({ "agentName": agent, "prompt": prompt, "resume": resume });
    let task = hand_off(client, task, &body).await.unwrap();
    wait_for_end(client, last_handoff_id(&task)).await
}

async fn plan(client: &Client, task: &Task, plan: &Value) {
    let path = format!("/api/tasks/{}/planning", task.id);
    client.send_json(Method::PUT, &path, plan).await.unwrap();
}

fn prompt(task: &Task, number: usize) -> String {
    let path = format!("{}/prompt-{number}", task.agent_workspace);
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_agent_is_told_only_what_is_new() {
    let sandbox = sandbox();
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    plan(
        &client,
        &task,
        &json!({ "summary": "As small as possible", "plan": ["Look"] }),
    )
    .await;
    play(&client, &task, "player", "Begin.", false).await;
    play(&client, &task, "other", "Look, too.", false).await;
    play(&client, &task, "player", "Go on.", true).await;
    let first = prompt(&task, 0);
    for told in [
        "chorus handoff AGENT",
        "# The task",
        "As small as possible",
        "Begin.",
    ] {
        assert!(first.contains(told), "{told} is not in\n{first}");
    }
    let second = prompt(&task, 1);
    for new in [
        "You continue your session",
        "The other has looked.",
        "# Your assignment\n\nGo on.\n",
    ] {
        assert!(second.contains(new), "{new} is not in\n{second}");
    }
    for known in [
        "chorus handoff AGENT",
        "# The task",
        "As small as possible",
        "Begin.",
        "I have looked.",
    ] {
        assert!(!second.contains(known), "{known} is in\n{second}");
    }
    // A changed plan is told whole, once, and what was told before it is not told again.
    plan(&client, &task, &json!({ "plan": ["Look", "Leap"] })).await;
    for number in [2, 3] {
        play(&client, &task, "player", "And now?", true).await;
        let next = prompt(&task, number);
        assert_eq!(next.contains("> - Leap"), number == 2, "{next}");
        assert_eq!(next.contains("As small as possible"), number == 2, "{next}");
        assert!(!next.contains("The other has looked."), "{next}");
    }
    // A plan that is as it was at first is new again.
    plan(&client, &task, &json!({ "plan": ["Look"] })).await;
    play(&client, &task, "player", "And now?", true).await;
    assert!(prompt(&task, 4).contains("> - Look"));
    // Without the earlier prompts, everything is told.
    std::fs::remove_dir_all(sandbox.data_dir.join("runs")).unwrap();
    std::fs::create_dir(sandbox.data_dir.join("runs")).unwrap();
    play(&client, &task, "player", "Again.", true).await;
    let whole = prompt(&task, 5);
    assert!(
        whole.contains("chorus handoff AGENT") && whole.contains("# The task"),
        "{whole}"
    );
    assert!(whole.contains("The other has looked."), "{whole}");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_session_is_lost_starts_fresh_and_is_told_everything() {
    let sandbox = sandbox();
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let body = json!({ "content": "Mind the gap." });
    let queue = format!("/api/tasks/{}/queue", task.id);
    play(&client, &task, "player", "Begin.", false).await;
    client.send_json(Method::POST, &queue, &body).await.unwrap();
    std::fs::write(format!("{}/lost", task.agent_workspace), "").unwrap();
    let handoff = play(&client, &task, "player", "Go on.", true).await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    assert_eq!(handoff.output.as_str(), "I have looked.");
    let refused = std::fs::read_to_string(format!("{}/refused", task.agent_workspace)).unwrap();
    assert!(refused.contains("You continue your session"), "{refused}");
    let fresh = prompt(&task, 1);
    for told in [
        "chorus handoff AGENT",
        "# The task",
        "I have looked.",
        "Mind the gap.",
        "Go on.",
    ] {
        assert!(fresh.contains(told), "{told} is not in\n{fresh}");
    }
    let count = "SELECT count(*) || '|' || sum(resumes IS NULL) FROM runs";
    assert_eq!(sandbox.query(count), "2|2");
    assert_eq!(
        sandbox.query("SELECT count(*) FROM events WHERE type = 'run_requeued'"),
        "1"
    );
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}
