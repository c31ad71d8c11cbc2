//! What the README shows works when it is pasted.

use std::path::Path;
use std::process::Command;

use crate::support::{Server, own_port};

const README: &str = include_str!("../../README.md");

/// Returns the script of a section of the README.
fn script(heading: &str) -> &'static str {
    script_of(README, heading)
}

fn script_of(document: &'static str, heading: &str) -> &'static str {
    let section = document.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let script = section.split("```sh\n").nth(1).unwrap();
    script.split("\n```").next().unwrap()
}

/// Pastes scripts into a shell that stops at the first command that fails, and takes the server with it. Returns what it shows.
fn paste(scripts: &[&str], port: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let examples = format!(
        "set -euo pipefail\ntrap 'kill $(jobs -p); wait' EXIT\n{}",
        scripts.join("\n").replace(port, &own_port())
    );
    let program = Path::new(env!("CARGO_BIN_EXE_chorus"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = Command::new("bash")
        .arg("-c")
        .arg(examples)
        .current_dir(folder.path())
        .env("PATH", path)
        .env("CHORUS_LOG", "warn")
        .output()
        .unwrap();
    let (shown, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{shown}\n{complained}");
    shown.into_owned()
}

/// Checks that each part is shown.
fn shows(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "{part}\nis not in\n{shown}");
    }
}

#[test]
fn the_worked_examples_of_transfers_and_sessions_run() {
    let shown = paste(&[script("Passing control"), script("Sessions")], "8181");
    let parts = [
        "# Context from handoff\n\nlead_id: 123\n",
        "price: 900\n",
        "_handoff_chain: [\"triage\",\"sdr\"]\n",
        "user: Please take care of it.\n",
        "Routed to closer",
        "user: Which plan fits us?\n\nassistant (triage): How many are you?\n",
        "\"outcome\": \"completed\"",
    ];
    shows(&shown, &parts);
}

#[test]
fn the_worked_examples_of_requests_run() {
    let shown = paste(&[script("Requests")], "8182");
    let parts = [
        "Two million, says the census.\n",
        "Done: Read every file once\n",
        "Done: Mend a typo in the error messages\n",
        "1. Refactor the auth module #done-implementation #P1 #M\n",
        "3. Mend a typo in the error messages #done-chores\n",
        "## Response\n\n* [",
    ];
    shows(&shown, &parts);
}

#[test]
fn agents_are_added_changed_and_deleted_as_shown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let program = Path::new(env!("CARGO_BIN_EXE_chorus"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script("Agents and roles")])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("CHORUS_URL", &server.url)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "reviewer made\nrustacean made\nrustacean changed\nreviewer deleted\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_worked_examples_of_roles_and_increments_run() {
    let shown = paste(&[script("Roles and increments")], "8185");
    let parts = [
        "role       verification\n",
        "completed (must be completed)  Write the parser\n",
        "\"workCompleted\": \"It is what was asked\"",
        "state      done, round 2\n",
        "  ada\n✗ test            round 1  ",
        "  tess: No dates in main.rs\n✓ fix             round 2  ",
        "  finn\n✓ test            round 2  ",
        "  tess\n✓ verify          round 2  ",
    ];
    shows(&shown, &parts);
}

#[test]
fn the_worked_example_of_mail_runs() {
    let shown = paste(&[script("Mail")], "8195");
    let parts = [
        "\toperator\ttask_handoff\thigh\tunread, ack wanted\tThe parser is ready\n",
        " acknowledged\n",
        "Context\n  files: [\"src/parser.rs\"]\n",
        "subject   It fails on empty input\n",
        "\tqa (not verified)\ttest_failure_report\tnormal\tunread\tIt fails on empty input\n",
    ];
    shows(&shown, &parts);
}

#[test]
fn the_examples_of_the_documents_run() {
    let routing = include_str!("../../docs/routing.md");
    let shown = paste(&[script_of(routing, "Try it")], "8186");
    let parts = [
        "role       testing\n",
        "  judge  completed after ",
        "passed: It is there\n",
        "state      done, round 1\n",
    ];
    shows(&shown, &parts);
    let schema = include_str!("../../docs/schema.md");
    let shown = paste(&[script_of(schema, "Try it")], "8197");
    shows(
        &shown,
        &[
            "Hello\n",
            " Greet the reader │\n",
            " greeter ",
            " completed ",
        ],
    );
    let mail = include_str!("../../docs/mail.md");
    let shown = paste(&[script_of(mail, "Try it")], "8196");
    let parts = [
        "# Mail\n",
        "Look at the parser",
        " acknowledged\n",
        "It fails on empty input",
    ];
    shows(&shown, &parts);
}
