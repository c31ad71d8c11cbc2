//! `chorus task close`

use insta::assert_snapshot;

use super::{Desk, transcript};
use crate::support::{Sandbox, run_agent};

#[tokio::test]
async fn a_task_is_closed_with_a_reason_that_the_task_shows() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    assert_snapshot!(desk.run(["task", "close", &task]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --reason <TEXT>

    Usage: chorus task close --reason <TEXT> <TASK>

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["task", "close", &task, "--reason", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --reason: must not be empty
    ");
    assert_snapshot!(desk.run(["task", "close", &task, "--reason", "Implementation\ncomplete"]).await, @"
    exit 0
    --- stdout
    <id 1> completed
    --- stderr
    ");
    let shown = desk.run(["task", "show", &task]).await;
    assert!(
        shown.contains("\nreason     Implementation complete\n"),
        "{shown}"
    );
    assert_snapshot!(desk.run(["task", "close", &task, "--reason", "Again"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Task <id 1> is already completed, so the reason was not recorded. See `chorus task show <id 1>`
    ");
    // The reason belongs to the status: a task that is reopened and closed again shows none.
    desk.run(["task", "status", &task, "pending"]).await;
    desk.run(["task", "status", &task, "completed"]).await;
    let shown = desk.run(["task", "show", &task]).await;
    assert!(!shown.contains("\nreason "), "{shown}");
    desk.run(["task", "status", &task, "pending"]).await;
    let piped = desk.chorus(["task", "close", &task, "--reason", "-"]);
    let seen = transcript(piped.input("From a file")).await.unwrap();
    assert!(seen.starts_with("exit 0\n"), "{seen}");
    let shown = desk.run(["task", "show", &task]).await;
    assert!(shown.contains("\nreason     From a file\n"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_closes_its_own_task_without_naming_it() {
    let script = "chorus task close --reason 'Nothing to do' && chorus task edit --agent-context '{\"work_completed\": \"Nothing\"}'";
    let sandbox = Sandbox::new().with_agent("worker", script);
    let server = sandbox.serve(1);
    let client = server.client();
    let handoff = run_agent(&client, "worker").await;
    let task: serde_json::Value = client
        .get(&format!("/api/tasks/{}", handoff.task_id), &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(task["status"]["type"], "completed");
    assert_eq!(task["agentContext"]["workCompleted"], "Nothing");
    let reason = "SELECT data ->> 'reason' FROM events WHERE type = 'status_changed' AND data ->> 'to' = 'completed'";
    assert_eq!(sandbox.query(reason), "Nothing to do");
    sandbox.assert_invariants();
}
