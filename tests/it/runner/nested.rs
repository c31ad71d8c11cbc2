//! Agents that hand on the task that they work on.

use chorus::client::{Client, ClientError};
use chorus::domain::{Outcome, Task};
use chorus::secret::Token;
use serde_json::json;

use crate::support::{
    Events, Server, Workshop, hand_off, last_handoff_id, run, start_handoff, wait_for_end,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/agent/handoff.sh");

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hands_on_its_task_gets_the_final_message_of_a_child() {
    for command in ["chorus handoff", SCRIPT] {
        let workshop = Workshop::new()
            .agent(
                "parent",
                &format!(
                    "printf 'the child says: '; {command} $CHORUS_TASK_ID child 'what is it?'"
                ),
            )
            .agent(
                "child",
                &format!("tail -n 1; {command} $CHORUS_TASK_ID grandchild 'and you?'"),
            )
            .agent("grandchild", "echo $CHORUS_AGENT");
        // One slot is enough for all three: whoever waits does not occupy it.
        let server = workshop.serve(1);
        let client = server.client();
        let handoff = run(&client, "parent").await;
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
        workshop.until_quiet();
        workshop.assert_invariants();
    }
}

/// Agents that tell their token and wait until the test ends them.
fn waiting_agents() -> Workshop {
    ["a", "b", "c", "d"]
        .iter()
        .fold(Workshop::new(), |workshop, name| {
            workshop.agent(
                name,
                "echo $CHORUS_HANDOFF_ID $CHORUS_TOKEN; exec sleep 600",
            )
        })
}

/// Waits until the agent of a task's hand-off works, and returns a client that shows its token.
async fn in_its_name(server: &Server, events: &mut Events, task: &Task) -> Client {
    let said = events
        .wait_for("message_added", &last_handoff_id(task))
        .await;
    let said = said["data"]["content"].as_str().unwrap().to_owned();
    let token = Token::given(said.split_once(' ').unwrap().1.to_owned());
    Client::new(&server.url, Some(token)).unwrap()
}

async fn ask(client: &Client, task: &Task, agent: &str) -> Result<Task, ClientError> {
    hand_off(client, task, &json!({ "agentName": agent, "prompt": "p" })).await
}

fn refusal(refused: Result<Task, ClientError>) -> (u16, String, String) {
    match refused {
        Err(ClientError::Refused { status, error }) => {
            (status.as_u16(), error.code.clone(), error.message.clone())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_is_too_deep_is_refused_and_named() {
    let workshop = waiting_agents();
    let server = workshop.serve_with(1, &["--port", "0", "--max-depth", "3"]);
    let mut events = Events::listen(&server.client()).await;
    let mut task = start_handoff(&server.client(), "a").await;
    for next in ["b", "c"] {
        let client = in_its_name(&server, &mut events, &task).await;
        task = ask(&client, &task, next).await.unwrap();
    }
    let client = in_its_name(&server, &mut events, &task).await;
    let (status, code, message) = refusal(ask(&client, &task, "d").await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(
        message.contains("a → b → c → d") && message.contains('3'),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bounces_are_counted() {
    let workshop = waiting_agents();
    let server = workshop.serve_with(1, &["--port", "0", "--max-bounces", "1"]);
    let mut events = Events::listen(&server.client()).await;
    let mut task = start_handoff(&server.client(), "a").await;
    for next in ["b", "a"] {
        let client = in_its_name(&server, &mut events, &task).await;
        task = ask(&client, &task, next).await.unwrap();
    }
    let client = in_its_name(&server, &mut events, &task).await;
    let (status, code, message) = refusal(ask(&client, &task, "b").await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(message.contains("a → b → a → b"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hops_are_counted_over_the_whole_tree() {
    let workshop = waiting_agents();
    let server = workshop.serve_with(4, &["--port", "0", "--max-hops", "2"]);
    let mut events = Events::listen(&server.client()).await;
    let task = start_handoff(&server.client(), "a").await;
    let client = in_its_name(&server, &mut events, &task).await;
    for child in ["b", "c"] {
        let child = ask(&client, &task, child).await.unwrap();
        assert_eq!(child.parent_id.as_ref(), Some(&task.id));
    }
    let (status, code, message) = refusal(ask(&client, &task, "d").await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(message.contains("a → d"), "{message}");
    assert_eq!(workshop.read("SELECT count(*) FROM tasks"), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_run_itself_may_hand_on_and_only_while_it_works() {
    let workshop = waiting_agents();
    let server = workshop.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let its = in_its_name(&server, &mut events, &first).await;
    let (status, code, _) = refusal(ask(&client, &first, "b").await);
    assert_eq!((status, code.as_str()), (409, "CONFLICT"));
    // What is not its own, or below it, it may not change; what it makes is below it.
    let second = start_handoff(&client, "b").await;
    let (status, code, _) = refusal(ask(&its, &second, "c").await);
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
        let (status, ..) = refusal(
            its.send_json(method, &path, &body)
                .await
                .and_then(|reply| reply.data()),
        );
        assert_eq!(status, 403, "{path}");
    }
    let made = its
        .send_json(
            reqwest::Method::POST,
            "/api/tasks",
            &json!({ "description": "mine" }),
        )
        .await
        .unwrap();
    let made: Task = made.data().unwrap();
    assert_eq!(made.parent_id.as_ref(), Some(&first.id));
    let third = ask(&its, &made, "c").await.unwrap();
    assert_eq!(
        (&third.id, third.current_agent().map(ToString::to_string)),
        (&made.id, Some("c".to_owned()))
    );
    let path = format!("/api/tasks/{}/handoff/cancel", first.id);
    client
        .send_json(reqwest::Method::POST, &path, &json!({}))
        .await
        .unwrap();
    let (status, code, _) = refusal(ask(&its, &first, "b").await);
    assert_eq!((status, code.as_str()), (401, "UNAUTHORIZED"));
    assert_eq!(
        wait_for_end(&client, last_handoff_id(&first)).await.outcome,
        Some(Outcome::Cancelled)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_fails_is_told_to_the_agent_that_waits() {
    for command in ["chorus handoff", SCRIPT] {
        let workshop = Workshop::new()
            .agent(
                "parent",
                &format!("{command} $CHORUS_TASK_ID child p >out 2>err; echo \"$? $(cat out) $(cat err)\""),
            )
            .agent("child", "echo 'out of ideas' >&2; exit 4");
        let server = workshop.serve(1);
        let handoff = run(&server.client(), "parent").await;
        let output = handoff.output.as_str();
        assert!(output.starts_with("1  "), "{output}");
        assert!(
            output.contains("failed: ") && output.contains("out of ideas"),
            "{output}"
        );
    }
}
