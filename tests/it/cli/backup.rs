//! `chorus backup`

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Chorus, Server, redact};

#[tokio::test]
async fn a_backup_while_serving_opens_and_holds_everything() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let client = server.client();
    for place in 0..20 {
        let body = json!({ "description": format!("task {place}") });
        client
            .send_json(reqwest::Method::POST, "/api/tasks", &body)
            .await
            .unwrap();
    }
    let asked = client
        .get("/api/tasks", &[])
        .await
        .unwrap()
        .data::<Vec<Value>>()
        .unwrap();
    let other = tempfile::tempdir().unwrap();
    let copy = other.path().join("chorus.db");
    let seen = server
        .chorus(["backup", copy.to_str().unwrap()])
        .transcript();
    assert_snapshot!(redact(&seen), @"
    exit 0
    --- stdout
    Wrote <tmp>/chorus.db
    --- stderr
    ");
    // Later changes are not part of the backup.
    let body = json!({ "description": "later" });
    client
        .send_json(reqwest::Method::POST, "/api/tasks", &body)
        .await
        .unwrap();
    assert_eq!(
        other.path().read_dir().unwrap().count(),
        1,
        "nothing else is left there"
    );
    let restored = Server::start(other.path());
    let found = restored
        .client()
        .get("/api/tasks", &[])
        .await
        .unwrap()
        .data::<Vec<Value>>()
        .unwrap();
    // Default workspaces are in the directory of the copy.
    let text = serde_json::to_string(&found).unwrap();
    let moved = text.replace(
        other.path().to_str().unwrap(),
        folder.path().to_str().unwrap(),
    );
    assert_ne!(moved, text);
    let moved: Vec<Value> = serde_json::from_str(&moved).unwrap();
    assert_eq!(moved, asked);
}

#[test]
fn a_file_that_is_there_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let file = folder.path().join("mine.txt");
    std::fs::write(&file, "mine").unwrap();
    let seen = server
        .chorus(["backup", file.to_str().unwrap()])
        .transcript();
    assert_snapshot!(redact(&seen), @"
    exit 1
    --- stdout
    --- stderr
    error: <tmp>/mine.txt exists already; choose a new name
    ");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let nowhere = folder.path().join("no/such/folder/copy.db");
    let seen = server
        .chorus(["backup", nowhere.to_str().unwrap()])
        .transcript();
    assert_snapshot!(redact(&seen), @"
    exit 1
    --- stdout
    --- stderr
    error: folder <tmp>/no/such/folder does not exist; create it first
    ");
}

#[test]
fn without_a_database_there_is_nothing_to_back_up() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().to_str().unwrap();
    let file = folder.path().join("copy.db");
    let seen = Chorus::new(["backup", file.to_str().unwrap(), "--data-dir", data_dir]).transcript();
    assert_snapshot!(redact(&seen), @"
    exit 1
    --- stdout
    --- stderr
    error: no Chorus database in <tmp>; start `chorus serve` to create one
    ");
    assert!(!file.exists());
}
