//! `chorus task route`

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Desk, transcript};
use crate::support::Chorus;

async fn desk() -> Desk {
    let agents: [(&str, &[&str], &[&str]); 4] = [
        ("ada", &["implementation", "testing"], &["rust"]),
        ("bob", &["testing"], &["rust", "qa"]),
        ("cleo", &["testing"], &["cobol"]),
        ("dan", &[], &["rust"]),
    ];
    Desk::with_agents(&agents).await
}

#[tokio::test]
async fn a_dry_run_explains_the_chosen_agent() {
    let desk = desk().await;
    let id = desk
        .make([
            "task",
            "create",
            "Test it",
            "--agent-role",
            "testing",
            "--tags",
            "rust,qa",
        ])
        .await;
    assert_snapshot!(desk.run(["task", "route", &id, "--dry-run"]).await, @"
    exit 0
    --- stdout
    <id 1> goes to bob
    bob	2	chosen	Has the role and 2 of 2 skills; works on 0 other tasks
    ada	1	suitable	Has 1 of the skills; bob has 2
    cleo	0	-	Has none of the skills rust, qa
    dan	0	-	Does not have the role testing
    --- stderr
    ");
    assert_eq!(desk.task(&id).await["currentAgent"], json!(null));
    let printed = desk
        .make(["task", "route", &id, "--dry-run", "--json"])
        .await;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        printed["data"],
        desk.app.get(&format!("/api/route/{id}")).await.data()
    );
}

#[tokio::test]
async fn a_dry_run_explains_why_no_agent_is_chosen() {
    let desk = desk().await;
    let plain = desk.make(["task", "create", "Plain"]).await;
    assert_snapshot!(desk.run(["task", "route", &plain, "--dry-run"]).await, @"
    exit 0
    --- stdout
    <id 1> goes to no agent: The task has no role. Set one with `chorus task edit ID --agent-role ROLE`, or hand it off with `chorus handoff`
    --- stderr
    ");
    let early = desk
        .make([
            "task",
            "create",
            "Early",
            "--agent-role",
            "implementation",
            "--depends-on",
            &plain,
        ])
        .await;
    assert_snapshot!(desk.run(["task", "route", &early, "--dry-run"]).await, @"
    exit 0
    --- stdout
    <id 1> is not routed now: The task waits for <id 2> (pending, must be completed). Later it would go to ada
    ada	0	chosen	Has the role; works on 0 other tasks
    bob	0	-	Does not have the role implementation
    cleo	0	-	Does not have the role implementation
    dan	0	-	Does not have the role implementation
    --- stderr
    ");
    let lost = desk
        .make(["task", "create", "Lost", "--agent-role", "verification"])
        .await;
    let seen = desk.run(["task", "route", &lost, "--dry-run"]).await;
    assert!(
        seen.contains("<id 1> goes to no agent: No available agent has the role verification\n"),
        "{seen}"
    );
}

#[tokio::test]
async fn a_task_goes_to_the_agent_that_suits_best() {
    let desk = desk().await;
    let id = desk
        .make([
            "task",
            "create",
            "Test it",
            "--agent-role",
            "testing",
            "--tags",
            "qa",
        ])
        .await;
    assert_snapshot!(desk.run(["task", "route", &id]).await, @"
    exit 0
    --- stdout
    <id 1> bob
    --- stderr
    ");
    assert_eq!(desk.task(&id).await["currentAgent"], "bob");
    assert_snapshot!(desk.run(["task", "route", &id]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Task <id 1> was not routed. Agent bob is working on the task
    hint: `chorus task route <id 1> --dry-run` explains the choice agent by agent
    ");
    let other = desk
        .make(["task", "create", "More", "--agent-role", "implementation"])
        .await;
    let printed = desk.make(["task", "route", &other, "--json"]).await;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["data"], desk.task(&other).await);
}

#[tokio::test]
async fn a_task_that_no_agent_suits_is_a_conflict_and_an_unknown_task_is_not_found() {
    let desk = desk().await;
    let lost = desk
        .make([
            "task",
            "create",
            "Lost",
            "--agent-role",
            "verification",
            "--tags",
            "x",
        ])
        .await;
    assert_snapshot!(desk.run(["task", "route", &lost]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Task <id 1> was not routed. No available agent has the role verification and one of the skills x
    hint: `chorus task route <id 1> --dry-run` explains the choice agent by agent
    ");
    assert_snapshot!(desk.run(["task", "route", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "route", "nope", "--dry-run"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "route"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <TASK>

    Usage: chorus task route <TASK>

    For more information, try '--help'.
    ");
    let nobody = Chorus::new(["task", "route", "--dry-run", "--url", "http://127.0.0.1:1"]);
    let seen = transcript(nobody).await.unwrap();
    assert!(seen.starts_with("exit 5"), "{seen}");
}

#[tokio::test]
async fn without_a_task_the_first_ready_ones_are_explained() {
    let desk = desk().await;
    assert_snapshot!(desk.run(["task", "route", "--dry-run"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    desk.make(["task", "create", "Plain"]).await;
    desk.make(["task", "create", "Test it", "--agent-role", "testing"])
        .await;
    desk.make([
        "task",
        "create",
        "Verify it",
        "--agent-role",
        "verification",
        "--priority",
        "1",
    ])
    .await;
    assert_snapshot!(desk.run(["task", "route", "--dry-run"]).await, @"
    exit 0
    --- stdout
    1	<id 1>	verification	-	No available agent has the role verification
    2	<id 2>	testing	ada	Has the role; works on 0 other tasks
    --- stderr
    ");
    let printed = desk.make(["task", "route", "--dry-run", "--json"]).await;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let agents: Vec<_> = printed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["agent"].clone())
        .collect();
    assert_eq!(agents, [json!(null), json!("ada")]);
    assert!(printed["meta"]["timestamp"].is_number());
    for _ in 0..20 {
        desk.app
            .post(
                "/api/tasks",
                json!({ "description": "d", "agentRole": "testing" }),
            )
            .await
            .data();
    }
    let seen = desk.run(["task", "route", "--dry-run"]).await;
    assert_eq!(seen.lines().filter(|line| line.contains('\t')).count(), 20);
    assert!(
        seen.ends_with("--- stderr\nMore tasks: chorus task ready\n"),
        "{seen}"
    );
}
