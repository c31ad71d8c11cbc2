//! `chorus mail`, and where else mail is shown.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Desk, transcript};
use crate::support::{Chorus, OPERATOR_TOKEN, Server, redact};

/// Sends a mail over HTTP and returns its id.
async fn send(desk: &Desk, body: Value) -> String {
    let mail = desk.app.operator().post("/api/mail", body).await.data();
    mail["id"].as_str().unwrap().to_owned()
}

/// Runs a command with the operator's token.
async fn run<'a>(desk: &Desk, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let command = desk.chorus(arguments).env("CHORUS_TOKEN", OPERATOR_TOKEN);
    transcript(command).await.unwrap()
}

#[tokio::test]
async fn mail_is_sent_shown_and_acknowledged() {
    let desk = Desk::open().await;
    let task = desk.app.task("Write it").await;
    let sent = run(
        &desk,
        [
            "mail",
            "send",
            "qa",
            "planner",
            "--cc",
            "operator",
            "--subject",
            "Ready",
            "--body",
            "make\ntest",
            "--type",
            "task_handoff",
            "--task",
            &task,
            "--urgency",
            "urgent",
            "--ack",
            "--context",
            r#"{"files": ["a.rs"]}"#,
            "--handoff-type",
            "implementation_to_testing",
        ],
    );
    assert_snapshot!(sent.await, @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    let mail = desk.app.get("/api/mail").await.data();
    let id = mail[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&mail[0]["from"], &mail[0]["fromVerified"]),
        (&json!("operator"), &json!(true))
    );
    assert_snapshot!(desk.run(["mail", "show", &id]).await, @r#"
    exit 0
    --- stdout
    mail      <id 1>
    subject   Ready
    type      task_handoff
    from      operator
    to        qa, planner
    cc        operator
    sent      2026-01-01 00:00:00
    urgency   urgent
    thread    <id 1>
    task      <id 2>
    kind      implementation_to_testing
    ack by    2026-01-01 01:00:00

    make
    test

    Context
      files: ["a.rs"]

    Recipients
      qa, not read
      planner, not read
      operator (cc), not read
    --- stderr
    "#);
    assert_snapshot!(desk.run(["mail", "inbox", "QA"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	operator	task_handoff	urgent	unread, ack wanted	Ready
    --- stderr
    ");
    assert_snapshot!(run(&desk, ["mail", "read", &id]).await, @"
    exit 0
    --- stdout
    <id 1> read for operator
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "inbox"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "--all"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	operator	task_handoff	urgent	read	Ready
    --- stderr
    ");
    desk.app.clock.advance(60 * 60 * 1000 + 1);
    assert_snapshot!(desk.run(["mail", "inbox", "qa", "--overdue"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	operator	task_handoff	urgent	unread, ack overdue	Ready
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "ack", &id, "--as", "qa"]).await, @"
    exit 0
    --- stdout
    <id 1> acknowledged for qa
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "qa"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "qa", "--all"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:00	operator	task_handoff	urgent	acknowledged	Ready
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "show", &id, "--json"]).await, @r#"
    exit 0
    --- stdout
    {"data":{"id":"<id 1>","version":"1.0.0","type":"task_handoff","from":"operator","fromVerified":true,"to":["qa","planner"],"cc":["operator"],"threadId":"<id 1>","subject":"Ready","body":"make\ntest","taskId":"<id 2>","handoffId":null,"handoffType":"implementation_to_testing","context":{"files":["a.rs"]},"previousAttempts":0,"urgency":"urgent","ackRequired":true,"ackDueAt":1767229200000,"sentAt":1767225600000,"recipients":[{"recipient":"qa","cc":false,"deliveredAt":null,"readAt":1767229200001,"acknowledgedAt":1767229200001},{"recipient":"planner","cc":false,"deliveredAt":null,"readAt":null,"acknowledgedAt":null},{"recipient":"operator","cc":true,"deliveredAt":null,"readAt":1767225600000,"acknowledgedAt":null}]},"meta":{"timestamp":1767229200001,"event":4}}
    --- stderr
    "#);
}

#[tokio::test]
async fn a_thread_is_shown_by_any_of_its_mail() {
    let desk = Desk::open().await;
    let first = send(
        &desk,
        json!({ "to": ["qa"], "subject": "Question", "body": "Which port?" }),
    )
    .await;
    desk.app.clock.advance(1000);
    let answer = desk.chorus([
        "mail",
        "send",
        "operator",
        "--as",
        "qa",
        "--reply-to",
        &first,
        "--subject",
        "Answer",
        "--body-file",
        "-",
    ]);
    let sent = transcript(answer.input("8081\n")).await.unwrap();
    let second = desk.app.get("/api/mail").await.data()[1]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(sent.starts_with("exit 0"), "{sent}");
    let by_first = desk.run(["mail", "thread", &first]).await;
    assert_snapshot!(by_first, @"
    exit 0
    --- stdout
    mail      <id 1>
    subject   Question
    type      note
    from      operator
    to        qa
    sent      2026-01-01 00:00:00
    urgency   normal
    thread    <id 1>

    Which port?

    Recipients
      qa, not read

    mail      <id 2>
    subject   Answer
    type      note
    from      qa (not verified)
    to        operator
    sent      2026-01-01 00:00:01
    urgency   normal
    thread    <id 1>

    8081

    Recipients
      operator, not read

    --- stderr
    ");
    assert_eq!(desk.run(["mail", "thread", &second]).await, by_first);
    assert_snapshot!(desk.run(["mail", "thread", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Mail not found: nope
    hint: `chorus mail inbox NAME` lists the mail of an agent or of the operator
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "operator", "--search", "8081"]).await, @"
    exit 0
    --- stdout
    <id 1>	2026-01-01 00:00:01	qa (not verified)	note	normal	unread	Answer
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "operator", "--search", "\" OR *"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
}

#[tokio::test]
async fn invalid_arguments_of_a_mail_are_refused() {
    let desk = Desk::open().await;
    let id = send(&desk, json!({ "to": ["qa", "planner"], "subject": "Look" })).await;
    assert_snapshot!(desk.run(["mail", "send", "qa", "--subject", "x", "--type", "letter"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'letter' for '--type <TYPE>': must be one of: task_handoff, test_failure_report, fix_complete, verification_request, assignment, note

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["mail", "send", "qa", "--subject", "x", "--urgency", "now"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'now' for '--urgency <low|normal|high|urgent>': must be one of: low, normal, high, urgent

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["mail", "send", "--subject", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <RECIPIENT>...

    Usage: chorus mail send --subject <TEXT> <RECIPIENT>...

    For more information, try '--help'.
    ");
    assert_snapshot!(run(&desk, ["mail", "send", "qa", "--subject", "x", "--context", "{"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: --context is not a JSON object: EOF while parsing an object at line 1 column 1
    ");
    assert_snapshot!(run(&desk, ["mail", "send", "nobody", "--subject", "x"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Unknown agent: nobody
    hint: known agents: developer, developer-review, orchestrator, planner, qa
    ");
    let elsewhere = desk.chorus(["mail", "send", "qa", "--subject", "x"]);
    let elsewhere = elsewhere.env("CHORUS_DATA_DIR", "nowhere");
    assert_snapshot!(transcript(elsewhere).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: Operator token required to send mail as `operator`
    hint: name the server's data directory, which has the operator's token, with --data-dir or CHORUS_DATA_DIR, or set CHORUS_TOKEN to a token
    ");
    assert_snapshot!(desk.run(["mail", "ack", &id]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: recipient: mail <id 1> has several recipients. Name one of: qa, planner
    ");
    assert_snapshot!(desk.run(["mail", "show", "nope"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Mail not found: nope
    hint: `chorus mail inbox NAME` lists the mail of an agent or of the operator
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "a/b"]).await, @r#"
    exit 1
    --- stdout
    --- stderr
    error: "a/b" is not a valid name: it may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`
    "#);
    assert_eq!(
        desk.app
            .get("/api/mail")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn mail_with_terminal_escapes_is_shown_harmless() {
    let desk = Desk::open().await;
    let odd = "\u{1b}[2J\u{7}red\u{9b}31m over";
    let body = json!({ "to": ["qa"], "subject": odd, "body": odd, "context": { odd: odd } });
    let id = send(&desk, body).await;
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    for arguments in [
        &["mail", "inbox", "qa"][..],
        &["mail", "show", &id],
        &["mail", "thread", &id],
    ] {
        let seen = desk.run(arguments.iter().copied()).await;
        assert!(!seen.contains(is_harmful), "{seen:?}");
    }
}

#[test]
fn the_operators_token_is_taken_from_the_data_directory_and_overdue_mail_is_in_the_doctors_report()
{
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let server = Server::start(&data_dir);
    let run = |arguments: &[&str]| redact(&server.chorus(arguments.iter().copied()).transcript());
    assert_snapshot!(run(&["mail", "send", "operator", "--subject", "To myself", "--ack", "--urgency", "urgent"]), @"
    exit 0
    --- stdout
    <id 1>
    --- stderr
    ");
    let connection = crate::support::invariants::open(&data_dir.join("chorus.db"));
    let (id, sender, is_verified): (String, String, bool) = connection
        .query_row("SELECT id, sender, is_verified FROM mail", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!((sender.as_str(), is_verified), ("operator", true));
    connection
        .execute_batch(
            "DROP TRIGGER mail_recipients_keep_what_happened; DROP TRIGGER mail_never_changes;
             UPDATE mail SET ack_due_at = 1; UPDATE mail_recipients SET ack_due_at = 1;",
        )
        .unwrap();
    let doctor = |server: &Server| {
        let command: Chorus = server.chorus(["doctor"]);
        let seen = redact(&command.transcript());
        let note = seen
            .lines()
            .skip_while(|line| !line.starts_with("note  mail"));
        note.take(2).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(doctor(&server), @"
    note  mail from operator, due 1970-01-01 00:00:00, is not acknowledged by operator: To myself
          to do: read it with chorus mail show <id 1>; hand the agent a task, or acknowledge it with chorus mail ack <id 1> --as NAME
    ");
    assert_snapshot!(run(&["mail", "ack", &id]), @"
    exit 0
    --- stdout
    <id 1> acknowledged for operator
    --- stderr
    ");
    assert_eq!(doctor(&server), "");
}
