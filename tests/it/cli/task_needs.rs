//! The needs of a task on the command line: `chorus task create`, `edit`, `list` and `show`.

use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};
use crate::support::Chorus;

#[tokio::test]
async fn a_task_is_made_with_all_that_it_needs() {
    let desk = Desk::open().await;
    let first = desk.app.task("First").await;
    let failed = format!("{first}:failed");
    let id = desk
        .make([
            "task",
            "create",
            "Test it",
            "--agent-role",
            "testing",
            "--tags",
            "Python, mcp",
            "--estimated-duration",
            "30",
            "--priority",
            "P1",
            "--depends-on",
            &failed,
            "--agent-context",
            r#"{"workCompleted": "a \"parser\""}"#,
            "--handoff-instructions",
            r#"{"testCommand": "make test"}"#,
        ])
        .await;
    let task = desk.task(&id).await;
    for (key, expected) in [
        ("agentRole", json!("testing")),
        ("specialistTags", json!(["python", "mcp"])),
        ("estimatedDuration", json!(30)),
        ("priority", json!(1)),
        (
            "dependsOn",
            json!([{ "taskId": first, "outcome": "failed" }]),
        ),
        ("agentContext", json!({ "workCompleted": "a \"parser\"" })),
        ("handoffInstructions", json!({ "testCommand": "make test" })),
        (
            "source",
            json!({ "sourceType": "cli", "userId": "tester", "conversationId": null }),
        ),
    ] {
        assert_eq!(task[key], expected, "{key}");
    }
}

