//! Files of agents in the data directory that are not in the database.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Chorus, Server};

/// Starts a server, and returns its first log line about files of agents.
fn warning(data_dir: &std::path::Path) -> String {
    let mut server = Command::new(env!("CARGO_BIN_EXE_chorus"))
        .args(["serve", "--port", "0", "--max-runs", "0", "--data-dir"])
        .arg(data_dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let about = |line: &String| line.contains("not in the database") || line.contains("serving");
    let found = lines.map(Result::unwrap).find(about).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    found
}

#[test]
fn agent_files_beside_the_database_are_named_with_the_command_that_takes_them_in() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("it's data");
    assert!(Server::start(&data_dir).stop().success());
    std::fs::create_dir(data_dir.join("agents")).unwrap();
    let write = |name: &str, agent: &Value| {
        std::fs::write(data_dir.join("agents").join(name), agent.to_string()).unwrap();
    };
    let documented = |name: &str| json!({ "name": name, "specPath": "agents/developer.md", "allowedTools": "Bash(file-tools *)", "permissionMode": "bypassPermissions" });
    write("scribe.json", &documented("scribe"));
    write("Editor.json", &documented("Editor"));
    // Known agents, and files that are no agents, are not named.
    write("DEVELOPER.json", &documented("developer"));
    write("..json", &json!({}));
    write("a b.json", &json!({}));
    write("notes.md", &json!("text"));
    let line = warning(&data_dir);
    assert!(
        line.contains("agents/ has files of agents that are not in the database: Editor, scribe"),
        "{line}"
    );
    let doctor = |url: &str| {
        let command = Chorus::new(["doctor", "--url", url]).env("CHORUS_DATA_DIR", &data_dir);
        command.transcript()
    };
    let noted = doctor("http://127.0.0.1:1");
    let (_, command) = noted
        .split_once("take them in with ")
        .unwrap_or_else(|| panic!("{noted}"));
    let command = command.lines().next().unwrap();
    assert!(line.contains("chorus agent import --data-dir"), "{line}");
    // The command works as it stands, in any directory, while a server runs.
    let server = Server::start(&data_dir);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_chorus"));
    let output = Command::new("/bin/sh")
        .args(["-c", command])
        .env("PATH", program.parent().unwrap())
        .env_remove("CHORUS_URL")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    let shown = server
        .chorus(["agent", "show", "scribe", "--json"])
        .transcript();
    assert!(shown.contains("\"provider\":\"claude-code\""), "{shown}");
    assert!(shown.contains("Bash(file-tools *)"), "{shown}");
    assert!(!doctor(&server.url).contains("not in the database"));
    assert!(server.stop().success());
    assert!(warning(&data_dir).contains("serving"));
}
