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
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path();
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
    <id 1>	pending	-	2026-01-01 00:00:00	Test it
    --- stderr
    Older tasks: --before <id 1>
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
    source     api
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
    source     api
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
      qa  working since 2026-01-01 00:01:23
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "tree", &id]).await, @"
    exit 0
    --- stdout
    * <id 1> active Write the parser
    ├─ developer  2026-01-01 00:00:00  completed after 1 min 23 s
    └─ qa  2026-01-01 00:01:23  queued for 0 ms
    --- stderr
    ");
}

#[tokio::test]
async fn a_status_is_set_and_printed() {
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
    error: status: only the status `failed` may have a message
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
    exit 2
    --- stdout
    --- stderr
    error: give at least one of summary, requirements, acceptanceCriteria and plan
    ");
}

#[tokio::test]
async fn json_is_the_answer_of_the_api() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    for (arguments, path) in [
        (
            vec!["task", "show", &id, "--json"],
            format!("/api/tasks/{id}"),
        ),
        (
            vec!["task", "tree", &id, "--json"],
            format!("/api/tasks/{id}/tree"),
        ),
        (
            vec!["task", "conversation", &id, "--json"],
            format!("/api/tasks/{id}/conversation"),
        ),
        (vec!["tool", "list", "--json"], "/api/tools".to_owned()),
        (
            vec!["tool", "list", "--as", "qa", "--json"],
            "/api/agents/qa/tools".to_owned(),
        ),
        (
            vec!["session", "list", "--json"],
            "/api/sessions".to_owned(),
        ),
        (vec!["alert", "list", "--json"], "/api/alerts".to_owned()),
        (
            vec!["stats", "--json"],
            "/api/analytics/handoffs".to_owned(),
        ),
        (
            vec!["task", "list", "--json"],
            "/api/tasks?view=summary&limit=100".to_owned(),
        ),
        (vec!["agent", "list", "--json"], "/api/agents".to_owned()),
        (
            vec!["agent", "show", "qa", "--json"],
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
    {"data":{"taskType":"descriptionOnly","id":"<id 1>","description":"d","status":{"type":"completed"},"createdAt":1767225600000,"updatedAt":1767225600000,"sessionId":null,"source":{"sourceType":"api","userId":"anonymous","conversationId":null},"agentWorkspace":"<tmp>/workspaces/<id 1>","attachments":[],"currentAgent":null,"agentChain":[],"parentId":null,"masterTaskId":null,"context":{},"agentRole":null,"specialistTags":[],"estimatedDuration":null,"priority":2,"dependsOn":[],"agentContext":{},"handoffInstructions":{},"incrementId":null,"stage":null,"round":null,"routeAttempts":0,"waitingReason":null,"blocked":false,"sharedPlan":null},"meta":{"timestamp":1767225600000}}
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
        vec!["agent", "show", evil],
    ] {
        let seen = desk.run(command.clone()).await;
        let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!seen.contains(is_harmful), "{command:?} {seen:?}");
    }
    assert_snapshot!(desk.run(["task", "tree", &id]).await, @"
    exit 0
    --- stdout
    * <id 1> failed: �[2J�]0;owned�red�31m over next� �[2J�]0;owned�red�31m over next�
    └─ qa  2026-01-01 00:00:00  cancelled after 0 ms
    --- stderr
    ");
}

/// Makes a chain: a task that was delegated and transferred, with a tool that has variables.
async fn chain(desk: &Desk, description: &str) -> [String; 3] {
    let app = &desk.app;
    for (name, target) in [("to_developer", "developer"), ("to_qa", "qa")] {
        let tool = json!({
            "name": name, "description": "d", "targetAgent": target,
            "contextVariables": [{ "name": "note", "type": "string" }],
        });
        app.operator().post("/api/tools", tool).await.data();
    }
    let id = |task: serde_json::Value| task["id"].as_str().unwrap().to_owned();
    let first = app.task(description).await;
    let body = json!({ "agentName": "planner", "prompt": "Plan it,\nplease" });
    app.post(&format!("/api/tasks/{first}/handoff"), body)
        .await
        .data();
    app.clock.advance(2_000);
    let path = format!("/api/tasks/{first}/tools/to_developer");
    let second = id(app
        .post(&path, json!({ "note": "say \"hi\"" }))
        .await
        .data());
    app.clock.advance(90_000);
    let third = id(app
        .post(&format!("/api/tasks/{second}/tools/to_qa"), json!({}))
        .await
        .data());
    [first, second, third]
}

