//! The database in the hands of the `sqlite3` program, which may be older than the SQLite in Chorus: 3.40 or later must do.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use axum::http::Method;
use serde_json::json;

use crate::schema::populated_app;
use crate::support::invariants;

/// Runs `sqlite3` on a file with this input, and returns its output; an error of any statement fails the test.
fn sqlite3(database: &Path, input: &str) -> String {
    let mut shell = Command::new("sqlite3")
        .args(["-batch", "-bail"])
        .arg(database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = shell.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()).unwrap());
        let output = shell.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    })
}

#[tokio::test]
async fn an_old_sqlite3_finds_no_errors_and_restores_its_dump() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        let notice = "LEFT OUT: sqlite3 is not installed; no dump was restored";
        writeln!(std::io::stderr(), "{notice}").unwrap();
        return;
    }
    let app = populated_app().await;
    app.claim_run("earlier").await;
    for (token, report) in [
        ("without", json!({ "result": "passed" })),
        ("with", json!({ "result": "failed", "details": ["why"] })),
    ] {
        let task = app.task("reported").await;
        app.start_run(&task, "qa", token).await;
        let path = format!("/api/tasks/{task}/report");
        app.with_token(token, Method::POST, &path, report)
            .await
            .data();
    }
    let database = app.data_dir.database();
    assert_eq!(sqlite3(&database, "PRAGMA integrity_check;"), "ok\n");
    let dump = sqlite3(&database, ".dump");
    let restored = database.with_file_name("restored.db");
    sqlite3(&restored, &dump);
    assert_eq!(sqlite3(&restored, "PRAGMA integrity_check;"), "ok\n");
    assert_eq!(sqlite3(&restored, ".dump"), dump);
    invariants::assert_hold(&restored);
}
