//! The worked examples of roles, step by step, with our commands: the fields of a task, the roles file, an increment that passes, and one
//! whose test fails and is fixed, with the mail that each agent gets.

use serde_json::{Value, json};

use super::worked_examples::{get, output_of};
use crate::support::{Events, Sandbox, Server};

/// The roles file, with the programs that stand for the agents.
const ROLES: &str = "
agent_roles:
  implementation-specialist:
    skills: [python, javascript, coding, refactoring]
    typical_tasks: [implementation, coding, feature-work]
    max_session_duration: 120  # minutes before context risk
    responsibilities: \"Write code to meet acceptance criteria\"
    program: implement

  testing-specialist:
    skills: [testing, validation, qa, automation]
    typical_tasks: [testing, verification, validation]
    max_session_duration: 60
    responsibilities: \"Run tests, verify acceptance criteria, document failures\"
    program: run-test

  fixing-specialist:
    skills: [debugging, troubleshooting, problem-solving]
    typical_tasks: [bug-fixes, error-handling, patches]
    max_session_duration: 90
    responsibilities: \"Investigate failures, implement fixes, ensure tests pass\"
    program: fix

  verification-specialist:
    skills: [review, validation, approval]
    typical_tasks: [verification, sign-off, approval]
    max_session_duration: 30
    responsibilities: \"Review test results, confirm quality, approve next increment\"
    program: verify
";

/// Runs a command and returns the `data` of its JSON.
fn data(server: &Server, arguments: &[&str]) -> Value {
    let output = output_of(server.chorus(arguments.iter().copied().chain(["--json"])));
    serde_json::from_str::<Value>(&output).unwrap()["data"].take()
}

fn ids(tasks: &Value) -> Vec<&str> {
    let tasks = tasks.as_array().unwrap().iter();
    tasks.map(|task| task["id"].as_str().unwrap()).collect()
}

/// Serves the four specialists. The first implementation is right if `is_right`.
async fn serve(sandbox: Sandbox, is_right: bool) -> (Sandbox, Server, Events) {
    let script = if is_right { "exit 0" } else { "test -e fixed" };
    // The implementer stores its context in the task, and passes nothing else on.
    let implement = format!(
        r#"printf '#!/bin/sh\n{script}\n' >test-operating-mode.sh; chmod +x test-operating-mode.sh
        chorus task edit "$CHORUS_TASK_ID" --agent-context '{{
          "previousAgent": "implementation-specialist",
          "workCompleted": "MCP client registration added to orchestrator",
          "filesModified": ["droids/orchestrator.md:465-480"],
          "testCommand": "./test-operating-mode.sh",
          "implementationNotes": "Graceful degradation tested, works when MCP unavailable",
          "knownIssues": [],
          "attempts": 0
        }}' >/dev/null
        echo 'Implementation complete.'"#
    );
    // The test command comes with the task; the tester stores the result and the failure only.
    let test = r#"command=$(chorus task show "$CHORUS_TASK_ID" --json | jq -r .data.handoffInstructions.testCommand)
        if $command; then echo '{"result": "passed", "summary": "All tests pass"}'
        else echo '{"result": "failed", "summary": "The mode is not detected", "details": "Run ./test-operating-mode.sh: exit code 1"}'; fi"#;
    let fix = r#"touch fixed; echo '{"result": "passed", "summary": "The mode is detected now", "agentContext": {"filesModified": ["mode.sh"]}}'"#;
    let verify = r#"echo '{"result": "passed", "summary": "Approved"}'"#;
    let sandbox = sandbox
        .with_program("implement", &implement)
        .with_program("run-test", test)
        .with_program("fix", fix)
        .with_program("verify", verify);
    let server = sandbox.serve(2);
    let file = sandbox.path("AGENT_ROLES.yaml");
    std::fs::write(&file, ROLES).unwrap();
    output_of(server.chorus([
        "agent",
        "import",
        file.to_str().unwrap(),
        "--provider",
        "command",
    ]));
    let events = Events::listen(&server.client()).await;
    (sandbox, server, events)
}

/// Creates the increment of the example. Returns its id.
fn create_increment(server: &Server, title: &str, more: &[&str]) -> String {
    let arguments = [
        "increment",
        "create",
        title,
        "--description",
        "Add code to detect Spec-Fed vs Direct mode",
        "--test-command",
        "./test-operating-mode.sh",
        "--tags",
        "python",
    ];
    let made = output_of(server.chorus(arguments.into_iter().chain(more.iter().copied())));
    made.trim().to_owned()
}

/// Lists the tasks of an increment in the order in which agents worked: title, agent, status.
async fn worked(server: &Server, increment: &str) -> Vec<String> {
    let increment = get(&server.client(), &format!("/api/increments/{increment}")).await;
    let mut tasks = increment["tasks"].as_array().unwrap().clone();
    tasks.sort_by_key(|task| task["agentChain"][0]["startedAt"].as_i64());
    tasks
        .iter()
        .map(|task| {
            let title = task["description"]
                .as_str()
                .unwrap()
                .lines()
                .next()
                .unwrap();
            let agent = task["agentChain"][0]["agentName"].as_str().unwrap();
            let from = task["agentChain"][0]["fromAgent"].as_str().unwrap_or("-");
            let status = task["status"]["type"].as_str().unwrap();
            format!("{title}: {from} > {agent} {status}")
        })
        .collect()
}

