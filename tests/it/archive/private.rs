//! Only the user who exports can read an archive.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use axum::http::Method;

use super::export;
use super::tables::filled;

/// Lists the files and folders that others can open, whatever the process allows by default.
fn open_to_others(path: &Path) -> Vec<String> {
    let file = path.symlink_metadata().unwrap();
    let mut open = Vec::new();
    let expected = if file.is_dir() { 0o700 } else { 0o600 };
    if file.permissions().mode() & 0o777 != expected {
        open.push(path.display().to_string());
    }
    if file.is_dir() {
        for entry in path.read_dir().unwrap() {
            open.extend(open_to_others(&entry.unwrap().path()));
        }
    }
    open
}

#[tokio::test]
async fn only_the_owner_can_open_an_archive() {
    let app = filled().await;
    let path = "/api/tasks/task-1/attachments?filename=secret.txt";
    app.request(Method::POST, path, "bytes").await.data();
    let (_folder, archive) = export(&app).await;
    let copy = archive.join("registry/task-1/attachments/secret.txt");
    assert_eq!(std::fs::read(copy).unwrap(), b"bytes");
    assert_eq!(open_to_others(&archive), Vec::<String>::new());
}
