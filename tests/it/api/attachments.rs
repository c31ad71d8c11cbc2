//! `/api/tasks/{id}/attachments`

use axum::body::Body;
use axum::http::{Method, Request};
use chorus::config::Limits;
use insta::assert_snapshot;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::support::{Reply, TestApp};

fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

async fn attach(app: &TestApp, id: &str, name: &str, bytes: impl Into<Body>) -> Reply {
    let path = format!("/api/tasks/{id}/attachments?filename={}", encoded(name));
    app.request(Method::POST, &path, bytes).await
}

async fn fetch(app: &TestApp, id: &str, name: &str) -> Reply {
    app.get(&format!("/api/tasks/{id}/attachments/{}", encoded(name)))
        .await
}

async fn detach(app: &TestApp, id: &str, name: &str) -> Reply {
    let path = format!("/api/tasks/{id}/attachments/{}", encoded(name));
    app.request(Method::DELETE, &path, "").await
}

#[tokio::test]
async fn an_attached_file_is_part_of_the_task() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    app.clock.advance(3);
    let request = Request::post(format!("/api/tasks/{id}/attachments?filename=a.png"))
        .header("host", "localhost")
        .header("content-type", "image/png");
    let reply = app.send(request.body("twelve bytes".into()).unwrap()).await;
    let task = reply.data();
    assert_eq!(
        task["attachments"],
        json!([{ "filename": "a.png", "size": 12, "contentType": "image/png", "uploadedAt": 1_767_225_600_003_i64 }])
    );
    assert_eq!(task["updatedAt"], 1_767_225_600_003_i64);
    let file = fetch(&app, &id, "a.png").await;
    assert_eq!(
        (file.status.as_u16(), file.body.as_slice()),
        (200, b"twelve bytes".as_slice())
    );
    assert_eq!(file.headers["content-type"], "image/png");
    assert_eq!(file.headers["content-length"], "12");
    let history = app.get(&format!("/api/tasks/{id}/history")).await.data();
    assert_eq!(history["events"][1]["eventType"], "attachment_added");
    assert_eq!(
        history["events"][1]["data"],
        json!({ "filename": "a.png", "size": "12" })
    );
}

#[tokio::test]
async fn a_file_cannot_run_as_a_page_of_the_server() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let request = Request::post(format!("/api/tasks/{id}/attachments?filename=x.html"))
        .header("host", "localhost")
        .header("content-type", "text/html");
    app.send(request.body("<script>alert(1)</script>".into()).unwrap())
        .await
        .data();
    let headers = fetch(&app, &id, "x.html").await.headers;
    assert_eq!(
        headers["content-disposition"],
        "attachment; filename*=UTF-8''x%2Ehtml"
    );
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(
        headers["content-security-policy"],
        "sandbox; default-src 'none'"
    );
}

#[tokio::test]
async fn unusual_filenames_are_stored_unchanged() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let names = [
        "two words.txt",
        "\"quoted\" 'name'",
        "naïve 🎶.md",
        "100%.txt",
        "%2e%2e",
        ".env",
        "...",
        "a?b#c&d=e+f;g",
        "-rf",
        "line\u{2028}separator",
        &"x".repeat(255),
    ];
    for name in names {
        let task = attach(&app, &id, name, name.to_owned()).await.data();
        assert_eq!(
            task["attachments"].as_array().unwrap().last().unwrap()["filename"],
            name
        );
        let file = fetch(&app, &id, name).await;
        assert_eq!(file.body, name.as_bytes(), "{name}");
        let disposition = format!("attachment; filename*=UTF-8''{}", encoded(name));
        assert_eq!(file.headers["content-disposition"], disposition.as_str());
    }
    for name in names {
        assert_eq!(detach(&app, &id, name).await.status, 200, "{name}");
    }
}

