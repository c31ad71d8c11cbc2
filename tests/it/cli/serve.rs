//! `chorus serve`: what it says when it starts, when it cannot, and when it stops.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::assert_snapshot;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::{Chorus, Server, redact};

/// Starts a server that cannot start and returns all that a user sees.
fn refused(data_dir: &Path, arguments: &[&str]) -> String {
    let folder = data_dir.to_str().unwrap();
    let start = ["serve", "--port", "0", "--data-dir", folder];
    redact(&Chorus::new(start.iter().chain(arguments).copied()).transcript())
}

/// Makes a data directory with a database in it.
fn installation() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().to_str().unwrap();
    assert!(
        Chorus::new(["migrate", "--data-dir", data_dir])
            .output()
            .status
            .success()
    );
    let database = Connection::open(folder.path().join("chorus.db")).unwrap();
    (folder, database)
}

#[tokio::test]
async fn a_stopped_server_ends_well_and_comes_back_with_everything() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let body = serde_json::json!({ "description": "d" });
    let client = server.client();
    client
        .send_json(reqwest::Method::POST, "/api/tasks", &body)
        .await
        .unwrap();
    assert_eq!(server.stop().code(), Some(0));
    let server = Server::start(folder.path());
    let tasks: Vec<Value> = server
        .client()
        .get("/api/tasks", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(tasks.len(), 1);
}

#[tokio::test]
async fn a_server_stops_although_a_client_waits() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let client = server.client();
    let mut stream = client
        .request(reqwest::Method::GET, "/api/events")
        .send()
        .await
        .unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let stopped = tokio::task::spawn_blocking(move || server.stop());
    while let Ok(Some(_)) = stream.chunk().await {}
    assert_eq!(stopped.await.unwrap().code(), Some(0));
}

#[test]
fn the_token_and_the_data_are_for_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path());
    let token = std::fs::metadata(folder.path().join("operator.token")).unwrap();
    assert_eq!(token.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_port_in_use_creates_no_data_directory() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let serve = ["serve", "--port", &port, "--data-dir"];
    let seen = Chorus::new(serve).argument(&data_dir).transcript();
    assert!(seen.starts_with("exit 1\n"), "{seen}");
    assert!(!data_dir.exists());
}

#[test]
fn a_port_in_use_is_named() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().to_str().unwrap();
    let seen = Chorus::new(["serve", "--port", &port, "--data-dir", data_dir]).transcript();
    assert_snapshot!(seen.replace(&port, "<port>"), @"
    exit 1
    --- stdout
    --- stderr
    error: port <port> on 127.0.0.1 is in use; stop the other program, or choose another port with --port
    ");
}

#[test]
fn a_data_directory_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_snapshot!(refused(&file, &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: the data directory <tmp>/file is not writable: File exists (os error 17); choose another with --data-dir
    ");
    assert_snapshot!(refused(&file.join("below"), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: the data directory <tmp>/file/below is not writable: Not a directory (os error 20); choose another with --data-dir
    ");
    assert_snapshot!(refused(Path::new("/proc/chorus"), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: the data directory /proc/chorus is not writable: No such file or directory (os error 2); choose another with --data-dir
    ");
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path());
    assert_snapshot!(refused(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: the data directory <tmp> is in use by another Chorus process (pid <n>); stop it first, or choose another with --data-dir
    ");
    drop(first);
    let _second = Server::start(folder.path());
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let (folder, database) = installation();
    database
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'x', 1, x'00', 0)",
            [],
        )
        .unwrap();
    assert_snapshot!(refused(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: a newer version of Chorus wrote the database <tmp>/chorus.db (it has migration 9999); use that version or a later one
    ");
}

#[test]
fn a_database_with_other_migrations_is_left_alone() {
    let (folder, database) = installation();
    database
        .execute(
            "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1",
            [],
        )
        .unwrap();
    assert_snapshot!(refused(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: migration 1 of the database <tmp>/chorus.db differs from the one in this version of Chorus; use the version that wrote the database, or restore a backup
    ");
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chorus.db");
    let text = "This is not a database. ".repeat(100);
    std::fs::write(&file, &text).unwrap();
    assert_snapshot!(refused(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot open the database <tmp>/chorus.db: while executing migrations: error returned from database: (code: 26) file is not a database
    ");
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(refused(folder.path(), &["--log", "loud=very"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: Log filter "loud=very" is invalid; write a level, or target=level pairs, such as `info,chorus=debug`
    "#);
    assert_snapshot!(refused(folder.path(), &["--workspace-root", "/nowhere"]), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot use the workspace root /nowhere: No such file or directory (os error 2)
    ");
    assert_snapshot!(refused(folder.path(), &["--bind", "192.0.2.1"]), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot listen on 192.0.2.1:0: Cannot assign requested address (os error 99)
    ");
    assert_snapshot!(refused(folder.path(), &["--bind", "localhost"]), @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'localhost' for '--bind <BIND>': invalid IP address syntax

    For more information, try '--help'.
    ");
}

/// Starts a server that says something of a collector and then cannot start, and returns all that a user sees.
fn refused_with(variable: &str, endpoint: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    Chorus::new(["serve", "--port", &port])
        .env("CHORUS_DATA_DIR", folder.path())
        .env(variable, endpoint)
        .transcript()
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_collector_is_refused_without_the_feature() {
    let warning = "this program was built without the feature `otlp`";
    let endpoint = "http://localhost:4318";
    let said = refused_with("CHORUS_OTLP_ENDPOINT", endpoint);
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    for (variable, endpoint) in [
        ("CHORUS_OTLP_ENDPOINT", ""),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
    ] {
        let said = refused_with(variable, endpoint);
        assert!(!said.contains(warning), "{said}");
    }
}

#[cfg(feature = "otlp")]
#[test]
fn a_collector_that_cannot_be_sent_to_is_refused_only_if_it_is_meant_for_chorus() {
    let why = "The collector's address must be a URL that begins with http://";
    let endpoint = "https://user:hush@collector:4318";
    let own = refused_with("CHORUS_OTLP_ENDPOINT", endpoint);
    assert!(own.contains(&format!("error: {why}")), "{own}");
    assert!(!own.contains("is in use"), "{own}");
    let others = refused_with("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    assert_eq!(others.matches(why).count(), 1, "{others}");
    assert!(others.contains("is in use"), "{others}");
    assert!(!own.contains("hush") && !others.contains("hush"));
}

#[cfg(feature = "otlp")]
#[test]
fn a_server_whose_collector_is_absent_starts_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &["--otlp-endpoint", "http://127.0.0.1:1"]);
    assert_eq!(server.stop().code(), Some(0));
}
