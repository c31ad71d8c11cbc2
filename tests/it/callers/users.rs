//! Callers without a token: users, the socket, and servers that demand a token.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::Stdio;

use reqwest::Method;
use serde_json::json;

use crate::support::{Chorus, Server};

/// A folder that every user can enter, with a data directory that only its owner can.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn another_user_needs_a_token() {
    if !rustix::process::geteuid().is_root() {
        let left_out = b"not root: the calls of another user are left out\n";
        std::io::stderr().write_all(left_out).unwrap();
        return;
    }
    let folder = open_folder();
    let server = Server::start(&folder.path().join("data"));
    let token = std::fs::read_to_string(server.data_dir.join("operator.token")).unwrap();
    let other = |arguments: &[&str]| {
        let command = Chorus::new(arguments.iter().copied()).without_privileges(folder.path());
        command.env("CHORUS_URL", &server.url)
    };
    for arguments in [
        &["task", "list"][..],
        &["task", "create", "d"],
        &[
            "agent",
            "create",
            "x",
            "--provider",
            "command",
            "--program",
            "/bin/sh",
        ],
    ] {
        let seen = other(arguments).transcript();
        assert!(seen.starts_with("exit 1\n"), "{arguments:?}: {seen}");
        assert!(seen.contains("oken required"), "{arguments:?}: {seen}");
    }
    let seen = other(&["task", "list"]).transcript();
    assert!(
        seen.contains("because the call comes from another user than the server's"),
        "{seen}"
    );
    let seen = other(&["task", "create", "d"])
        .env("CHORUS_TOKEN", token.trim())
        .transcript();
    assert!(seen.starts_with("exit 0\n"), "{seen}");
    // The socket is closed to other users.
    let socket = format!("unix:{}", server.data_dir.join("chorus.sock").display());
    let seen = other(&["task", "list"])
        .env("CHORUS_URL", socket)
        .transcript();
    assert!(seen.starts_with("exit 5\n"), "{seen}");
    let list = server.chorus(["task", "list", "--json"]).transcript();
    assert_eq!(list.matches("\"id\"").count(), 1, "{list}");
}

#[tokio::test]
async fn a_server_that_requires_a_token_accepts_nothing_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &["--require-token"]);
    let body = json!({ "description": "d" });
    let person = server.client();
    assert!(person.get("/api/tasks", &[]).await.is_err());
    assert!(
        person
            .send_json(Method::POST, "/api/tasks", &body)
            .await
            .is_err()
    );
    let socket = format!("unix:{}", folder.path().join("chorus.sock").display());
    let local = chorus::client::Client::new(&socket, None).unwrap();
    assert!(local.get("/api/tasks", &[]).await.is_err());
    assert!(local.get("/healthz", &[]).await.is_ok());
    server
        .operator()
        .send_json(Method::POST, "/api/tasks", &body)
        .await
        .unwrap();
    // The command line finds the token.
    let seen = tokio::task::spawn_blocking({
        let command = server.chorus(["task", "create", "d"]);
        move || command.transcript()
    });
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("exit 0\n"), "{seen}");
}

#[test]
fn commands_find_the_server_by_the_socket_in_the_data_directory() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data);
    let socket = data.join("chorus.sock");
    let found = std::fs::symlink_metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let commands = || {
        let by_directory = Chorus::new(["task", "create", "d"]).current_dir(folder.path());
        let by_socket = Chorus::new(["task", "create", "d"])
            .env("CHORUS_URL", format!("unix:{}", socket.display()));
        [by_directory, by_socket]
    };
    for command in commands() {
        let seen = command.transcript();
        assert!(seen.starts_with("exit 0\n"), "{seen}");
    }
    assert!(server.stop().success());
    assert!(!socket.exists(), "a server that stops removes its socket");
    // A killed server leaves its socket, and the next one replaces it.
    Server::start(&data).kill();
    assert!(socket.exists());
    let [_, by_socket] = commands();
    assert!(by_socket.transcript().starts_with("exit 5\n"));
    let _server = Server::start(&data);
    for command in commands() {
        let seen = command.transcript();
        assert!(seen.starts_with("exit 0\n"), "{seen}");
    }
}