#[tokio::test]
async fn a_filename_cannot_escape_its_folder() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let refused = attach(&app, &id, "../x", "b").await.line();
    assert_snapshot!(refused, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: filename: must be a plain file name: no `/` or `\\`, no control characters, not `.` or `..`"}}"#);
    for name in ["..", ".", "/etc/passwd", "a/b", "a\\b", "a\0b", "a\nb"] {
        assert_eq!(
            attach(&app, &id, name, "b").await.line(),
            refused,
            "{name:?}"
        );
    }
    assert_snapshot!(attach(&app, &id, "", "b").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: filename: must not be empty"}}"#);
    assert_snapshot!(attach(&app, &id, &"x".repeat(256), "b").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: filename: must not be longer than 255 bytes"}}"#);
    let without = app
        .request(Method::POST, &format!("/api/tasks/{id}/attachments"), "b")
        .await;
    assert_snapshot!(without.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: missing field `filename`"}}"#);
    assert!(!app.data_dir.path().join("uploads").exists());
    assert_snapshot!(fetch(&app, &id, "../../../chorus.db").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Attachment not found: ../../../chorus.db"}}"#);
    assert_snapshot!(detach(&app, &id, "..").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Attachment not found: .."}}"#);
}

#[tokio::test]
async fn a_file_may_be_empty_or_binary() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let all: Vec<u8> = (0..=255).collect();
    for (name, bytes) in [("empty", vec![]), ("all", all)] {
        let task = attach(&app, &id, name, bytes.clone()).await.data();
        let attachment = task["attachments"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        assert_eq!(attachment["size"], bytes.len());
        assert_eq!(attachment["contentType"], "application/octet-stream");
        assert_eq!(fetch(&app, &id, name).await.body, bytes);
    }
}

#[tokio::test]
async fn ten_megabytes_are_accepted_and_one_byte_more_is_refused() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let bytes = vec![b'x'; 10 * 1024 * 1024];
    let task = attach(&app, &id, "large", bytes.clone()).await.data();
    assert_eq!(task["attachments"][0]["size"], 10 * 1024 * 1024);
    assert_eq!(fetch(&app, &id, "large").await.body.len(), bytes.len());
    let larger = [bytes.as_slice(), b"x"].concat();
    assert_snapshot!(attach(&app, &id, "larger", larger).await.line(), @r#"413 {"error":{"code":"TOO_LARGE","message":"attachment is too large: the limit is 10485760 bytes","details":{"limit":10485760}}}"#);
    assert_eq!(fetch(&app, &id, "larger").await.status, 404);
}

#[tokio::test]
async fn files_and_bodies_have_separate_limits() {
    let limits = Limits {
        body: 1_000,
        attachment: 10,
        ..Limits::default()
    };
    let app = TestApp::with_limits(limits).await;
    let id = app.task("d").await;
    assert_eq!(attach(&app, &id, "a", "0123456789").await.status, 200);
    assert_snapshot!(attach(&app, &id, "b", "0123456789a").await.line(), @r#"413 {"error":{"code":"TOO_LARGE","message":"attachment is too large: the limit is 10 bytes","details":{"limit":10}}}"#);
}

#[tokio::test]
async fn a_second_file_with_the_same_name_is_a_conflict() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    attach(&app, &id, "a.txt", "first").await.data();
    assert_snapshot!(attach(&app, &id, "a.txt", "second").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Attachment already exists: a.txt. Delete it first, or choose another filename"}}"#);
    assert_eq!(fetch(&app, &id, "a.txt").await.body, b"first");
    let folder = app.data_dir.path().join("uploads").join(&id);
    assert_eq!(
        folder.read_dir().unwrap().count(),
        1,
        "the second one's bytes are gone"
    );
    let other = app.task("other").await;
    assert_eq!(attach(&app, &other, "a.txt", "b").await.status, 200);
}

#[tokio::test]
async fn deleting_a_file_deletes_its_content() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    attach(&app, &id, "a.txt", "a").await.data();
    attach(&app, &id, "b.txt", "b").await.data();
    let task = detach(&app, &id, "a.txt").await.data();
    assert_eq!(task["attachments"].as_array().unwrap().len(), 1);
    let folder = app.data_dir.path().join("uploads").join(&id);
    assert_eq!(folder.read_dir().unwrap().count(), 1);
    assert_snapshot!(fetch(&app, &id, "a.txt").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Attachment not found: a.txt"}}"#);
    assert_snapshot!(detach(&app, &id, "a.txt").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Attachment not found: a.txt"}}"#);
    assert_eq!(fetch(&app, &id, "b.txt").await.body, b"b");
    assert_eq!(attach(&app, &id, "a.txt", "again").await.status, 200);
}

#[tokio::test]
async fn a_file_missing_on_disk_is_not_found_and_can_be_deleted() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    attach(&app, &id, "a.txt", "a").await.data();
    std::fs::remove_dir_all(app.data_dir.path().join("uploads")).unwrap();
    assert_snapshot!(fetch(&app, &id, "a.txt").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Attachment a.txt is missing on disk; restore it from a backup, or delete the attachment and upload it again"}}"#);
    let task = app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(task["attachments"][0]["filename"], "a.txt");
    assert_eq!(detach(&app, &id, "a.txt").await.status, 200);
}

#[tokio::test]
async fn an_unreadable_content_type_falls_back_to_bytes() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let request = Request::post(format!("/api/tasks/{id}/attachments?filename=a"))
        .header("host", "localhost")
        .header("content-type", b"text/\xff".as_slice());
    let task = app.send(request.body("a".into()).unwrap()).await.data();
    assert_eq!(
        task["attachments"][0]["contentType"],
        "application/octet-stream"
    );
}
