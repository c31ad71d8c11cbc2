//! Agents that delegate the task that they work on.

use chorus::client::{Client, ClientError};
use chorus::domain::{Outcome, Task};
use serde_json::json;

use super::{HANDOFF_SCRIPT, client_of_run, expect_refusal, waiting_agents};
use crate::support::{
    Events, Sandbox, hand_off, last_handoff_id, run_agent, start_handoff, wait_for_end,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_delegates_its_task_gets_the_childs_final_message() {
    for command in ["chorus handoff", HANDOFF_SCRIPT] {
        let sandbox = Sandbox::new()
            .with_agent(
                "parent",
                &format!(
                    "printf 'the child says: '; {command} $CHORUS_TASK_ID child 'what is it?'"
                ),
            )
            .with_agent(
                "child",
                &format!("tail -n 1; {command} $CHORUS_TASK_ID grandchild 'and you?'"),
            )
            .with_agent("grandchild", "echo $CHORUS_AGENT");
        // One slot is enough for all three: a waiting run does not occupy it.
        let server = sandbox.serve(1);
        let client = server.client();
        let handoff = run_agent(&client, "parent").await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::Completed),
            "{}",
            handoff.output
        );
        assert_eq!(
            handoff.output.as_str(),
            "the child says: what is it?\ngrandchild"
        );
        let tasks: Vec<Task> = client.get("/api/tasks", &[]).await.unwrap().data().unwrap();
        let [parent, child, grandchild] = &tasks[..] else {
            panic!("{tasks:?}");
        };
        assert_eq!(parent.parent_id, None);
        assert_eq!(child.parent_id.as_ref(), Some(&parent.id));
        assert_eq!(grandchild.parent_id.as_ref(), Some(&child.id));
        assert_eq!(child.agent_workspace, parent.agent_workspace);
        let entry = &child.agent_chain()[0];
        assert_eq!(
            entry
                .from_agent
                .as_ref()
                .map(ToString::to_string)
                .as_deref(),
            Some("parent")
        );
        sandbox.wait_until_no_process();
        sandbox.assert_invariants();
    }
}

async fn delegate(client: &Client, task: &Task, agent: &str) -> Result<Task, ClientError> {
    hand_off(client, task, &json!({ "agentName": agent, "prompt": "p" })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_is_too_deep_is_refused_and_named() {
    let sandbox = waiting_agents(&["a", "b", "c", "d"]);
    let server = sandbox.serve_with(1, &["--port", "0", "--max-depth", "3"]);
    let mut events = Events::listen(&server.client()).await;
    let mut task = start_handoff(&server.client(), "a").await;
    for next in ["b", "c"] {
        let client = client_of_run(&server, &mut events, &task).await;
        task = delegate(&client, &task, next).await.unwrap();
    }
    let client = client_of_run(&server, &mut events, &task).await;
    let (status, code, message) = expect_refusal(delegate(&client, &task, "d").await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(
        message.contains("a → b → c → d") && message.contains('3'),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_bounces_are_refused() {
    let sandbox = waiting_agents(&["a", "b", "c", "d"]);
    let server = sandbox.serve_with(1, &["--port", "0", "--max-bounces", "1"]);
    let mut events = Events::listen(&server.client()).await;
    let mut task = start_handoff(&server.client(), "a").await;
    for next in ["b", "a"] {
        let client = client_of_run(&server, &mut events, &task).await;
        task = delegate(&client, &task, next).await.unwrap();
    }
    let client = client_of_run(&server, &mut events, &task).await;
    let (status, code, message) = expect_refusal(delegate(&client, &task, "b").await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(message.contains("a → b → a → b"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hops_are_counted_over_the_whole_tree() {
    let sandbox = waiting_agents(&["a", "b", "c", "d"]);
    let server = sandbox.serve_with(4, &["--port", "0", "--max-hops", "2"]);
    let mut events = Events::listen(&server.client()).await;
    let task = start_handoff(&server.client(), "a").await;
    let client = client_of_run(&server, &mut events, &task).await;
    for child in ["b", "c"] {
        let child = delegate(&client, &task, child).await.unwrap();
        assert_eq!(child.parent_id.as_ref(), Some(&task.id));
    }
    let (status, code, message) = expect_refusal(delegate(&client, &task, "d").await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(message.contains("a → d"), "{message}");
    assert_eq!(sandbox.query("SELECT count(*) FROM tasks"), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_working_run_itself_may_delegate_its_task() {
    let sandbox = waiting_agents(&["a", "b", "c", "d"]);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let run_client = client_of_run(&server, &mut events, &first).await;
    let (status, code, _) = expect_refusal(delegate(&client, &first, "b").await);
    assert_eq!((status, code.as_str()), (409, "CONFLICT"));
    // A run may change only its own task and the tasks below it; a task that it creates is below it.
    let second = start_handoff(&client, "b").await;
    let (status, code, _) = expect_refusal(delegate(&run_client, &second, "c").await);
    assert_eq!((status, code.as_str()), (403, "FORBIDDEN"));
    for (method, path, body) in [
        (
            reqwest::Method::PUT,
            "handoff/complete",
            json!({ "output": "forged" }),
        ),
        (reqwest::Method::POST, "handoff/cancel", json!({})),
        (
            reqwest::Method::PUT,
            "status",
            json!({ "status": "completed" }),
        ),
        (
            reqwest::Method::PUT,
            "planning",
            json!({ "summary": "forged" }),
        ),
        (
            reqwest::Method::POST,
            "queue",
            json!({ "content": "forged" }),
        ),
        (
            reqwest::Method::POST,
            "attachments?filename=a",
            json!("forged"),
        ),
        (reqwest::Method::DELETE, "attachments/a", json!({})),
    ] {
        let path = format!("/api/tasks/{}/{path}", second.id);
        let (status, ..) = expect_refusal(run_client.send_json(method, &path, &body).await);
        assert_eq!(status, 403, "{path}");
    }
    let made = run_client
        .send_json(
            reqwest::Method::POST,
            "/api/tasks",
            &json!({ "description": "mine" }),
        )
        .await
        .unwrap();
    let made: Task = made.data().unwrap();
    assert_eq!(made.parent_id.as_ref(), Some(&first.id));
    let third = delegate(&run_client, &made, "c").await.unwrap();
    assert_eq!(
        (&third.id, third.current_agent().map(ToString::to_string)),
        (&made.id, Some("c".to_owned()))
    );
    let path = format!("/api/tasks/{}/handoff/cancel", first.id);
    client
        .send_json(reqwest::Method::POST, &path, &json!({}))
        .await
        .unwrap();
    let (status, code, _) = expect_refusal(delegate(&run_client, &first, "b").await);
    assert_eq!((status, code.as_str()), (401, "UNAUTHORIZED"));
    assert_eq!(
        wait_for_end(&client, last_handoff_id(&first)).await.outcome,
        Some(Outcome::Cancelled)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_agent_learns_that_its_child_failed() {
    for command in ["chorus handoff", HANDOFF_SCRIPT] {
        let sandbox = Sandbox::new()
            .with_agent(
                "parent",
                &format!("{command} $CHORUS_TASK_ID child p >out 2>err; echo \"$? $(cat out) $(cat err)\""),
            )
            .with_agent("child", "echo 'out of ideas' >&2; exit 4");
        let server = sandbox.serve(1);
        let handoff = run_agent(&server.client(), "parent").await;
        let output = handoff.output.as_str();
        assert!(output.starts_with("1  "), "{output}");
        assert!(
            output.contains("failed: ") && output.contains("out of ideas"),
            "{output}"
        );
    }
}
