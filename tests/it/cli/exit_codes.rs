//! Exit codes, which scripts rely on.

use std::os::unix::ffi::OsStrExt;

use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};
use crate::support::Chorus;

#[tokio::test]
async fn two_is_wrong_usage() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["task", "show"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <TASK>

    Usage: chorus task show <TASK>

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["task", "status", "x", "done"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'done' for '<STATUS>'
      [possible values: pending, active, waiting, completed, failed]

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["handoff", "t", "a", "p", "--no-wait", "--timeout", "3"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the argument '--no-wait' cannot be used with '--timeout <SECONDS>'

    Usage: chorus handoff [OPTIONS] [TASK] <AGENT> <PROMPT>

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn three_is_not_found() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["task", "show", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["handoff", "nope", "qa", "p"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["cancel", "../tasks"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: ../tasks
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "list", "--after", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
}

/// A URL parser folds `..` away, even percent-encoded.
#[tokio::test]
async fn a_dot_segment_is_not_found_and_reaches_no_other_path() {
    let desk = Desk::open().await;
    for (command, message) in [
        (&["task", "show", ".."][..], "Task not found: .."),
        (&["tool", "list", "--as", ".."], "Agent not found: .."),
        (&["session", "count", ".."], "Session not found: .."),
        (&["request", "approve", "."], "Request not found: ."),
        (&["agent", "rm", ".."], "Agent not found: .."),
        (&["log", ".."], "Hand-off not found: .."),
        (&["increment", "show", "."], "Increment not found: ."),
        (&["alert", "resolve", "."], "Alert not found: ."),
        (&["mail", "show", "."], "Mail not found: ."),
        (&["tool", "show", ".."], "Tool not found: .."),
        (&["agent", "show", ""], "Agent not found: ''"),
    ] {
        let seen = desk.run(command.iter().copied()).await;
        let expected = format!("exit 3\n--- stdout\n--- stderr\nerror: {message}\nhint: `chorus ");
        assert!(seen.starts_with(&expected), "{command:?}: {seen}");
    }
}

#[tokio::test]
async fn an_id_that_is_too_long_for_a_request_is_wrong_usage() {
    let desk = Desk::open().await;
    let long = "a".repeat(100_000);
    let seen = desk.run(["task", "show", &long]).await;
    assert!(seen.starts_with("exit 2\n"), "{seen}");
    assert!(
        seen.contains("error: An id, a name or a filter is too long: ") && !seen.contains(&long),
        "{seen}"
    );
    let seen = desk.run(["mail", "search", &long]).await;
    assert!(seen.starts_with("exit 2\n"), "{seen}");
}

/// A token that is ignored would make a run act as a person.
#[tokio::test]
async fn a_token_that_cannot_be_sent_is_wrong_usage() {
    let desk = Desk::open().await;
    for token in [&b"abc\nx: y"[..], b"abc\xff", "ü".as_bytes(), b"a b"] {
        for command in [
            &["task", "list"][..],
            &["mail", "send", "qa", "--subject", "s"],
        ] {
            let command = desk.chorus(command.iter().copied());
            let command = command.env("CHORUS_TOKEN", std::ffi::OsStr::from_bytes(token));
            assert_eq!(
                transcript(command).await.unwrap(),
                "exit 2\n--- stdout\n--- stderr\nerror: CHORUS_TOKEN is not a token: a token is one word of ASCII characters\n",
                "{token:?}"
            );
        }
    }
}

#[tokio::test]
async fn four_is_a_conflict() {
    let desk = Desk::open().await;
    let id = desk.app.task("d").await;
    desk.app
        .post(
            &format!("/api/tasks/{id}/handoff"),
            json!({ "agentName": "qa", "prompt": "p" }),
        )
        .await
        .data();
    assert_snapshot!(desk.run(["handoff", &id, "developer", "p"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Agent already active on task: qa
    hint: `chorus task wait <id 1>` waits for that agent, `chorus cancel <id 1>` stops it
    ");
}

#[tokio::test]
async fn five_is_a_server_that_cannot_be_reached() {
    // The port is free: its listener has just stopped.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let command = Chorus::new(["task", "list", "--url", &url]);
    assert_snapshot!(transcript(command).await.unwrap(), @"
    exit 5
    --- stdout
    --- stderr
    error: cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    hint: start a server with `chorus serve`, or name another one with --url or CHORUS_URL
    ");
}

#[tokio::test]
async fn one_is_any_other_failure() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["task", "create", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: DESCRIPTION: must not be empty
    ");
    assert_snapshot!(desk.run(["task", "list", "--limit", "0"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: query: limit: must be 1 to 1000
    ");
    desk.app.db.close().await;
    assert_snapshot!(desk.run(["task", "list"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: Internal error. See the server log for the cause
    ");
}

#[tokio::test]
async fn something_else_that_answers_is_not_taken_for_a_server() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let page = axum::Router::new().fallback(|| async { "<h1>It works!</h1>" });
    tokio::spawn(async { axum::serve(listener, page).await });
    let seen = transcript(Chorus::new(["agent", "list", "--url", &url]))
        .await
        .unwrap();
    assert_snapshot!(seen, @"
    exit 1
    --- stdout
    --- stderr
    error: http://<server> is not a Chorus server, or its version differs from this client's: expected value at line 1 column 1
    ");
}
