//! Messages for the next agent of a task: each is in the prompt of exactly one agent.

use chorus::client::Client;
use chorus::domain::{Outcome, Task};
use reqwest::Method;
use serde_json::{Value, json};

use super::{client_of_run, waiting_agents};
use crate::support::{
    Events, Sandbox, create_task, hand_off, last_handoff_id, start_handoff, wait_for_end,
};

async fn queue(client: &Client, task: &Task, text: &str) {
    let path = format!("/api/tasks/{}/queue", task.id);
    let message = json!({ "content": text });
    client
        .send_json(Method::POST, &path, &message)
        .await
        .unwrap();
}

/// Lists the messages of a task with the hand-offs that have them.
async fn queued(client: &Client, task: &Task) -> Vec<(String, Value)> {
    let path = format!("/api/tasks/{}/queue", task.id);
    let queue: Value = client.get(&path, &[]).await.unwrap().data().unwrap();
    let messages = queue["messages"].as_array().unwrap().iter();
    messages
        .map(|message| {
            assert_eq!(
                message["deliveredAt"].is_null(),
                message["handoffId"].is_null()
            );
            (
                message["content"].as_str().unwrap().to_owned(),
                message["handoffId"].clone(),
            )
        })
        .collect()
}

/// Hands off a task. Returns the prompt, the final message and the id of the hand-off.
async fn run(sandbox: &Sandbox, client: &Client, task: &Task) -> (String, String, Value) {
    let body = json!({ "agentName": "reader", "prompt": "p" });
    let task = hand_off(client, task, &body).await.unwrap();
    let id = last_handoff_id(&task);
    let end = wait_for_end(client, &id).await;
    let prompt = std::fs::read_to_string(sandbox.run_dir(&end).join("prompt.txt")).unwrap();
    (prompt, end.output.to_string(), json!(id))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_in_the_prompt_of_the_next_agent_only() {
    let sandbox = Sandbox::new().with_agent("reader", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = create_task(&client).await;
    queue(&client, &task, "first\n# Your assignment").await;
    queue(&client, &task, "second").await;
    let (prompt, _, first) = run(&sandbox, &client, &task).await;
    assert!(
        prompt.contains("> first\n> # Your assignment\n\n> second\n"),
        "{prompt}"
    );
    let delivered = events.wait_for("message_delivered", "").await;
    assert_eq!(delivered["data"]["handoffId"], first);
    queue(&client, &task, "third").await;
    let (prompt, _, second) = run(&sandbox, &client, &task).await;
    assert!(
        !prompt.contains("first") && prompt.contains("> third\n"),
        "{prompt}"
    );
    let (prompt, _, _) = run(&sandbox, &client, &task).await;
    assert!(!prompt.contains("# Messages for you"), "{prompt}");
    let all = queued(&client, &task).await;
    let handoffs: Vec<_> = all.iter().map(|(_, handoff)| handoff).collect();
    assert_eq!(handoffs, [&first, &first, &second]);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_waits_if_its_agent_never_began() {
    let sandbox = Sandbox::new()
        .with_configured_agent(
            "broken",
            &json!({ "provider": "command", "program": "/no/such/program" }),
        )
        .with_agent("reader", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    queue(&client, &task, "important").await;
    let body = json!({ "agentName": "broken", "prompt": "p" });
    let failed = hand_off(&client, &task, &body).await.unwrap();
    let failed = wait_for_end(&client, last_handoff_id(&failed)).await;
    assert_eq!(failed.outcome, Some(Outcome::Failed));
    assert_eq!(
        queued(&client, &task).await,
        [("important".to_owned(), Value::Null)]
    );
    let (prompt, _, id) = run(&sandbox, &client, &task).await;
    assert!(prompt.contains("> important\n"), "{prompt}");
    assert_eq!(queued(&client, &task).await, [("important".to_owned(), id)]);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_an_agent_has_read_is_not_delivered_again_when_it_fails() {
    let sandbox = Sandbox::new()
        .with_agent("failing", "echo bye; exit 3")
        .with_agent("reader", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    queue(&client, &task, "once").await;
    let body = json!({ "agentName": "failing", "prompt": "p" });
    let failed = hand_off(&client, &task, &body).await.unwrap();
    let failed = wait_for_end(&client, last_handoff_id(&failed)).await;
    assert_eq!(failed.outcome, Some(Outcome::Failed));
    let (prompt, _, _) = run(&sandbox, &client, &task).await;
    assert!(!prompt.contains("# Messages for you"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_of_a_delegation_leaves_the_queue_to_the_task_and_a_transfer_takes_it_along() {
    let sandbox = waiting_agents(&["a"])
        .with_agent("reader", "echo done")
        .with_agent("next", "cat");
    let server = sandbox.serve(1);
    let client = server.client();
    let tool = json!({ "name": "to_next", "description": "d", "targetAgent": "next" });
    server
        .operator()
        .send_json(Method::POST, "/api/tools", &tool)
        .await
        .unwrap();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "a").await;
    let of_run = client_of_run(&server, &mut events, &task).await;
    queue(&client, &task, "while a works").await;
    let (prompt, _, _) = run(&sandbox, &of_run, &task).await;
    assert!(!prompt.contains("while a works"), "{prompt}");
    let path = format!("/api/tasks/{}/tools/to_next", task.id);
    let child = of_run.send_json(Method::POST, &path, &json!({})).await;
    let child: Task = child.unwrap().data().unwrap();
    let end = wait_for_end(&client, last_handoff_id(&child)).await;
    assert!(
        end.output.as_str().contains("> while a works\n"),
        "{}",
        end.output
    );
    let id = json!(last_handoff_id(&child));
    assert_eq!(
        queued(&client, &task).await,
        [("while a works".to_owned(), id)]
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_queue_is_delivered_in_parts_and_a_long_message_is_cut() {
    let sandbox = Sandbox::new().with_agent("reader", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    for letter in ["a", "b", "c"] {
        queue(&client, &task, &letter.repeat(40_000)).await;
    }
    let show = format!("`chorus task queue {}`", task.id);
    for (letter, others) in [("a", ["b", "c"]), ("b", ["a", "c"]), ("c", ["a", "b"])] {
        let (prompt, _, _) = run(&sandbox, &client, &task).await;
        assert!(prompt.contains(&letter.repeat(8000)), "{letter}");
        assert!(prompt.len() < 12_000, "{}", prompt.len());
        assert!(
            !others
                .iter()
                .any(|other| prompt.contains(&other.repeat(100)))
        );
        assert!(prompt.contains(&format!("of 40000 bytes; {show} shows all]")));
        let waits = prompt.contains(&format!(
            "[More messages wait for the next agent; {show} lists all]"
        ));
        assert_eq!(waits, letter != "c");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_queues_and_shows_messages() {
    let sandbox = Sandbox::new().with_agent(
        "reader",
        "chorus task queue --add later >/dev/null; chorus task queue",
    );
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let added = server.chorus(["task", "queue", task.id.as_str(), "--add", "hello"]);
    assert!(added.output().status.success());
    let (_, shown, _) = run(&sandbox, &client, &task).await;
    let lines: Vec<_> = shown.lines().map(str::trim).collect();
    assert!(lines[0].contains("delivered"), "{shown}");
    assert_eq!(lines[1], "hello");
    assert!(lines[2].ends_with("waits"), "{shown}");
    assert_eq!(lines[3], "later");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_keeps_what_was_delivered() {
    let sandbox = Sandbox::new().with_agent("reader", "echo done");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    queue(&client, &task, "one").await;
    run(&sandbox, &client, &task).await;
    queue(&client, &task, "two").await;
    let first = sandbox.path("first");
    let exported = server.chorus(["export", first.to_str().unwrap()]).output();
    assert!(exported.status.success(), "{exported:?}");
    drop(server);
    let other = Sandbox::new();
    let second = other.path("second");
    for command in [
        ["import", first.to_str().unwrap()],
        ["export", second.to_str().unwrap()],
    ] {
        let done = crate::support::Chorus::new(command)
            .env("CHORUS_DATA_DIR", &other.data_dir)
            .output();
        assert!(done.status.success(), "{done:?}");
    }
    let file = |folder: &std::path::Path| {
        std::fs::read_to_string(folder.join(format!("registry/{}/queue.json", task.id))).unwrap()
    };
    assert_eq!(file(&first), file(&second));
    assert!(
        file(&first).contains("\"deliveredAt\": 1"),
        "{}",
        file(&first)
    );
}
