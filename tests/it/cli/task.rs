//! `chorus task`

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};

#[tokio::test]
async fn a_new_task_prints_its_id_and_nothing_else() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["task", "create", "Write the parser"]).await, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    let task = desk.app.get("/api/tasks").await.data()[0].clone();
    assert_eq!(task["description"], "Write the parser");
    assert_eq!(
        task["source"],
        json!({ "sourceType": "cli", "userId": "tester", "conversationId": null })
    );
}

#[tokio::test]
async fn a_description_can_come_from_standard_input() {
    let desk = Desk::open().await;
    let text = "line one\nline two 🎶\n";
    let seen = transcript(desk.chorus(["task", "create", "-"]).input(text))
        .await
        .unwrap();
    assert!(seen.starts_with("exit 0\n"), "{seen}");
    assert_eq!(
        desk.app.get("/api/tasks").await.data()[0]["description"],
        text
    );
}

#[tokio::test]
async fn a_workspace_is_taken_relative_to_where_the_user_is() {
    let desk = Desk::open().await;
    let command = desk.chorus(["task", "create", "d", "--workspace", "work"]);
    let folder = desk.app.data_dir.path();
    transcript(command.current_dir(folder)).await.unwrap();
    let workspace = folder.join("work");
    assert_eq!(
        desk.app.get("/api/tasks").await.data()[0]["agentWorkspace"],
        workspace.to_str().unwrap()
    );
}

#[tokio::test]
async fn a_list_that_is_piped_is_separated_by_tabs_and_has_no_headings() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    let id = desk.app.task("Write\nthe parser").await;
    desk.app.task("Test it").await;
    desk.app
        .post(
            &format!("/api/tasks/{id}/handoff"),
            json!({ "agentName": "qa", "prompt": "p" }),
        )
        .await
        .data();
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	active	qa	2026-01-01 00:00:00	Write the parser
    <id 2>	pending	-	2026-01-01 00:00:00	Test it
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "list", "--status", "active"]).await, @"
    exit 0
    --- stdout
    <id 1>	active	qa	2026-01-01 00:00:00	Write the parser
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "list", "--limit", "1"]).await, @"
    exit 0
    --- stdout
    <id 1>	active	qa	2026-01-01 00:00:00	Write the parser
    --- stderr
    There are more: --after <id 1>
    ");
    assert_snapshot!(desk.run(["task", "list", "--after", &id]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Test it
    --- stderr
    ");
}

#[tokio::test]
async fn a_task_is_shown_with_all_that_belongs_to_it() {
    let desk = Desk::open().await;
    let id = desk.app.task("Write the parser").await;
    assert_snapshot!(desk.run(["task", "show", &id]).await, @"
    exit 0
    --- stdout
    task       <id 1>
    status     pending
    agent      -
    created    2026-01-01 00:00:00
    updated    2026-01-01 00:00:00
    source     api (anonymous)
    workspace  <tmp>/workspaces/<id 1>

    Write the parser
    --- stderr
    ");
    let at = |path: &str| format!("/api/tasks/{id}/{path}");
    let app = &desk.app;
    app.request(
        Method::POST,
        &at("attachments?filename=a.png"),
        "twelve bytes",
    )
    .await
    .data();
    app.put(
        &at("planning"),
        json!({ "summary": "A parser", "requirements": ["fast"], "plan": ["lexer", "grammar"] }),
    )
    .await
    .data();
    app.post(
        &at("handoff"),
        json!({ "agentName": "developer", "prompt": "p" }),
    )
    .await
    .data();
    app.clock.advance(83_000);
    app.put(
        &at("handoff/complete"),
        json!({ "output": "Done:\n all tests pass" }),
    )
    .await
    .data();
    app.post(&at("handoff"), json!({ "agentName": "qa", "prompt": "p" }))
        .await
        .data();
    assert_snapshot!(desk.run(["task", "show", &id]).await, @"
    exit 0
    --- stdout
    task       <id 1>
    status     active
    agent      qa
    created    2026-01-01 00:00:00
    updated    2026-01-01 00:01:23
    source     api (anonymous)
    workspace  <tmp>/workspaces/<id 1>
    file       a.png (12 bytes)

    Write the parser

    Summary
      A parser

    Requirements
      - fast

    Plan
      - lexer
      - grammar

    Agents
      developer  completed after 1 min 23 s  Done: all tests pass
      qa  works since 2026-01-01 00:01:23
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "tree", &id]).await, @"
    exit 0
    --- stdout
    <id 1> active Write the parser
    ├─ developer  completed after 1 min 23 s  Done: all tests pass
    └─ qa  works since 2026-01-01 00:01:23
    --- stderr
    ");
}

#[tokio::test]
async fn a_status_is_set_and_said() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    assert_snapshot!(desk.run(["task", "status", &id, "completed"]).await, @"
    exit 0
    --- stdout
    <id 1> completed
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "status", &id, "failed", "--message", "no disk"]).await, @"
    exit 0
    --- stdout
    <id 1> failed
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "status", &id, "waiting", "--message", "m"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: status: only the status `failed` has a message
    ");
    let task = desk.app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(
        task["status"],
        json!({ "type": "failed", "message": "no disk" })
    );
}

