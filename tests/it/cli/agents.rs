//! `chorus agent`

use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};

#[tokio::test]
async fn agents_are_listed_and_shown() {
    let desk = Desk::open().await;
    let offered = json!({ "roles": ["testing"], "skills": ["qa", "python"], "available": false });
    desk.app
        .operator()
        .post("/api/agents/qa/capabilities", offered)
        .await
        .data();
    assert_snapshot!(desk.run(["agent", "list"]).await, @"
    exit 0
    --- stdout
    developer	claude-code	yes			acceptEdits	Read Glob Grep Edit(./**) Write(./**) Bash
    developer-review	claude-code	yes			default	Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(git diff *) Bash(git log *) Bash(git show *) Bash(git status *)
    orchestrator	claude-code	yes			default	Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)
    planner	claude-code	yes			default	Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)
    qa	claude-code	no	testing	qa python	default	Read Glob Grep Bash
    --- stderr
    ");
    assert_snapshot!(desk.run(["agent", "show", "planner"]).await, @"
    exit 0
    --- stdout
    agent        planner
    provider     claude-code
    available    yes
    spec         agents/planner.md
    permissions  default
    tools        Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)
    --- stderr
    ");
    assert_snapshot!(desk.run(["agent", "show", "no/body"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: no/body
    hint: `chorus agent list` lists the agents
    ");
}

#[tokio::test]
async fn an_agent_is_made_shown_changed_and_deleted() {
    let desk = Desk::open().await;
    let add = [
        "agent",
        "create",
        "reviewer",
        "--provider",
        "command",
        "--program",
        "/bin/sh",
        "--arg",
        "-c",
        "--arg",
        "echo 'a, b'",
        "--env",
        "LANG=C=D",
        "--allowed-tools",
        "Read Grep",
        "--permission-mode",
        "plan",
        "--model",
        "small",
        "--output-form",
        "last_line",
        "--max-seconds",
        "60",
        "--idle-seconds",
        "30",
        "--roles",
        "verification,testing",
        "--skills",
        "Rust,c++",
        "--skills",
        "go",
        "--max-session-duration",
        "45",
        "--responsibilities",
        "Reads changes\nand says so",
        "--isolation",
        "masked",
        "--unavailable",
    ];
    assert_snapshot!(desk.run(add).await, @"
    exit 0
    --- stdout
    reviewer created
    --- stderr
    ");
    assert_eq!(
        desk.app.operator().get("/api/agents/reviewer").await.data(),
        json!({
            "name": "reviewer", "specPath": "", "allowedTools": "Read Grep", "permissionMode": "plan", "provider": "command",
            "model": "small", "program": "/bin/sh", "arguments": ["-c", "echo 'a, b'"], "environment": { "LANG": "C=D" },
            "outputForm": "last_line", "maxSeconds": 60, "idleSeconds": 30, "available": false,
            "roles": ["verification", "testing"], "skills": ["rust", "c++", "go"], "maxSessionDuration": 45,
            "responsibilities": "Reads changes\nand says so", "isolation": "masked",
        })
    );
    assert_snapshot!(desk.run(["agent", "show", "reviewer"]).await, @r#"
    exit 0
    --- stdout
    agent        reviewer
    provider     command
    available    no
    permissions  plan
    tools        Read Grep
    model        small
    program      /bin/sh
    arguments    "-c" "echo 'a, b'"
    output       last_line
    max time     60 s
    max silence  30 s
    isolation    masked
    roles        verification testing
    skills       rust c++ go
    max session  45 minutes
    environment  LANG=C=D

    Reads changes
    and says so
    --- stderr
    "#);
    // Adding does not change what is there.
    let again = ["agent", "create", "Reviewer", "--roles", "fixing"];
    assert_snapshot!(desk.run(again).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Agent already exists: reviewer. Edit it, or choose another name
    ");

    let edit = [
        "agent",
        "edit",
        "Reviewer",
        "--available",
        "true",
        "--roles",
        "fixing",
        "--clear",
        "model,skills",
        "--clear",
        "max-session-duration",
    ];
    assert_snapshot!(desk.run(edit).await, @"
    exit 0
    --- stdout
    reviewer changed
    --- stderr
    ");
    let changed = desk.app.operator().get("/api/agents/reviewer").await.data();
    for (key, value) in [
        ("available", json!(true)),
        ("roles", json!(["fixing"])),
        ("model", json!(null)),
        ("skills", json!([])),
        ("maxSessionDuration", json!(null)),
        ("maxSeconds", json!(60)),
    ] {
        assert_eq!(changed[key], value, "{key}");
    }
    assert_snapshot!(desk.run(["agent", "edit", "nobody", "--roles", "fixing"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: nobody
    hint: `chorus agent list` lists the agents
    ");
    assert_snapshot!(desk.run(["agent", "edit", "reviewer", "--clear", "program"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --program: is required for the provider command
    ");
    assert_snapshot!(desk.run(["agent", "rm", "reviewer"]).await, @"
    exit 0
    --- stdout
    reviewer deleted
    --- stderr
    ");
    assert_snapshot!(desk.run(["agent", "rm", "reviewer"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: reviewer
    hint: `chorus agent list` lists the agents
    ");
}

#[tokio::test]
async fn an_agent_comes_from_a_file_or_standard_input() {
    let desk = Desk::open().await;
    let folder = desk.app.data_dir.path();
    let json = r#"{ "name": "reviewer", "provider": "command", "program": "true" }"#;
    std::fs::write(folder.join("reviewer.json"), json).unwrap();
    let add = desk.chorus(["agent", "create", "--file", "reviewer.json"]);
    assert_snapshot!(transcript(add.current_dir(folder)).await.unwrap(), @"
    exit 0
    --- stdout
    reviewer created
    --- stderr
    ");
    let edit = desk.chorus(["agent", "edit", "reviewer", "--file", "-"]);
    let edit = edit.input(r#"{ "skills": ["go"], "idleSeconds": 7 }"#);
    assert_snapshot!(transcript(edit).await.unwrap(), @"
    exit 0
    --- stdout
    reviewer changed
    --- stderr
    ");
    let changed = desk.app.operator().get("/api/agents/reviewer").await.data();
    assert_eq!(
        (&changed["skills"], &changed["idleSeconds"]),
        (&json!(["go"]), &json!(7))
    );
    // One server takes the agent that another one shows.
    let shown = desk.app.operator().get("/api/agents/reviewer").await.data();
    desk.run(["agent", "rm", "reviewer"]).await;
    let add = desk.chorus(["agent", "create", "reviewer", "--file", "-"]);
    transcript(add.input(&shown.to_string())).await.unwrap();
    assert_eq!(
        desk.app.operator().get("/api/agents/reviewer").await.data(),
        shown
    );
    let nameless = desk.chorus(["agent", "create", "--file", "-"]).input("{}");
    assert_snapshot!(transcript(nameless).await.unwrap(), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the file has no name
    hint: write the name before --file, or as "name" in the file
    "#);
    let other = desk.chorus(["agent", "create", "other", "--file", "-"]);
    assert_snapshot!(transcript(other.input(json)).await.unwrap(), @"
    exit 2
    --- stdout
    --- stderr
    error: NAME: must be other, the name in the path; agents cannot be renamed
    ");
    let unknown = desk.chorus(["agent", "create", "other", "--file", "-"]);
    assert_snapshot!(transcript(unknown.input(r#"{"colour": "red"}"#)).await.unwrap(), @"
    exit 2
    --- stdout
    --- stderr
    error: colour: unknown field `colour`, expected one of `name`, `specPath`, `allowedTools`, `permissionMode`, `provider`, `model`, `program`, `arguments`, `environment`, `outputForm`, `maxSeconds`, `idleSeconds`, `available`, `roles`, `skills`, `maxSessionDuration`, `responsibilities`, `isolation`
    ");
}

#[tokio::test]
async fn invalid_arguments_of_an_agent_are_refused() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["agent", "create", "x", "--provider", "gpt"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'gpt' for '--provider <PROVIDER>': write one of claude-code, codex, opencode, gemini, command

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["agent", "create", "x", "--roles", "Not a role"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'Not a role' for '--roles <ROLE>': must be a role such as `testing`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["agent", "create", "x", "--env", "novalue"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'novalue' for '--env <NAME=VALUE>': write NAME=VALUE, such as LANG=C

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["agent", "create", "x", "--max-session-duration", "0"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value '0' for '--max-session-duration <MINUTES>': must be a number of minutes, 1 to 525600

    For more information, try '--help'.
    ");
    for wrong in [
        &["agent", "create"][..],
        &["agent", "create", "x", "--model", "m", "--file", "-"],
        &["agent", "edit", "qa"],
        &["agent", "edit", "qa", "--clear", "name"],
        &["agent", "capabilities", "qa"],
        &["agent", "capabilities", "--roles", "testing"],
    ] {
        let shown = desk.run(wrong.iter().copied()).await;
        assert!(shown.starts_with("exit 2\n"), "{wrong:?}\n{shown}");
    }
    // Facts that only the server knows.
    assert_snapshot!(desk.run(["agent", "create", "operator", "--provider", "command", "--program", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: NAME: operator is reserved; choose another name
    ");
    assert_snapshot!(desk.run(["agent", "create", "../x", "--provider", "command", "--program", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: NAME: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`
    ");
    assert_snapshot!(desk.run(["agent", "create", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --spec: Spec agents/x.md of agent x does not exist; create <tmp>/agents/x.md
    ");
}

#[tokio::test]
async fn an_agent_declares_its_own_capabilities() {
    let desk = Desk::open().await;
    let token = "the-token-of-a-run";
    let task = desk.app.task("Write it").await;
    let body = json!({ "agentName": "qa", "prompt": "Test it" });
    let path = format!("/api/tasks/{task}/handoff");
    desk.app.post(&path, body).await.data();
    desk.app.claim_run(token).await;
    let inside = |arguments: &[&'static str]| {
        let command = desk.chorus(arguments.iter().copied());
        transcript(command.env("CHORUS_AGENT", "qa").env("CHORUS_TOKEN", token))
    };
    let offer = [
        "agent",
        "capabilities",
        "--roles",
        "testing",
        "--skills",
        "qa,python",
        "--max-session-duration",
        "20",
    ];
    assert_snapshot!(inside(&offer).await.unwrap(), @"
    exit 0
    --- stdout
    qa changed
    --- stderr
    ");
    let qa = desk.app.get("/api/agents/qa").await.data();
    assert_eq!(
        (&qa["roles"], &qa["skills"], &qa["maxSessionDuration"]),
        (&json!(["testing"]), &json!(["qa", "python"]), &json!(20))
    );
    let raise = ["agent", "capabilities", "--max-session-duration", "21"];
    assert_snapshot!(inside(&raise).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: A run of qa may lower its maxSessionDuration of 20 minutes, but not raise or remove it. Leave that to the operator
    ");
    let other = ["agent", "capabilities", "planner", "--roles", "testing"];
    assert_snapshot!(inside(&other).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: A run of qa may change only its own agent, qa, not planner
    ");
    // Deleting an agent that works is refused, and says why.
    assert_snapshot!(desk.run(["agent", "rm", "qa"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Agent qa is in use by task <id 1>. End or change these first
    ");
}

#[tokio::test]
async fn the_provider_of_a_program_is_inferred() {
    let desk = Desk::open().await;
    let create = ["agent", "create", "any", "--program", "/bin/echo"];
    let made = desk.run(create).await;
    assert!(made.starts_with("exit 0\n"), "{made}");
    let agent = desk.app.get("/api/agents/any").await.data();
    assert_eq!(agent["provider"], "command");
    // Only a `command` needs no spec.
    let create = ["agent", "create", "known", "--program", "/opt/bin/codex"];
    let made = desk.run(create).await;
    assert!(made.contains("--spec: Spec agents/known.md"), "{made}");
}

#[tokio::test]
async fn agents_are_imported_from_a_file() {
    let desk = Desk::open().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("roles.yaml");
    let path = file.to_str().unwrap();
    let import = async |text: &str, more: &[&str]| {
        std::fs::write(&file, text).unwrap();
        let arguments = [&["agent", "import", path], more].concat();
        desk.run(arguments).await.replace(path, "FILE")
    };
    let yaml = "agent_roles:\n  qa:\n    skills: [sql]\n    max_session_duration: 60\n  planner: {}\n  scout:\n    typical_tasks: [research]\n    program: /bin/echo\n";
    assert_snapshot!(import(yaml, &[]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: new agents need a provider: scout
    hint: add `provider: claude-code` to each in the file, or give --provider for all of them
    ");
    let with_provider = ["--provider", "command"];
    assert_snapshot!(import(yaml, &[&with_provider[..], &["--dry-run"]].concat()).await, @"
    exit 0
    --- stdout
    planner	unchanged	
    qa	changed	skills maxSessionDuration
    scout	created	
    --- stderr
    dry run: no agent was created or changed
    ");
    assert!(!desk.run(["agent", "list"]).await.contains("scout"));
    assert_snapshot!(import(yaml, &with_provider).await, @"
    exit 0
    --- stdout
    planner	unchanged	
    qa	changed	skills maxSessionDuration
    scout	created	
    --- stderr
    ");
    let again = desk.run(["agent", "import", path]).await;
    assert_eq!(again.matches("\tunchanged\t").count(), 3, "{again}");
    let json = r#"{"agent_roles": {"qa": {"skills": ["sql"], "speed": 3}}}"#;
    let refused = import(json, &[]).await;
    assert!(refused.starts_with("exit 2\n"), "{refused}");
    assert!(
        refused.contains("roles.yaml: unknown field `speed`"),
        "{refused}"
    );
}
