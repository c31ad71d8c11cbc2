//! Tables on a terminal of 80 columns, and the same tables in a pipe.

use std::process::Command;

use serde_json::json;

use super::Desk;

const COLUMNS: usize = 80;

/// Runs a command on a terminal, and returns the lines that a person sees.
async fn on_terminal(desk: &Desk, command: &str) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_chorus");
    let line = format!(
        "stty cols {COLUMNS}; {program} {command} --url {} 2>/dev/null",
        desk.url
    );
    let shown = tokio::task::spawn_blocking(move || {
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).output().unwrap()
    });
    let shown = String::from_utf8(shown.await.unwrap().stdout).unwrap();
    shown
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Opens a desk where every list has a row, and every text is long.
async fn crowded() -> Desk {
    let desk = Desk::with_agents(&[
        (
            "an-agent-with-a-rather-long-name",
            &["implementation"],
            &["rust", "sql", "python", "mcp"],
        ),
        ("tess", &["testing", "verification"], &["qa"]),
    ])
    .await;
    let long = "A description that goes on for much longer than any terminal of a reasonable person is wide, in words";
    let rules = json!([{
        "kind": "implementation", "agent": "an-agent-with-a-rather-long-name", "rank": 1.5, "retry": true, "batch": true, "maxAttempts": 3,
    }]);
    let put = desk.app.with_token(
        crate::support::OPERATOR_TOKEN,
        axum::http::Method::PUT,
        "/api/dispatch/routes",
        rules,
    );
    put.await.data();
    for _ in 0..2 {
        let task = desk
            .make([
                "task",
                "create",
                long,
                "--agent-role",
                "implementation",
                "--tags",
                "rust,sql,python",
            ])
            .await;
        desk.make(["alert", "create", long, "--task", &task]).await;
        desk.make([
            "request",
            "create",
            long,
            "--kind",
            "implementation",
            "--task",
            &task,
        ])
        .await;
        desk.make(["increment", "create", long]).await;
        let mail = json!({ "to": ["tess"], "subject": long, "body": long, "type": "test_failure_report", "urgency": "urgent", "ackRequired": true });
        desk.app.operator().post("/api/mail", mail).await.data();
    }
    let request = desk
        .make(["request", "create", long, "--kind", "implementation"])
        .await;
    desk.app
        .operator()
        .post(&format!("/api/requests/{request}/approve"), json!({}))
        .await
        .data();
    desk.make([
        "request",
        "claim",
        &request,
        "--as",
        "an-agent-with-a-rather-long-name",
    ])
    .await;
    for name in ["qualify_the_lead_and_pass_it_on", "close"] {
        desk.make([
            "tool",
            "create",
            name,
            "--target",
            "an-agent-with-a-rather-long-name",
            "--description",
            long,
            "--variable",
            "lead_id:string!=The lead",
            "--variable",
            "estimated_price:number=The price",
            "--allow",
            "tess",
        ])
        .await;
    }
    desk.make([
        "session",
        "handoff",
        "a-session-with-a-name-that-is-as-long-as-one-may-choose-it-to-be",
        "tess",
        "an-agent-with-a-rather-long-name",
        "--reason",
        "r",
        "--intent",
        "i",
        "--no-invoke",
    ])
    .await;
    desk
}

#[tokio::test]
async fn every_table_fits_80_columns() {
    let desk = crowded().await;
    for command in [
        "task list",
        "task ready",
        "task route --dry-run",
        "request list",
        "request top",
        "request kinds",
        "increment list",
        "mail inbox tess --all",
        "alert list --all",
        "agent list",
        "tool list",
        "tool list --as tess",
        "session list",
        "stats",
    ] {
        let lines = on_terminal(&desk, command).await;
        assert!(lines.len() > 1, "{command}: {lines:?}");
        for line in &lines {
            assert!(
                line.chars().count() <= COLUMNS,
                "{command}: {line}\n{}",
                lines.join("\n")
            );
        }
        assert!(
            lines
                .iter()
                .any(|line| line.chars().any(char::is_uppercase)),
            "{command}\n{}",
            lines.join("\n")
        );
    }
}

#[tokio::test]
async fn an_id_of_a_table_can_be_typed_and_a_pipe_gets_it_in_full() {
    let desk = crowded().await;
    let piped = desk.make(["request", "list"]).await;
    let ids: Vec<_> = piped
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    let shown = on_terminal(&desk, "request list").await;
    assert_eq!(shown.len(), ids.len() + 1);
    for (line, id) in shown[1..].iter().zip(ids) {
        let short = line.split(' ').next().unwrap();
        assert!(
            id.len() == 36 && short.len() >= 8 && short.len() < 36 && id.ends_with(short),
            "{line}"
        );
        let found = desk.make(["request", "show", short, "--json"]).await;
        assert!(found.contains(&format!("\"id\":\"{id}\"")), "{found}");
    }
}

/// A bare heading would look like a broken list.
#[tokio::test]
async fn an_empty_list_is_a_sentence_on_a_terminal_and_nothing_in_a_pipe() {
    let desk = Desk::with_agents(&[("tess", &[], &[])]).await;
    for command in ["task list", "request list", "mail inbox tess", "tool list"] {
        assert_eq!(on_terminal(&desk, command).await, [""; 0], "{command}");
        let piped = desk.run(command.split(' ')).await;
        assert_eq!(piped, "exit 0\n--- stdout\n--- stderr\n", "{command}");
        let line = format!(
            "{} {command} --url {}",
            env!("CARGO_BIN_EXE_chorus"),
            desk.url
        );
        let shown = tokio::task::spawn_blocking(move || {
            Command::new("script")
                .args(["-qec", &line, "/dev/null"])
                .output()
        });
        let shown = String::from_utf8(shown.await.unwrap().unwrap().stdout).unwrap();
        assert!(shown.starts_with("No "), "{command}: {shown}");
    }
}