#[tokio::test]
async fn a_plan_is_set_field_by_field() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let plan = [
        "task",
        "plan",
        &id,
        "--summary",
        "A parser",
        "--requirement",
        "fast",
        "--criterion",
        "tests pass",
        "--step",
        "lexer",
        "--step",
        "grammar",
    ];
    assert_snapshot!(desk.run(plan).await, @"
    exit 0
    --- stdout
    <id 1> pending
    --- stderr
    ");
    desk.run(["task", "plan", &id, "--summary", "Another"])
        .await;
    let task = desk.app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(
        (
            &task["summary"],
            &task["requirements"],
            &task["acceptanceCriteria"],
            &task["plan"]
        ),
        (
            &json!("Another"),
            &json!(["fast"]),
            &json!(["tests pass"]),
            &json!(["lexer", "grammar"])
        )
    );
    assert_snapshot!(desk.run(["task", "plan", &id]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: give at least one of summary, requirements, acceptanceCriteria and plan
    ");
}

#[tokio::test]
async fn json_is_what_the_api_answers() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    for (arguments, path) in [
        (
            vec!["task", "show", &id, "--json"],
            format!("/api/tasks/{id}"),
        ),
        (
            vec!["task", "tree", &id, "--json"],
            format!("/api/tasks/{id}"),
        ),
        (
            vec!["task", "list", "--json"],
            "/api/tasks?view=summary&limit=100".to_owned(),
        ),
        (vec!["agents", "list", "--json"], "/api/agents".to_owned()),
        (
            vec!["agents", "show", "qa", "--json"],
            "/api/agents/qa".to_owned(),
        ),
    ] {
        let output = tokio::task::spawn_blocking({
            let command = desk.chorus(arguments.clone());
            move || command.output()
        });
        let output = output.await.unwrap();
        assert!(output.status.success());
        let answer = desk.app.get(&path).await.body;
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("{}\n", String::from_utf8(answer).unwrap()),
            "{arguments:?}"
        );
        assert!(output.stderr.is_empty());
    }
    assert_snapshot!(desk.run(["task", "status", &id, "completed", "--json"]).await, @r#"
    exit 0
    --- stdout
    {"data":{"taskType":"descriptionOnly","id":"<id 1>","description":"d","status":{"type":"completed"},"createdAt":1767225600000,"updatedAt":1767225600000,"sessionId":null,"source":{"sourceType":"api","userId":"anonymous","conversationId":null},"agentWorkspace":"<tmp>/workspaces/<id 1>","attachments":[],"currentAgent":null,"agentChain":[],"parentId":null,"masterTaskId":null,"context":{}},"meta":{"timestamp":1767225600000}}
    --- stderr
    "#);
}

#[tokio::test]
async fn text_with_terminal_escapes_is_shown_harmless() {
    let desk = Desk::open().await;
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m\rover\r\nnext\u{8}";
    let id = desk.app.task(evil).await;
    let at = |path: &str| format!("/api/tasks/{id}/{path}");
    desk.app
        .put(&at("planning"), json!({ "summary": evil, "plan": [evil] }))
        .await
        .data();
    desk.app
        .post(&at("handoff"), json!({ "agentName": "qa", "prompt": "p" }))
        .await
        .data();
    desk.app
        .post(&at("handoff/cancel"), json!({ "reason": evil }))
        .await
        .data();
    desk.app
        .put(
            &at("status"),
            json!({ "status": { "type": "failed", "message": evil } }),
        )
        .await
        .data();
    for command in [
        vec!["task", "list"],
        vec!["task", "show", &id],
        vec!["task", "tree", &id],
        vec!["agents", "show", evil],
    ] {
        let seen = desk.run(command.clone()).await;
        let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!seen.contains(is_harmful), "{command:?} {seen:?}");
    }
    assert_snapshot!(desk.run(["task", "tree", &id]).await, @"
    exit 0
    --- stdout
    <id 1> failed: �[2J�]0;owned�red�31m over next� �[2J�]0;owned�red�31m over next�
    └─ qa  cancelled after 0 s  �[2J�]0;owned�red�31m over next�
    --- stderr
    ");
}