#[tokio::test]
async fn an_omitted_need_is_unchanged_and_an_empty_one_is_removed() {
    let desk = Desk::open().await;
    let first = desk.app.task("First").await;
    let id = desk.app.task("Second").await;
    let any = format!("{first}:any");
    assert_snapshot!(
        desk.run(["task", "edit", &id, "--agent-role", "fixing", "--tags", "a,b", "--estimated-duration", "5", "--depends-on", &any])
            .await, @"
    exit 0
    --- stdout
    <id 1> pending
    --- stderr
    ");
    desk.run(["task", "edit", &id, "--priority", "0"]).await;
    let task = desk.task(&id).await;
    assert_eq!(task["agentRole"], "fixing");
    assert_eq!(task["specialistTags"], json!(["a", "b"]));
    assert_eq!(task["priority"], 0);
    assert_eq!(
        task["dependsOn"],
        json!([{ "taskId": first, "outcome": "any" }])
    );
    let seen = desk
        .run([
            "task",
            "edit",
            &id,
            "--agent-role",
            "",
            "--tags",
            "",
            "--estimated-duration",
            "",
            "--depends-on",
            "",
            "--json",
        ])
        .await;
    assert!(
        seen.starts_with("exit 0\n--- stdout\n{\"data\":{\"taskType\""),
        "{seen}"
    );
    let task = desk.task(&id).await;
    assert_eq!(task["agentRole"], json!(null));
    assert_eq!(task["specialistTags"], json!([]));
    assert_eq!(task["estimatedDuration"], json!(null));
    assert_eq!(task["dependsOn"], json!([]));
    assert_eq!(task["priority"], 0);
}

#[tokio::test]
async fn objects_come_from_files_and_standard_input_and_are_merged_if_asked() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let file = desk.app.data_dir.path().join("context.json");
    std::fs::write(
        &file,
        "\u{feff}{\"workCompleted\": \"It\\n\\\"works\\\"\", \"x\": 1}\n",
    )
    .unwrap();
    let at_file = format!("@{}", file.display());
    let update = ["task", "edit", &id, "--agent-context"];
    desk.run(update.into_iter().chain([at_file.as_str()])).await;
    let context = desk.task(&id).await["agentContext"].clone();
    assert_eq!(context, json!({ "workCompleted": "It\n\"works\"", "x": 1 }));
    let command = desk
        .chorus(update.into_iter().chain(["-", "--merge"]))
        .input(r#"{"x": null, "attempts": 2}"#);
    transcript(command).await.unwrap();
    let context = desk.task(&id).await["agentContext"].clone();
    assert_eq!(
        context,
        json!({ "workCompleted": "It\n\"works\"", "attempts": 2 })
    );
    desk.run(update.into_iter().chain([r#"{"attempts": 3}"#]))
        .await;
    let context = desk.task(&id).await["agentContext"].clone();
    assert_eq!(context, json!({ "attempts": 3 }));
}

#[tokio::test]
async fn invalid_json_is_a_usage_error_that_names_the_place() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    let seen = desk
        .run([
            "task",
            "edit",
            &id,
            "--agent-context",
            "{\"a\": 1,\n \"b\" 2}",
        ])
        .await;
    assert_snapshot!(seen, @"
    exit 2
    --- stdout
    --- stderr
    error: --agent-context is not JSON: expected `:` at line 2 column 6
    hint: write the object itself, @FILE to read a file, or - to read standard input
    ");
    let seen = desk
        .run(["task", "edit", &id, "--handoff-instructions", "[]"])
        .await;
    assert_snapshot!(seen, @r#"
    exit 2
    --- stdout
    --- stderr
    error: --handoff-instructions must be a JSON object such as {"key": "value"}
    "#);
    let seen = desk
        .run(["task", "edit", &id, "--agent-context", "@/no/such/file"])
        .await;
    assert_snapshot!(seen, @"
    exit 2
    --- stdout
    --- stderr
    error: --agent-context: cannot read /no/such/file: No such file or directory (os error 2)
    ");
    assert_snapshot!(desk.run(["task", "edit", &id]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: no field is given: set one, such as --agent-role ROLE
    hint: `chorus task edit --help` lists the fields
    ");
    assert_snapshot!(desk.run(["task", "edit", &id, "--agent-role", "No Role"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'No Role' for '--agent-role <ROLE>': must be a role such as `testing`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["task", "edit", &id, "--depends-on", "x:done"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'x:done' for '--depends-on <TASK[:OUTCOME]>': the outcome after the colon must be completed, failed or any

    For more information, try '--help'.
    ");
    for wrong in [
        ["--tags", "a,,b"],
        ["--tags", "two words"],
        ["--estimated-duration", "0"],
        ["--estimated-duration", "soon"],
        ["--priority", "5"],
        ["--priority", ""],
        ["--depends-on", "a b"],
        ["--depends-on", ":any"],
    ] {
        for command in [vec!["task", "edit", &id], vec!["task", "create", "d"]] {
            let seen = desk.run(command.into_iter().chain(wrong)).await;
            assert!(
                seen.starts_with("exit 2\n--- stdout\n--- stderr\nerror: invalid value"),
                "{wrong:?} {seen}"
            );
        }
    }
    let seen = desk.run(["task", "list", "--agent-role", "X"]).await;
    assert!(seen.starts_with("exit 2"), "{seen}");
    assert_eq!(
        desk.app
            .get("/api/tasks")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_refusal_of_the_server_is_printed() {
    let desk = Desk::open().await;
    let [a, b, c] = [
        desk.app.task("a").await,
        desk.app.task("b").await,
        desk.app.task("c").await,
    ];
    assert_snapshot!(desk.run(["task", "edit", "nope", "--priority", "1"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "edit", &a, "--depends-on", "nope"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --depends-on: task nope does not exist
    ");
    assert_snapshot!(desk.run(["task", "edit", &a, "--agent-context", r#"{"attempts": "many"}"#]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --agent-context attempts: must be a number, 0 or more
    ");
    desk.run(["task", "edit", &b, "--depends-on", &a]).await;
    desk.run(["task", "edit", &c, "--depends-on", &b]).await;
    assert_snapshot!(desk.run(["task", "edit", &a, "--depends-on", &c]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: dependsOn: the dependencies would form a cycle: <id 1> → <id 2> → <id 3> → <id 1>. Remove one of them
    ");
    let nobody = Chorus::new([
        "task",
        "edit",
        &a,
        "--priority",
        "1",
        "--url",
        "http://127.0.0.1:1",
    ]);
    let seen = transcript(nobody).await.unwrap();
    assert!(seen.starts_with("exit 5"), "{seen}");
}

#[tokio::test]
async fn a_list_has_columns_for_roles_and_held_tasks_only_if_there_are_any() {
    let desk = Desk::with_agents(&[("ada", &["implementation"], &["rust"])]).await;
    desk.make(["task", "create", "Plain"]).await;
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Plain
    --- stderr
    ");
    desk.make([
        "task",
        "create",
        "Make it",
        "--agent-role",
        "implementation",
        "--tags",
        "rust",
    ])
    .await;
    let lost = desk
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
    let blocked = desk
        .make(["task", "create", "Hard", "--agent-role", "implementation"])
        .await;
    let seen = desk.run(["task", "route", &lost]).await;
    assert!(seen.starts_with("exit 4"), "{seen}");
    desk.run(["task", "route", &blocked]).await;
    desk.run(["cancel", &blocked, "--reason", "Not\nnow"]).await;
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Plain	-	-
    <id 2>	pending	-	2026-01-01 00:00:00	Make it	implementation	-
    <id 3>	pending	-	2026-01-01 00:00:00	Test it	testing	waits: No available agent has the role testing and one of the skills rust, qa
    <id 4>	waiting	-	2026-01-01 00:00:00	Hard	implementation	blocked: Cancelled: Not now
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "list", "--agent-role", "testing"]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Test it	testing	waits: No available agent has the role testing and one of the skills rust, qa
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "list", "--tags", "QA,other"]).await, @"
    exit 0
    --- stdout
    <id 1>	pending	-	2026-01-01 00:00:00	Test it	testing	waits: No available agent has the role testing and one of the skills rust, qa
    --- stderr
    ");
    assert_snapshot!(desk.run(["task", "show", &lost]).await, @"
    exit 0
    --- stdout
    task       <id 1>
    status     pending
    agent      -
    created    2026-01-01 00:00:00
    updated    2026-01-01 00:00:00
    source     cli (tester)
    workspace  <tmp>/workspaces/<id 1>
    role       testing
    waits      No available agent has the role testing and one of the skills rust, qa

    Test it
    --- stderr
    ");
    let seen = desk.run(["task", "show", &blocked]).await;
    assert!(
        seen.contains("\nrole       implementation\nblocked    Cancelled: Not now\n"),
        "{seen}"
    );
}

#[tokio::test]
async fn a_task_is_shown_in_full() {
    let desk = Desk::with_agents(&[("ada", &["implementation"], &[])]).await;
    let first = desk.app.task("First\nof all").await;
    let second = desk.app.task("Second").await;
    let any = format!("{second}:any");
    desk.app
        .put(
            &format!("/api/tasks/{first}/status"),
            json!({ "status": "completed" }),
        )
        .await
        .data();
    let id = desk
        .make([
            "task",
            "create",
            "Make \"it\"",
            "--agent-role",
            "implementation",
            "--tags",
            "rust,sql",
            "--estimated-duration",
            "90",
            "--priority",
            "0",
            "--depends-on",
            &first,
            "--depends-on",
            &any,
            "--agent-context",
            r#"{"knownIssues": ["a", {"b": "line\nbreak"}]}"#,
            "--handoff-instructions",
            r#"{"notes": "\u001b[2J"}"#,
        ])
        .await;
    assert_snapshot!(desk.run(["task", "show", &id, "--full"]).await, @r#"
    exit 0
    --- stdout
    task       <id 1>
    status     pending
    agent      -
    created    2026-01-01 00:00:00
    updated    2026-01-01 00:00:00
    source     cli (tester)
    workspace  <tmp>/workspaces/<id 2>
    role       implementation
    tags       rust, sql
    estimate   90 min
    priority   0
    attempts   0

    Make "it"

    Waits for
      <id 2>  completed (must be completed)  First of all
      <id 3>  pending (must have ended)  Second

    Context from earlier work
      {
        "knownIssues": [
          "a",
          {
            "b": "line\nbreak"
          }
        ]
      }

    Instructions for this task
      {
        "notes": "\u001b[2J"
      }
    --- stderr
    "#);
    let plain = desk.app.task("Plain").await;
    assert_snapshot!(desk.run(["task", "show", &plain, "--full"]).await, @"
    exit 0
    --- stdout
    task       <id 1>
    status     pending
    agent      -
    created    2026-01-01 00:00:00
    updated    2026-01-01 00:00:00
    source     api
    workspace  <tmp>/workspaces/<id 1>
    role       -
    tags       -
    estimate   -
    priority   2
    attempts   0

    Plain
    --- stderr
    ");
    let with = desk.run(["task", "show", &id, "--full", "--json"]).await;
    assert_eq!(with, desk.run(["task", "show", &id, "--json"]).await);
}
