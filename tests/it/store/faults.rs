//! A database that is locked, deleted, replaced or damaged while it is in use.

use std::io::{Seek, SeekFrom, Write};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp};

async fn create_task(app: &TestApp) -> Reply {
    app.post("/api/tasks", json!({ "description": "d" })).await
}

/// Returns the status and the reason of an answer.
fn refusal(reply: &Reply) -> (u16, Value) {
    let json = reply.json();
    assert_eq!(json["error"]["code"], "NOT_READY", "{json}");
    (
        reply.status.as_u16(),
        json["error"]["details"]["reason"].clone(),
    )
}

#[tokio::test]
async fn a_database_file_that_was_moved_away_takes_no_writes_until_it_is_back() {
    let app = TestApp::new().await;
    let (file, elsewhere) = (app.data_dir.database(), app.data_dir.path().join("moved"));
    create_task(&app).await.data();
    std::fs::rename(&file, &elsewhere).unwrap();
    let refused = create_task(&app).await;
    assert_eq!(refusal(&refused), (503, json!("gone")));
    assert_eq!(refused.headers.get("retry-after"), None);
    assert_eq!(refusal(&app.get("/readyz").await), (503, json!("gone")));
    std::fs::rename(&elsewhere, &file).unwrap();
    create_task(&app).await.data();
    app.get("/readyz").await.data();
    assert_eq!(
        app.get("/api/tasks").await.data().as_array().unwrap().len(),
        2
    );
}

#[tokio::test]
async fn a_database_file_that_was_replaced_takes_no_writes() {
    let app = TestApp::new().await;
    let (file, copy) = (app.data_dir.database(), app.data_dir.path().join("copy"));
    std::fs::copy(&file, &copy).unwrap();
    std::fs::rename(&copy, &file).unwrap();
    assert_eq!(refusal(&create_task(&app).await), (503, json!("gone")));
    assert_eq!(refusal(&app.get("/readyz").await), (503, json!("gone")));
}

#[tokio::test]
async fn a_deleted_write_ahead_log_takes_no_writes() {
    let app = TestApp::new().await;
    create_task(&app).await.data();
    std::fs::remove_file(app.data_dir.path().join("chorus.db-wal")).unwrap();
    assert_eq!(refusal(&create_task(&app).await), (503, json!("gone")));
    assert_eq!(refusal(&app.get("/readyz").await), (503, json!("gone")));
}

#[tokio::test]
async fn a_locked_database_is_a_reason_to_try_again() {
    let app = TestApp::new().await;
    let other = Connection::open(app.data_dir.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = create_task(&app).await;
    assert_eq!(refusal(&refused), (503, json!("locked")));
    assert_eq!(refused.headers["retry-after"], "1");
    other.execute_batch("ROLLBACK").unwrap();
    create_task(&app).await.data();
}

#[tokio::test]
async fn readiness_notices_damaged_pages() {
    let app = TestApp::new().await;
    app.get("/readyz").await.data();
    let database = Connection::open(app.data_dir.database()).unwrap();
    database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap();
    let (page, root): (u32, u32) = database
        .query_row(
            "SELECT (SELECT page_size FROM pragma_page_size), rootpage FROM sqlite_schema WHERE name = 'handoffs'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    drop(database);
    // Not closed: closing a file would release the locks that SQLite holds on it for this process.
    let mut file = std::fs::File::options()
        .write(true)
        .open(app.data_dir.database())
        .unwrap();
    file.seek(SeekFrom::Start(u64::from(root - 1) * u64::from(page)))
        .unwrap();
    file.write_all(&vec![0xA5; usize::try_from(page).unwrap()])
        .unwrap();
    // The next scan may have to rest first.
    let refused = loop {
        let reply = app.get("/readyz").await;
        if !reply.status.is_success() {
            break reply;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(refusal(&refused), (503, json!("damaged")));
    drop(file);
}