#[test]
fn a_command_without_a_server_in_its_data_directory_asks_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("l".repeat(120)).join("data");
    let data = folder.path().join("data");
    // No server starts in a directory whose name is not UTF-8, but a directory can be renamed.
    let odd = folder.path().join(OsStr::from_bytes(b"nu\xff"));
    for place in [&long, &data] {
        Server::start(place).kill();
    }
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([&data, &odd])
        .status();
    assert!(copied.unwrap().success());
    for data in [long, odd, data] {
        let named = Chorus::new(["task", "list"]).env("CHORUS_DATA_DIR", &data);
        // The address of a server that has died is not believed, and the usual address not tried.
        let seen = named.transcript();
        assert!(seen.starts_with("exit 5\n"), "{seen}");
        assert!(seen.contains("no server runs on the data in "), "{seen}");
    }
    let nowhere = Chorus::new(["task", "list", "--data-dir", "/nowhere/data"]).transcript();
    assert!(nowhere.starts_with("exit 5\n"), "{nowhere}");
    assert!(
        nowhere.contains("no Chorus database in /nowhere/data"),
        "{nowhere}"
    );
    if !rustix::process::geteuid().is_root() {
        let left_out = b"not root: the data directory of another user is left out\n";
        std::io::stderr().write_all(left_out).unwrap();
        return;
    }
    // Another user could listen there and be shown a token.
    let foreign = folder.path().join("data");
    std::os::unix::fs::chown(&foreign, Some(65534), None).unwrap();
    let seen = Chorus::new(["task", "list"])
        .env("CHORUS_DATA_DIR", &foreign)
        .transcript();
    assert!(seen.starts_with("exit 1\n"), "{seen}");
    assert!(seen.contains("belongs to another user"), "{seen}");
}

#[test]
fn a_path_that_is_too_long_for_a_socket_does_not_stop_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("d".repeat(120)).join("data");
    let server = Server::start(&data);
    assert!(!data.join("chorus.sock").exists());
    let seen = server.chorus(["task", "create", "d"]).transcript();
    assert!(seen.starts_with("exit 0\n"), "{seen}");
}

#[test]
fn the_operators_link_is_printed_on_demand_and_not_into_logs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let token = std::fs::read_to_string(folder.path().join("operator.token")).unwrap();
    let link = |url: &str| {
        let link = format!("{url}/#token={}", token.trim());
        format!("exit 0\n--- stdout\n{link}\n--- stderr\n")
    };
    // Another program may listen where this variable points.
    for url in [server.url.as_str(), "http://127.0.0.1:9", "unix:/nowhere"] {
        let seen = server.chorus(["operator", "link"]).env("CHORUS_URL", url);
        assert_eq!(seen.transcript(), link(&server.url));
    }
    let elsewhere = ["operator", "link", "--url", "https://chorus.example/"];
    let seen = server.chorus(elsewhere).transcript();
    assert_eq!(seen, link("https://chorus.example"));
    let nowhere = folder.path().join("nowhere");
    let seen = server
        .chorus(["operator", "link"])
        .env("CHORUS_DATA_DIR", nowhere)
        .transcript();
    assert!(seen.starts_with("exit 1\n"), "{seen}");
    // Neither a killed server nor a stopped one leaves an address that is believed.
    let ends: [fn(Server); 2] = [Server::kill, |server| assert!(server.stop().success())];
    let mut server = Some(server);
    for end in ends {
        end(server
            .take()
            .unwrap_or_else(|| Server::start(folder.path())));
        let seen = Chorus::new(["operator", "link"])
            .env("CHORUS_DATA_DIR", folder.path())
            .transcript();
        assert!(
            seen.starts_with(
                "exit 5\n--- stdout\n--- stderr\nerror: no server runs on the data in "
            ),
            "{seen}"
        );
    }
    let mut again = Chorus::new(["serve", "--port", "0", "--max-runs", "0"])
        .env("CHORUS_DATA_DIR", folder.path())
        .stdout(Stdio::piped())
        .spawn();
    let lines = BufReader::new(again.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let page = lines.find(|line| line.starts_with("Open the page at"));
    again.kill().unwrap();
    again.wait().unwrap();
    assert!(page.unwrap().ends_with('/'));
}