#[tokio::test]
async fn a_chain_is_drawn_as_a_tree() {
    let desk = Desk::open().await;
    let [first, second, _] = chain(&desk, "Write\nthe parser").await;
    assert_snapshot!(desk.run(["task", "tree", &first]).await, @"
    exit 0
    --- stdout
    * <id 1> completed Write the parser
    ├─ planner  2026-01-01 00:00:00  completed after 2 s
    └─ <id 2> completed Write the parser
       ├─ developer  2026-01-01 00:00:02  completed after 1 min 30 s  (transfer from planner)
       └─ <id 3> active Write the parser
          └─ qa  2026-01-01 00:01:32  queued for 0 ms  (transfer from developer)
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "tree", &second]).await, @"
    exit 0
    --- stdout
    <id 1> completed Write the parser
    ├─ planner  2026-01-01 00:00:00  completed after 2 s
    └─ * <id 2> completed Write the parser
       ├─ developer  2026-01-01 00:00:02  completed after 1 min 30 s  (transfer from planner)
       └─ <id 3> active Write the parser
          └─ qa  2026-01-01 00:01:32  queued for 0 ms  (transfer from developer)
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "tree", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
}

#[tokio::test]
async fn a_chain_is_printed_as_the_source_of_a_picture() {
    let desk = Desk::open().await;
    let description = "Write \"it\"]; <b> #1 \\ `x` & 漢字\nnow";
    let [_, second, _] = chain(&desk, description).await;
    assert_snapshot!(desk.run(["task", "tree", &second, "--mermaid"]).await, @r#"
    exit 0
    --- stdout
    flowchart TD
        t0["Write #34;it#34;#93;#59; #60;b#62; #35;1 #92; #96;x#96; #38; 漢字 now<br/>completed<br/>planner, completed after 2 s"]
        t1["Write #34;it#34;#93;#59; #60;b#62; #35;1 #92; #96;x#96; #38; 漢字 now<br/>completed<br/>developer, completed after 1 min 30 s"]
        t0 -->|transfer| t1
        style t1 stroke-width:3px
        t2["Write #34;it#34;#93;#59; #60;b#62; #35;1 #92; #96;x#96; #38; 漢字 now<br/>active<br/>qa, queued for 0 ms"]
        t1 -->|transfer| t2
    --- stderr
    "#);
    assert_snapshot!(desk.run(["task", "tree", &second, "--dot"]).await, @r#"
    exit 0
    --- stdout
    digraph chain {
        node [shape=box];
        t0 [label="Write \"it\"]; <b> #1 \\ `x` &amp; 漢字 now\ncompleted\nplanner, completed after 2 s", penwidth=1];
        t1 [label="Write \"it\"]; <b> #1 \\ `x` &amp; 漢字 now\ncompleted\ndeveloper, completed after 1 min 30 s", penwidth=3];
        t0 -> t1 [label="transfer"];
        t2 [label="Write \"it\"]; <b> #1 \\ `x` &amp; 漢字 now\nactive\nqa, queued for 0 ms", penwidth=1];
        t1 -> t2 [label="transfer"];
    }
    --- stderr
    "#);
    assert_snapshot!(desk.run(["task", "tree", &second, "--dot", "--mermaid"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the argument '--dot' cannot be used with '--mermaid'

    Usage: chorus task tree --dot <TASK>

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["task", "tree", &second, "--dot", "--json"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the argument '--dot' cannot be used with '--json'

    Usage: chorus task tree --dot <TASK>

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn a_conversation_shows_who_said_what_and_where_control_moved() {
    let desk = Desk::open().await;
    let [first, second, third] = chain(&desk, "Write the parser").await;
    assert_snapshot!(desk.run(["task", "say", &third, "Be\nstrict"]).await, @"
    exit 0
    --- stdout
    4
    --- stderr
    ");
    let say = ["task", "say", &third, "-", "--type", "thinking"];
    transcript(desk.chorus(say).input("Hm.\n")).await.unwrap();
    assert_snapshot!(desk.run(["task", "conversation", &second]).await, @r#"
    exit 0
    --- stdout
    #1 2026-01-01 00:00:00  user
        Plan it,
        please
    #2 2026-01-01 00:00:02  planner  → Routed to developer  by to_developer  on <id 1>
        note = "say \"hi\""
    #3 2026-01-01 00:01:32  developer  → Routed to qa  by to_qa  on <id 2>
    #4 2026-01-01 00:01:32  user
        Be
        strict
    #5 2026-01-01 00:01:32  qa (thinking)
        Hm.
    --- stderr
    "#);
    assert_snapshot!(desk.run(["task", "conversation", &first, "--limit", "1"]).await, @"
    exit 0
    --- stdout
    #1 2026-01-01 00:00:00  user
        Plan it,
        please
    --- stderr
    More messages: --after 1
    ");
    assert_snapshot!(desk.run(["task", "conversation", &first, "--limit", "1", "--after", "3"]).await, @"
    exit 0
    --- stdout
    #4 2026-01-01 00:01:32  user
        Be
        strict
    --- stderr
    More messages: --after 4
    ");
    assert_snapshot!(desk.run(["task", "conversation", &first, "--after", "9999"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
}

#[tokio::test]
async fn a_long_conversation_comes_whole() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let path = format!("/api/tasks/{id}/messages");
    for place in 0..1001 {
        let body = json!({ "type": "user_message", "content": format!("line {place}") });
        desk.app.post(&path, body).await.data();
    }
    let seen = desk.run(["task", "conversation", &id]).await;
    assert_eq!(seen.matches("    line ").count(), 1001);
    assert!(seen.ends_with("    line 1000\n--- stderr\n"));
    let seen = desk.run(["task", "conversation", &id, "--json"]).await;
    let line = seen.lines().nth(2).unwrap();
    let answer: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(answer["data"].as_array().unwrap().len(), 1001);
    assert_eq!(answer["meta"].get("next"), None);
    let seen = desk
        .run(["task", "conversation", &id, "--json", "--limit", "3"])
        .await;
    assert!(seen.contains(r#""next":"3""#), "{seen}");
}

#[tokio::test]
async fn an_invalid_message_or_page_is_refused() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    assert_snapshot!(desk.run(["task", "say", &id, " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: content: must not be empty
    ");
    assert_snapshot!(desk.run(["task", "say", &id, "x", "--type", "song"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'song' for '--type <TYPE>'
      [possible values: user_message, assistant_message, thinking, tool_call, tool_result, skill_load, subtask_created, error, status_change, handoff]

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["task", "say", "nope", "x"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "conversation", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "conversation", &id, "--limit", "0"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: query: limit: must be 1 to 1000
    ");
    assert_snapshot!(desk.run(["task", "conversation", &id, "--after", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'x' for '--after <NUMBER>': invalid digit found in string

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn a_command_says_which_trace_it_belongs_to() {
    let desk = Desk::open().await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    for (parent, is_kept) in [
        (format!("00-{trace}-b7ad6b7169203331-01"), true),
        (format!("00-{trace}-0000000000000000-01"), false),
        ("nonsense\nX-Evil: 1".to_owned(), false),
    ] {
        let id = desk.app.task("d").await;
        let command = desk.chorus(["handoff", &id, "qa", "p", "--no-wait"]);
        let seen = transcript(command.env("TRACEPARENT", &parent)).await;
        assert!(seen.unwrap().starts_with("exit 0\n"), "{parent}");
        let handoffs = desk.app.get(&format!("/api/tasks/{id}/handoffs")).await;
        assert_eq!(handoffs.data()[0]["traceId"] == trace, is_kept, "{parent}");
    }
}
