//! `chorus task report`

use chorus::domain::Handoff;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Desk;
use crate::support::{Sandbox, Server, redact, run_agent};

#[tokio::test]
async fn a_report_outside_of_a_run_is_refused_with_a_hint() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["task", "report", "passed"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: `chorus task report` works only inside a run, which has CHORUS_TASK_ID and CHORUS_TOKEN
    hint: outside a run, set the status: chorus task status TASK completed|failed
    ");
    let alone = desk
        .chorus(["task", "report", "passed"])
        .env("CHORUS_TASK_ID", "t");
    assert!(alone.transcript().starts_with("exit 2"));
    assert_snapshot!(desk.run(["task", "report", "fine"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'fine' for '<RESULT>'
      [possible values: passed, failed, blocked]

      tip: a similar value exists: 'failed'

    For more information, try '--help'.
    ");
}

async fn task_of(server: &Server, handoff: &Handoff) -> Value {
    let path = format!("/api/tasks/{}", handoff.task_id);
    server
        .client()
        .get(&path, &[])
        .await
        .unwrap()
        .data()
        .unwrap()
}

#[tokio::test]
async fn an_agent_reports_with_details_and_context() {
    let script = r#"
        chorus task report failed --summary "2 of 9 \"fail\"" --details '{"log": ["a"]}' --agent-context '{"filesModified": ["a.rs"]}'
        echo "as JSON: $(chorus task report failed --details '[1' --json | cut -c1-8)"
        echo "from a pipe" | chorus task report blocked --summary - --details plain
    "#;
    let sandbox = Sandbox::new().with_agent("tess", script);
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "tess").await;
    assert_snapshot!(redact(handoff.output.as_str()), @r#"
    failed: 2 of 9 "fail"
    as JSON: {"data":
    blocked: from a pipe
    "#);
    let task = task_of(&server, &handoff).await;
    assert_eq!(task["agentContext"], json!({ "filesModified": ["a.rs"] }));
    let reports = sandbox.query("SELECT result || ': ' || summary || details FROM reports");
    assert_eq!(reports, "blocked: from a pipe\n\"plain\"");
    let told =
        sandbox.query("SELECT group_concat(data, ' ') FROM events WHERE type = 'report_given'");
    assert!(told.contains(r#"2 of 9 \"fail\""#), "{told}");
}

#[tokio::test]
async fn a_bad_report_is_refused_and_says_why() {
    let script = r#"
        try() { "$@" 2>&1; echo "exit $?"; }
        try chorus task report passed --agent-context '{"a": }'
        try chorus task report passed --agent-context '{"attempts": "many"}'
        CHORUS_TASK_ID=nope try chorus task report passed
        CHORUS_HANDOFF_ID= CHORUS_URL=http://127.0.0.1:1 try chorus task report passed
    "#;
    let sandbox = Sandbox::new().with_agent("tess", script);
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "tess").await;
    assert_snapshot!(redact(handoff.output.as_str()), @"
    error: --agent-context is not JSON: expected value at line 1 column 7
    hint: write the object itself, @FILE to read a file, or - to read standard input
    exit 2
    error: --agent-context attempts: must be a number, 0 or more
    exit 2
    error: Task not found: nope
    exit 3
    error: cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    hint: start a server with `chorus serve`, or name another one with --url or CHORUS_URL
    exit 5
    ");
    assert_eq!(sandbox.query("SELECT count(*) FROM reports"), "0");
}

#[tokio::test]
async fn a_report_by_command_counts_more_than_one_in_the_last_message() {
    let sandbox = Sandbox::new().with_specialist(
        "tess",
        "testing",
        &[],
        r#"chorus task report failed --summary "It breaks" >&2; echo '{"result": "passed"}'"#,
    );
    let server = sandbox.serve_with(1, &["--port", "0", "--no-route"]);
    let made = server
        .chorus(["task", "create", "Test it", "--agent-role", "testing"])
        .output();
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let routed = server.chorus(["task", "route", &id]).transcript();
    assert!(routed.starts_with("exit 0"), "{routed}");
    let client = server.client();
    let path = format!("/api/tasks/{id}");
    let idle = [("wait", "idle".to_owned()), ("timeout", "60".to_owned())];
    let task: Value = client.get(&path, &idle).await.unwrap().data().unwrap();
    assert_eq!(
        task["status"],
        json!({ "type": "failed", "message": "It breaks" })
    );
}
