//! `chorus session`

use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};

/// Returns the arguments that move a conversation.
fn move_to<'a>(session: &'a str, from: &'a str, to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let needed = [
        "session", "handoff", session, from, to, "--reason", "stuck", "--intent", "a parser",
    ];
    needed.into_iter().chain(more.iter().copied()).collect()
}

#[tokio::test]
async fn a_conversation_moves_and_is_shown() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["session", "list"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    let history = r#"[{ "role": "user", "content": "a\ud800b\u0000" , "mood": "good" }]"#;
    let command = move_to(
        "s 1",
        "planner",
        "developer",
        &["--history", "-", "--harness-trace", "trace-1"],
    );
    let seen = transcript(desk.chorus(command).input(history))
        .await
        .unwrap();
    assert_snapshot!(seen, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    desk.app.clock.advance(5_000);
    assert_snapshot!(desk.run(move_to("s 1", "developer", "qa", &["--no-invoke"])).await, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    desk.run(move_to("other", "planner", "qa", &[])).await;
    assert_snapshot!(desk.run(["session", "list"]).await, @"
    exit 0
    --- stdout
    s 1	qa	-	2	2026-01-01 00:00:05	<id 1>
    other	qa	qa	1	2026-01-01 00:00:05	<id 2>
    --- stderr
    ");
    assert_snapshot!(desk.run(["session", "list", "--limit", "1"]).await, @"
    exit 0
    --- stdout
    s 1	qa	-	2	2026-01-01 00:00:05	<id 1>
    --- stderr
    More rows: --after s 1
    ");
    assert_snapshot!(desk.run(["session", "list", "--after", "s 1"]).await, @"
    exit 0
    --- stdout
    other	qa	qa	1	2026-01-01 00:00:05	<id 1>
    --- stderr
    ");
    assert_snapshot!(desk.run(["session", "show", "s 1"]).await, @"
    exit 0
    --- stdout
    session  s 1
    task     <id 1>
    agent    qa
    working  -
    created  2026-01-01 00:00:00
    updated  2026-01-01 00:00:05

    Hand-offs (2)
      2026-01-01 00:00:00  planner → developer  completed after 5 s
        reason  stuck
        intent  a parser
      2026-01-01 00:00:05  developer → qa  only recorded
        reason  stuck
        intent  a parser
    --- stderr
    ");
    let moves = desk.app.get("/api/sessions/s%201/handoffs").await;
    assert_eq!(
        moves.data()[0]["conversationHistory"],
        json!([{ "role": "user", "content": "a\u{fffd}b\u{0}", "mood": "good" }])
    );
    assert_eq!(moves.data()[0]["harnessTraceId"], "trace-1");
    let printed = desk.run(["session", "show", "s 1", "--json"]).await;
    let answer = crate::support::redact(std::str::from_utf8(&moves.body).unwrap());
    assert_eq!(
        printed,
        format!("exit 0\n--- stdout\n{answer}\n--- stderr\n")
    );
}

#[tokio::test]
async fn hand_offs_of_a_session_are_counted() {
    let desk = Desk::open().await;
    for (from, to) in [
        ("planner", "developer"),
        ("developer", "qa"),
        ("qa", "developer"),
    ] {
        desk.run(move_to("s", from, to, &["--no-invoke"])).await;
    }
    assert_snapshot!(desk.run(["session", "count", "s"]).await, @"
    exit 0
    --- stdout
    3
    --- stderr
    ");
    assert_snapshot!(desk.run(["session", "count", "s", "--to", "developer"]).await, @"
    exit 0
    --- stdout
    2
    --- stderr
    ");
    assert_snapshot!(desk.run(["session", "count", "s", "--from", "qa", "--to", "qa"]).await, @"
    exit 0
    --- stdout
    0
    --- stderr
    ");
    assert_snapshot!(desk.run(["session", "count", "s", "--json"]).await, @r#"
    exit 0
    --- stdout
    {"data":{"count":3},"meta":{"timestamp":1767225600000,"event":10}}
    --- stderr
    "#);
    assert_snapshot!(desk.run(["session", "count", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Session not found: nope
    hint: `chorus session list` lists the sessions
    ");
    assert_snapshot!(desk.run(["session", "count", "s", "--to", "a b"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: query: to: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`
    ");
}

#[tokio::test]
async fn a_move_that_waits_prints_the_final_message() {
    let desk = Desk::open().await;
    let mut feed = desk.app.engine.feed().follow();
    let moved = transcript(desk.chorus(move_to("s", "planner", "qa", &["--wait"])));
    while feed
        .recv()
        .await
        .unwrap()
        .event
        .unwrap()
        .event_type
        .as_str()
        != "agent_handoff_started"
    {}
    let session = desk.app.get("/api/sessions/s").await.data();
    let path = format!(
        "/api/tasks/{}/handoff/complete",
        session["taskId"].as_str().unwrap()
    );
    desk.app
        .put(&path, json!({ "output": "All is well" }))
        .await
        .data();
    assert_snapshot!(moved.await.unwrap(), @"
    exit 0
    --- stdout
    All is well
    --- stderr
    qa is working on <id 1> (hand-off <id 2>)
    ");
}

#[tokio::test]
async fn a_move_that_cannot_be_is_refused_with_all_reasons() {
    let desk = Desk::open().await;
    let empty = [
        "session", "handoff", "s", "", "nobody", "--reason", "", "--intent", " ",
    ];
    assert_snapshot!(desk.run(empty).await, @r#"
    exit 2
    --- stdout
    --- stderr
    error: FROM: must not be empty; TO: unknown agent "nobody"; the agents are: developer, developer-review, orchestrator, planner, qa; --reason: must not be empty; --intent: must not be empty
    "#);
    assert_snapshot!(desk.run(move_to("s", "qa", "qa", &[])).await, @"
    exit 2
    --- stdout
    --- stderr
    error: TO: must differ from fromAgent
    ");
    assert_snapshot!(desk.run(["session", "handoff", "s", "qa", "planner"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --reason <TEXT>
      --intent <TEXT>

    Usage: chorus session handoff --reason <TEXT> --intent <TEXT> <SESSION> <FROM> <TO>

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(move_to("s", "qa", "planner", &["--wait", "--no-invoke"])).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the argument '--wait' cannot be used with '--no-invoke'

    Usage: chorus session handoff --reason <TEXT> --intent <TEXT> --wait <SESSION> <FROM> <TO>

    For more information, try '--help'.
    ");
    let folder = desk.app.data_dir.path();
    std::fs::write(folder.join("odd"), b"[\"\xff\"]").unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    let with = |file| {
        let command = move_to("s", "qa", "planner", &["--history", file]);
        transcript(desk.chorus(command).current_dir(folder))
    };
    assert_snapshot!(with("odd").await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot read odd: stream did not contain valid UTF-8
    ");
    assert_snapshot!(with("empty").await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: empty is not JSON: EOF while parsing a value at line 1 column 0
    ");
    assert_snapshot!(with("missing").await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot read missing: No such file or directory (os error 2)
    ");
    let wrong = desk.chorus(move_to("s", "qa", "planner", &["--history", "-"]));
    let wrong = wrong.input(r#"[{ "role": "wizard" }, 7]"#);
    assert_snapshot!(transcript(wrong).await.unwrap(), @r#"
    exit 2
    --- stdout
    --- stderr
    error: --history [0].role: unknown role "wizard"; the roles are: system, user, assistant, tool; --history [0].content: must be a string, an array of parts, or null; --history [1]: must be an object with `role` and `content`
    "#);
    assert_snapshot!(desk.run(["session", "show", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Session not found: nope
    hint: `chorus session list` lists the sessions
    ");
    assert_snapshot!(desk.run(["session", "show", "nope", "--json"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Session not found: nope
    hint: `chorus session list` lists the sessions
    ");
    assert_snapshot!(desk.run(["session", "list", "--after", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Session not found: nope
    hint: `chorus session list` lists the sessions
    ");
}

#[tokio::test]
async fn a_session_with_terminal_escapes_is_shown_harmless() {
    let desk = Desk::open().await;
    let evil = "\u{1b}[2J\u{7}red\u{9b}31m\rover";
    let body = json!({
        "fromAgent": "planner", "toAgent": "qa", "reason": evil, "userIntent": evil, "conversationHistory": [],
    });
    desk.app.post("/api/sessions/s/handoffs", body).await.data();
    for command in [["session", "show", "s"], ["session", "show", evil]] {
        let seen = desk.run(command).await;
        let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!seen.contains(is_harmful), "{command:?} {seen:?}");
    }
}
