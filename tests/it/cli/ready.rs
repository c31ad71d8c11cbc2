//! `chorus task ready`

use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use super::{Desk, transcript};
use crate::support::Chorus;

async fn desk() -> Desk {
    let agents: [(&str, &[&str], &[&str]); 2] = [
        ("ada", &["implementation"], &["rust"]),
        ("tess", &["testing"], &["python"]),
    ];
    let desk = Desk::with_agents(&agents).await;
    let later = desk
        .make([
            "task",
            "create",
            "Later",
            "--agent-role",
            "implementation",
            "--priority",
            "P3",
        ])
        .await;
    desk.make(["task", "create", "Plain"]).await;
    desk.make([
        "task",
        "create",
        "Now\n\"quoted\"",
        "--agent-role",
        "testing",
        "--tags",
        "python,mcp",
        "--priority",
        "0",
    ])
    .await;
    desk.make([
        "task",
        "create",
        "Waits",
        "--agent-role",
        "testing",
        "--depends-on",
        &later,
    ])
    .await;
    desk
}

#[tokio::test]
async fn ready_tasks_are_listed_most_urgent_first_without_waiting_ones() {
    let desk = desk().await;
    assert_snapshot!(desk.run(["task", "ready"]).await, @r#"
    exit 0
    --- stdout
    0	<id 1>	testing	python,mcp	Now "quoted"
    2	<id 2>	-	-	Plain
    3	<id 3>	implementation	-	Later
    --- stderr
    "#);
    assert_snapshot!(desk.run(["task", "ready", "--limit", "1"]).await, @r#"
    exit 0
    --- stdout
    0	<id 1>	testing	python,mcp	Now "quoted"
    --- stderr
    More rows: --after <id 1>
    "#);
    let ready = desk.app.get("/api/ready").await.data();
    let first = ready[0]["id"].as_str().unwrap();
    assert_snapshot!(desk.run(["task", "ready", "--after", first, "--limit", "1"]).await, @"
    exit 0
    --- stdout
    2	<id 1>	-	-	Plain
    --- stderr
    More rows: --after <id 1>
    ");
    let seen = desk.make(["task", "ready", "--json"]).await;
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["data"], ready);
}

#[tokio::test]
async fn ready_tasks_of_an_agent_are_those_that_suit_it() {
    let desk = desk().await;
    assert_snapshot!(desk.run(["task", "ready", "--as", "ada"]).await, @"
    exit 0
    --- stdout
    3	<id 1>	implementation	-	Later
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "ready", "--as", "nobody"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: nobody
    hint: `chorus agent list` lists the agents
    ");
    let nobody = Chorus::new(["task", "ready", "--url", "http://127.0.0.1:1"]);
    let seen = transcript(nobody).await.unwrap();
    assert!(seen.starts_with("exit 5"), "{seen}");
}

#[tokio::test]
async fn on_a_terminal_the_columns_have_headings() {
    let desk = desk().await;
    let program = format!(
        "{} task ready --as tess --url {}",
        env!("CARGO_BIN_EXE_chorus"),
        desk.url
    );
    let on_terminal = tokio::task::spawn_blocking(move || {
        let mut command = Command::new("script");
        command.args(["-qec", &format!("stty cols 120; {program}"), "/dev/null"]);
        command.output().unwrap()
    });
    let seen = String::from_utf8(on_terminal.await.unwrap().stdout).unwrap();
    let id = desk.make(["task", "ready", "--as", "tess"]).await;
    let id = id.split('\t').nth(1).unwrap();
    assert_snapshot!(seen.replace('\r', "").replace(&id[28..], "<end of id>"), @r#"
    PRIORITY  ID        ROLE     TAGS        DESCRIPTION
    0         <end of id>  testing  python,mcp  Now "quoted"
    "#);
}
