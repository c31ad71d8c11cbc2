//! `chorus tool`

use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};

/// Makes a tool that hands to quality assurance.
async fn tool(desk: &Desk) {
    let made = desk
        .app
        .operator()
        .post(
            "/api/tools",
            json!({
                "name": "to_qa", "description": "When it is written", "targetAgent": "qa",
                "contextVariables": [
                    { "name": "branch", "type": "string", "required": true, "description": "What\nto test" },
                    { "name": "tries", "type": "number" },
                    { "name": "files", "type": "array" },
                ],
                "handoffInstructions": "Be\nstrict",
            }),
        )
        .await;
    made.data();
}

#[tokio::test]
async fn a_tool_is_made_listed_and_shown() {
    let desk = Desk::open().await;
    let create = [
        "tool",
        "create",
        "to_qa",
        "--target",
        "qa",
        "--description",
        "When it is\nwritten",
        "--variable",
        "branch:string!=What = to test",
        "--variable",
        "tries:number",
        "--instructions",
        "Be strict",
        "--allow",
        "developer",
        "--allow",
        "planner",
    ];
    assert_snapshot!(desk.run(create).await, @"
    exit 0
    --- stdout
    to_qa created
    --- stderr
    ");
    assert_eq!(
        desk.app.get("/api/tools/to_qa").await.data(),
        json!({
            "name": "to_qa", "description": "When it is\nwritten", "targetAgent": "qa",
            "contextVariables": [
                { "name": "branch", "type": "string", "required": true, "description": "What = to test" },
                { "name": "tries", "type": "number", "required": false, "description": "" },
            ],
            "handoffInstructions": "Be strict", "allowedAgents": ["developer", "planner"],
        })
    );
    assert_snapshot!(desk.run(create).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Tool already exists: to_qa. Edit it, or choose another name
    ");
    assert_snapshot!(desk.run(["tool", "list"]).await, @"
    exit 0
    --- stdout
    to_qa	qa	branch:string! tries:number	developer planner	When it is written
    --- stderr
    ");
    assert_snapshot!(desk.run(["tool", "list", "--as", "planner"]).await, @"
    exit 0
    --- stdout
    to_qa	When it is written
    --- stderr
    ");
    assert_snapshot!(desk.run(["tool", "list", "--as", "qa"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["tool", "list", "--as", "nobody"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: nobody
    hint: `chorus agent list` lists the agents
    ");
    assert_snapshot!(desk.run(["tool", "show", "to_qa"]).await, @"
    exit 0
    --- stdout
    tool     to_qa
    target   qa
    allowed  developer planner

    When it is
    written

    Variables
      branch:string!  What = to test
      tries:number

    Instructions
    Be strict
    --- stderr
    ");
    assert_snapshot!(desk.run(["tool", "show", "no/where"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Tool not found: no/where
    hint: `chorus tool list` lists the tools
    ");
}

#[tokio::test]
async fn a_whole_tool_comes_from_a_file_or_standard_input() {
    let desk = Desk::open().await;
    let folder = desk.app.data_dir.path();
    let json = r#"{ "name": "to_qa", "description": "d", "targetAgent": "qa" }"#;
    std::fs::write(folder.join("tool.json"), json).unwrap();
    let create = desk.chorus(["tool", "create", "--file", "tool.json"]);
    assert_snapshot!(transcript(create.current_dir(folder)).await.unwrap(), @"
    exit 0
    --- stdout
    to_qa created
    --- stderr
    ");
    let edit = desk.chorus(["tool", "edit", "to_qa", "--file", "-"]);
    let changed = edit.input(&json.replace(r#""d""#, r#""other""#));
    assert_snapshot!(transcript(changed).await.unwrap(), @"
    exit 0
    --- stdout
    to_qa changed
    --- stderr
    ");
    let tool = desk.app.get("/api/tools/to_qa").await.data();
    assert_eq!(tool["description"], "other");
    let create = ["tool", "create", "--file", "-"];
    for (input, bytes) in [("empty", &b""[..]), ("odd", b"{\"name\": \"\xff\"}")] {
        std::fs::write(folder.join(input), bytes).unwrap();
    }
    let file = |name: &str| {
        desk.chorus(["tool", "create", "--file", name])
            .current_dir(folder)
    };
    assert_snapshot!(transcript(file("empty")).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: empty is not JSON: EOF while parsing a value at line 1 column 0
    ");
    assert_snapshot!(transcript(file("odd")).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot read odd: stream did not contain valid UTF-8
    ");
    assert_snapshot!(transcript(file("missing")).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot read missing: No such file or directory (os error 2)
    ");
    let wrong = desk.chorus(create).input(r#"{ "name": 5 }"#);
    assert_snapshot!(transcript(wrong).await.unwrap(), @"
    exit 2
    --- stdout
    --- stderr
    error: NAME: invalid type: integer `5`, expected a string
    ");
    assert_snapshot!(desk.run(["tool", "create", "x", "--file", "-"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the argument '[NAME]' cannot be used with '--file <FILE>'

    Usage: chorus tool create <NAME>

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn omitted_fields_stay_when_a_tool_is_edited() {
    let desk = Desk::open().await;
    tool(&desk).await;
    let before = desk.app.get("/api/tools/to_qa").await.data();
    let edit = [
        "tool",
        "edit",
        "to_qa",
        "--description",
        "Now",
        "--allow",
        "planner",
    ];
    assert_snapshot!(desk.run(edit).await, @"
    exit 0
    --- stdout
    to_qa changed
    --- stderr
    ");
    let mut wanted = before.clone();
    wanted["description"] = "Now".into();
    wanted["allowedAgents"] = json!(["planner"]);
    assert_eq!(desk.app.get("/api/tools/to_qa").await.data(), wanted);
    desk.run([
        "tool",
        "edit",
        "to_qa",
        "--allow-all",
        "--no-variables",
        "--instructions",
        "",
    ])
    .await;
    wanted["allowedAgents"] = json!(null);
    wanted["contextVariables"] = json!([]);
    wanted["handoffInstructions"] = "".into();
    assert_eq!(desk.app.get("/api/tools/to_qa").await.data(), wanted);
    let edit = [
        "tool",
        "edit",
        "to_qa",
        "--target",
        "planner",
        "--variable",
        "a:object",
    ];
    desk.run(edit).await;
    wanted["targetAgent"] = "planner".into();
    wanted["contextVariables"] =
        json!([{ "name": "a", "type": "object", "required": false, "description": "" }]);
    assert_eq!(desk.app.get("/api/tools/to_qa").await.data(), wanted);
    assert_snapshot!(desk.run(["tool", "edit", "to_qa", "--allow", "planner"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: allowedAgents: planner is the target, which cannot hand off to itself
    ");
    assert_snapshot!(desk.run(["tool", "edit", "nope", "--target", "qa"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Tool not found: nope
    hint: `chorus tool list` lists the tools
    ");
    assert_snapshot!(desk.run(["tool", "rm", "to_qa"]).await, @"
    exit 0
    --- stdout
    to_qa deleted
    --- stderr
    ");
    assert_snapshot!(desk.run(["tool", "rm", "to_qa"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Tool not found: to_qa
    hint: `chorus tool list` lists the tools
    ");
}

#[tokio::test]
async fn an_invalid_tool_is_refused_with_the_reason() {
    let desk = Desk::open().await;
    let create = |variable| {
        desk.run([
            "tool",
            "create",
            "Bad",
            "--target",
            "nobody",
            "--description",
            " ",
            "--variable",
            variable,
        ])
    };
    assert_snapshot!(create("a b:string").await, @"
    exit 2
    --- stdout
    --- stderr
    error: NAME: must start with a lowercase letter and contain only lowercase letters, digits and `_`
    ");
    assert_snapshot!(create("a:text").await, @r#"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'a:text' for '--variable <NAME:TYPE[!]=DESCRIPTION>': "text" is not string, number, boolean, object or array

    For more information, try '--help'.
    "#);
    assert_snapshot!(create("a").await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'a' for '--variable <NAME:TYPE[!]=DESCRIPTION>': write NAME:TYPE, such as lead_id:string!=The lead

    For more information, try '--help'.
    ");
    let twice = [
        "tool",
        "create",
        "x",
        "--target",
        "nobody",
        "--description",
        " ",
        "--variable",
        "a:string",
        "--variable",
        "a:string",
    ];
    assert_snapshot!(desk.run(twice).await, @r#"
    exit 2
    --- stdout
    --- stderr
    error: --target: unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa; --description: must say when to use the tool; contextVariables[1].name: "a" is listed twice
    "#);
    assert_snapshot!(desk.run(["tool", "create", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --target <AGENT>
      --description <TEXT>

    Usage: chorus tool create --target <AGENT> --description <TEXT> <NAME>

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["tool", "edit", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <--target <AGENT>|--description <TEXT>|--variable <NAME:TYPE[!]=DESCRIPTION>|--no-variables|--instructions <TEXT>|--allow <AGENT>|--allow-all|--file <FILE>>

    Usage: chorus tool edit <--target <AGENT>|--description <TEXT>|--variable <NAME:TYPE[!]=DESCRIPTION>|--no-variables|--instructions <TEXT>|--allow <AGENT>|--allow-all|--file <FILE>> <TOOL>

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn a_call_passes_control_and_prints_the_child() {
    let desk = Desk::open().await;
    tool(&desk).await;
    let id = desk.app.task("Write it").await;
    let call = [
        "tool",
        "call",
        &id,
        "to_qa",
        r#"{"branch": "main", "tries": 1}"#,
        "--var",
        "tries=2.5",
        "--var",
        r#"files=["a", "b"]"#,
    ];
    let seen = desk.run(call).await;
    assert_snapshot!(seen, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    let tasks = desk.app.get("/api/tasks").await.data();
    assert_eq!(tasks[0]["status"]["type"], "completed");
    assert_eq!(
        (&tasks[1]["parentId"], &tasks[1]["currentAgent"]),
        (&json!(id), &json!("qa"))
    );
    let said = desk
        .app
        .get(&format!("/api/tasks/{id}/conversation"))
        .await
        .data();
    assert_eq!(
        said[0]["data"]["variables"],
        json!({ "branch": "main", "tries": 2.5, "files": ["a", "b"] })
    );
    assert_snapshot!(desk.run(call).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Control of task <id 1> has already moved to qa. This call changed nothing. See `chorus task tree <id 1>`
    ");
}

#[tokio::test]
async fn a_call_that_cannot_be_is_refused_with_all_reasons() {
    let desk = Desk::open().await;
    tool(&desk).await;
    let id = desk.app.task("Write it").await;
    assert_snapshot!(desk.run(["tool", "call", &id, "to_qa"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: branch: is required (string)
    ");
    let call = [
        "tool",
        "call",
        &id,
        "to_qa",
        "--var",
        "tries=many",
        "--var",
        "x=1",
    ];
    assert_snapshot!(desk.run(call).await, @"
    exit 2
    --- stdout
    --- stderr
    error: branch: is required (string); tries: must be a number, not a string; x: is not a variable of to_qa (branch, tries, files)
    ");
    let list = desk.chorus(["tool", "call", &id, "to_qa", "-"]).input("[]");
    assert_snapshot!(transcript(list).await.unwrap(), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the variables are not a JSON object: invalid type: sequence, expected a map at line 1 column 0
    hint: write them as '{"lead_id": "123"}', or one by one with --var lead_id=123
    "#);
    assert_snapshot!(desk.run(["tool", "call", &id, "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Tool not found: nope. Choose one of: to_qa
    hint: `chorus tool list` lists the tools
    ");
    assert_snapshot!(desk.run(["tool", "call", &id, "nope", "--var", "a=b"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Tool not found: nope
    hint: `chorus tool list` lists the tools
    ");
    assert_snapshot!(desk.run(["tool", "call", "nope", "to_qa", r#"{"branch": "b"}"#]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["tool", "call", &id, "to_qa", "--var", "branch"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'branch' for '--var <NAME=VALUE>': write NAME=VALUE, such as lead_id=123

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn a_tool_call_that_waits_prints_the_final_message() {
    let desk = Desk::open().await;
    tool(&desk).await;
    let id = desk.app.task("Write it").await;
    let mut feed = desk.app.engine.feed().follow();
    let call =
        transcript(desk.chorus(["tool", "call", &id, "to_qa", "--var", "branch=b", "--wait"]));
    let child = loop {
        let event = feed.recv().await.unwrap().event.unwrap();
        if event.event_type.as_str() == "agent_handoff_started" {
            break desk.app.get("/api/tasks").await.data()[1]["id"].clone();
        }
    };
    let path = format!("/api/tasks/{}/handoff/complete", child.as_str().unwrap());
    desk.app
        .put(&path, json!({ "output": "All is well" }))
        .await
        .data();
    assert_snapshot!(call.await.unwrap(), @"
    exit 0
    --- stdout
    All is well
    --- stderr
    handed <id 1> to qa (hand-off <id 2>)
    ");
}

#[tokio::test]
async fn a_tool_with_terminal_escapes_is_shown_harmless() {
    let desk = Desk::open().await;
    let evil = "\u{1b}[2J\u{7}red\u{9b}31m\rover";
    let made = desk
        .app
        .operator()
        .post(
            "/api/tools",
            json!({
                "name": "evil", "description": evil, "targetAgent": "qa", "handoffInstructions": evil,
                "contextVariables": [{ "name": "a", "type": "string", "description": evil }],
            }),
        )
        .await;
    made.data();
    let id = desk.app.task("d").await;
    let path = format!("/api/tasks/{id}/tools/evil");
    desk.app.post(&path, json!({ "a": evil })).await.data();
    for command in [
        vec!["tool", "list"],
        vec!["tool", "list", "--as", "planner"],
        vec!["tool", "show", "evil"],
        vec!["tool", "show", evil],
        vec!["tool", "call", evil, evil],
        vec!["task", "conversation", &id],
    ] {
        let seen = desk.run(command.clone()).await;
        let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!seen.contains(is_harmful), "{command:?} {seen:?}");
    }
}