/// Lists the mail of the router about the hand-offs, oldest first.
async fn mail(server: &Server) -> Vec<Value> {
    let mail = get(&server.client(), "/api/mail?from=router").await;
    mail.as_array().unwrap().clone()
}

fn summary(mail: &Value) -> String {
    format!(
        "{} {} to {}",
        mail["type"].as_str().unwrap(),
        mail["handoffType"].as_str().unwrap_or("-"),
        mail["to"][0].as_str().unwrap()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_has_the_fields_of_the_schema_and_the_commands_change_them() {
    let (sandbox, _, _) = serve(Sandbox::new(), true).await;
    // Nothing is routed while the commands are tried.
    let server = sandbox.serve_with(2, &["--port", "0", "--no-route"]);
    let title = "Task 1.1: Detect operating mode";
    let id = output_of(server.chorus(["task", "create", title]));
    let id = id.trim();
    let edit = |option: &str, value: &str| {
        data(&server, &["task", "edit", id, option, value]);
    };
    edit(
        "--agent-context",
        r#"{"previousAgent": "me", "workCompleted": "X"}"#,
    );
    edit(
        "--handoff-instructions",
        r#"{"nextRole": "testing", "notes": "Run test-x.sh"}"#,
    );
    edit("--tags", "python,mcp,orchestrator");
    edit("--estimated-duration", "120");
    edit("--agent-role", "implementation");
    let merge = [
        "task",
        "edit",
        id,
        "--agent-context",
        r#"{"testStatus": "pending", "knownIssues": []}"#,
        "--merge",
    ];
    let task = data(&server, &merge);
    let keys = [
        "description",
        "priority",
        "agentRole",
        "agentContext",
        "handoffInstructions",
        "specialistTags",
        "estimatedDuration",
        "parentId",
    ];
    let shown: Vec<_> = keys.iter().map(|key| task[key].clone()).collect();
    assert_eq!(
        shown,
        [
            json!(title),
            json!(2),
            json!("implementation"),
            json!({ "previousAgent": "me", "workCompleted": "X", "testStatus": "pending", "knownIssues": [] }),
            json!({ "nextRole": "testing", "notes": "Run test-x.sh" }),
            json!(["python", "mcp", "orchestrator"]),
            json!(120),
            Value::Null,
        ]
    );
    let full = output_of(server.chorus(["task", "show", id, "--full"]));
    for part in [
        "Run test-x.sh",
        "workCompleted",
        "python, mcp, orchestrator",
    ] {
        assert!(full.contains(part), "{part}\nis not in\n{full}");
    }
    let other = output_of(server.chorus([
        "task",
        "create",
        "Test it",
        "--agent-role",
        "testing",
        "--tags",
        "testing",
    ]));
    for (arguments, expected) in [
        (["task", "list", "--agent-role", "implementation"], id),
        (["task", "list", "--tags", "testing"], other.trim()),
        (
            ["task", "ready", "--as", "testing-specialist"],
            other.trim(),
        ),
        (["task", "ready", "--as", "implementation-specialist"], id),
    ] {
        let tasks = data(&server, &arguments);
        assert_eq!(ids(&tasks), [expected], "{arguments:?}");
    }
    // The agents of the roles file, with what each is for.
    let agent = data(&server, &["agent", "show", "testing-specialist"]);
    let described = ["roles", "skills", "maxSessionDuration", "responsibilities"];
    let described: Vec<_> = described.iter().map(|key| agent[key].clone()).collect();
    assert_eq!(
        described,
        [
            json!(["testing", "verification", "validation"]),
            json!(["testing", "validation", "qa", "automation"]),
            json!(60),
            json!("Run tests, verify acceptance criteria, document failures"),
        ]
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_increment_is_implemented_tested_and_verified_and_the_next_one_follows() {
    let (sandbox, server, mut events) = serve(Sandbox::new(), true).await;
    let first = create_increment(&server, "Task 1.1: Detect operating mode", &[]);
    let next = ["--depends-on", &first];
    let second = create_increment(&server, "Task 1.2: Register orchestrator", &next);
    events.wait_for("increment_done", &second).await;
    for (increment, title, before) in [
        (&first, "Task 1.1: Detect operating mode", "-"),
        (
            &second,
            "Task 1.2: Register orchestrator",
            "verification-specialist",
        ),
    ] {
        assert_eq!(
            worked(&server, increment).await,
            [
                format!("{title}: {before} > implementation-specialist completed"),
                format!("TEST: {title}: implementation-specialist > testing-specialist completed"),
                format!("VERIFY: {title}: testing-specialist > verification-specialist completed"),
            ]
        );
    }
    let increment = get(&server.client(), &format!("/api/increments/{first}")).await;
    let needs = increment["tasks"].as_array().unwrap().iter().map(|task| {
        json!([
            task["agentRole"],
            task["estimatedDuration"],
            task["specialistTags"]
        ])
    });
    assert_eq!(
        needs.collect::<Vec<_>>(),
        [
            json!([
                "implementation",
                120,
                ["python", "implementation", "coding"]
            ]),
            json!(["testing", 30, ["python", "testing", "validation", "qa"]]),
            json!([
                "verification",
                15,
                ["python", "verification", "review", "approval"]
            ]),
        ]
    );
    let mail = mail(&server).await;
    let of_first: Vec<_> = mail[..3].iter().map(summary).collect();
    assert_eq!(
        of_first,
        [
            "assignment - to implementation-specialist",
            "task_handoff implementation_to_testing to testing-specialist",
            "verification_request testing_to_verification to verification-specialist",
        ]
    );
    // The message of a hand-off, field by field. The context is what the implementer stored, and the command to run.
    let message = &mail[1];
    let fields = [
        "version",
        "from",
        "taskId",
        "previousAttempts",
        "urgency",
        "subject",
    ];
    let fields: Vec<_> = fields.iter().map(|key| message[key].clone()).collect();
    assert_eq!(
        fields,
        [
            json!("1.0.0"),
            json!("router"),
            increment["tasks"][1]["id"].clone(),
            json!(0),
            json!("normal"),
            json!("TEST: Task 1.1: Detect operating mode"),
        ]
    );
    assert!(message["sentAt"].is_i64() && message["handoffId"].is_string());
    assert_eq!(
        message["context"],
        json!({
            "role": "testing", "estimatedDuration": 30, "previousAgent": "implementation-specialist",
            "workCompleted": "MCP client registration added to orchestrator",
            "filesModified": ["droids/orchestrator.md:465-480"], "testCommand": "./test-operating-mode.sh",
            "implementationNotes": "Graceful degradation tested, works when MCP unavailable", "knownIssues": [],
            "attempts": 0, "nextRole": "verification", "testStatus": "pending",
        })
    );
    // No agent carries more than about 2 KB.
    assert!(
        mail.iter()
            .all(|mail| mail["context"].to_string().len() < 2048)
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_test_is_handed_to_the_fixing_specialist_and_tested_again() {
    let (sandbox, server, mut events) = serve(Sandbox::new(), false).await;
    let title = "Task 1.1: Detect operating mode";
    let id = create_increment(&server, title, &[]);
    events.wait_for("increment_done", &id).await;
    assert_eq!(
        worked(&server, &id).await,
        [
            format!("{title}: - > implementation-specialist completed"),
            format!("TEST: {title}: implementation-specialist > testing-specialist failed"),
            format!("FIX: {title}: testing-specialist > fixing-specialist completed"),
            format!("TEST: {title}: fixing-specialist > testing-specialist completed"),
            format!("VERIFY: {title}: testing-specialist > verification-specialist completed"),
        ]
    );
    let mail = mail(&server).await;
    let all: Vec<_> = mail.iter().map(summary).collect();
    assert_eq!(
        all,
        [
            "assignment - to implementation-specialist",
            "task_handoff implementation_to_testing to testing-specialist",
            "test_failure_report testing_to_fixing to fixing-specialist",
            "fix_complete fixing_to_testing to testing-specialist",
            "verification_request testing_to_verification to verification-specialist",
        ]
    );
    // The failure travels to the fixer, and the fix back to the tester.
    let failure = &mail[2]["context"];
    assert_eq!(
        failure["knownIssues"],
        json!([
            "The mode is not detected",
            "Run ./test-operating-mode.sh: exit code 1"
        ])
    );
    assert_eq!(failure["testStatus"], "failed");
    let again = &mail[3];
    assert_eq!(
        again["context"]["workCompleted"],
        "The mode is detected now"
    );
    assert_eq!(again["context"]["filesModified"], json!(["mode.sh"]));
    assert_eq!(again["previousAttempts"], 1);
    // The figures show the pairs of the scenario, and whose work was done again.
    let figures = data(&server, &["stats"]);
    let pair = |from: &str, to: &str| {
        let mut pairs = figures["pairs"].as_array().unwrap().iter();
        let found = pairs.find(|pair| pair["fromAgent"] == from && pair["toAgent"] == to);
        found.map(|pair| pair["handoffs"].clone())
    };
    assert_eq!(
        pair("implementation-specialist", "testing-specialist"),
        Some(json!(1))
    );
    assert_eq!(
        pair("testing-specialist", "fixing-specialist"),
        Some(json!(1))
    );
    let mut agents = figures["agents"].as_array().unwrap().iter();
    let implementer = agents.find(|agent| agent["agentName"] == "implementation-specialist");
    assert_eq!(
        implementer.unwrap()["quality"]["rework"]["rate"],
        json!(1.0)
    );
    sandbox.assert_invariants();
}
