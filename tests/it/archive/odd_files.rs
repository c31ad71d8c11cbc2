//! Archives with links, pipes and odd names: a clear error, and nothing is imported.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use axum::http::Method;
use chorus::engine::archive::{ArchiveError, BadFile};

use super::{export, import};
use crate::support::TestApp;

/// Exports one task with an attachment. Returns its folder, too.
async fn archive() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let app = TestApp::new().await;
    let task = app.task("one").await;
    let path = format!("/api/tasks/{task}/attachments?filename=a.txt");
    app.request(Method::POST, &path, "bytes").await.data();
    let (folder, archive) = export(&app).await;
    let of_task = archive.join("registry").join(task);
    (folder, archive, of_task)
}

fn replace_by_pipe(path: &Path) {
    std::fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn replace_by_link(path: &Path) {
    let outside = path.ancestors().nth(4).unwrap().join("outside");
    std::fs::rename(path, &outside).unwrap();
    symlink(outside, path).unwrap();
}

/// Imports an archive that must be refused, into an empty ledger that must stay empty.
async fn refused(archive: &Path) -> Vec<String> {
    let app = TestApp::new().await;
    let imported = tokio::time::timeout(Duration::from_mins(1), import(&app, archive, false)).await;
    let bad = match imported.expect("the import hangs") {
        Err(ArchiveError::Bad(bad)) => bad,
        other => panic!("{other:?}"),
    };
    assert_eq!(app.get("/api/tasks").await.data(), serde_json::json!([]));
    let uploads = app.data_dir.path().join("uploads");
    let left = uploads.read_dir().map_or(0, Iterator::count);
    assert_eq!(left, 0, "attachments are left behind");
    bad.iter().map(BadFile::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_plain_files_are_read() {
    for (name, replace, reason) in [
        (
            "task.json",
            replace_by_pipe as fn(&Path),
            "is not a plain file",
        ),
        ("messages.json", replace_by_pipe, "is not a plain file"),
        ("attachments/a.txt", replace_by_pipe, "is not a plain file"),
        ("task.json", replace_by_link, "is a symbolic link"),
        ("attachments", replace_by_link, "is a symbolic link"),
        ("attachments/a.txt", replace_by_link, "is a symbolic link"),
    ] {
        let (_folder, archive, of_task) = archive().await;
        let path = of_task.join(name);
        if name == "messages.json" {
            std::fs::write(&path, "").unwrap();
        }
        replace(&path);
        let bad = refused(&archive).await;
        assert!(
            bad.len() == 1 && bad[0].contains(&format!("{name}: {reason}")),
            "{name}: {bad:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_of_the_archive_are_no_links_and_no_files() {
    let (_folder, archive, _) = archive().await;
    let agents = archive.join("agents");
    let elsewhere = archive.join("../elsewhere");
    std::fs::rename(&agents, &elsewhere).unwrap();
    symlink(&elsewhere, &agents).unwrap();
    std::fs::write(archive.join("tools"), "").unwrap();
    let bad = refused(&archive).await.join("\n");
    assert!(
        bad.contains("agents: is a symbolic link") && bad.contains("tools: is not a folder"),
        "{bad}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_and_duplicates_are_reported() {
    let index = |archive: &Path| archive.join("registry/registry.json");
    // An id that leaves the archive.
    let (_folder, path, of_task) = archive().await;
    let id = of_task.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(index(&path)).unwrap();
    std::fs::write(index(&path), text.replace(id, "../../etc")).unwrap();
    let bad = refused(&path).await.join("\n");
    assert!(
        bad.contains("registry/registry.json:") && bad.contains("may only have letters"),
        "{bad}"
    );
    // A task that is listed twice.
    let (_folder, path, _) = archive().await;
    let mut registry: serde_json::Value =
        serde_json::from_slice(&std::fs::read(index(&path)).unwrap()).unwrap();
    let task = registry["tasks"][0].clone();
    registry["tasks"].as_array_mut().unwrap().push(task);
    std::fs::write(index(&path), registry.to_string()).unwrap();
    let bad = refused(&path).await.join("\n");
    assert!(bad.contains("is listed twice in the index"), "{bad}");
    // A name with a line break, which must not look like another message, and quotes.
    let (_folder, path, _) = archive().await;
    std::fs::write(path.join("agents/x\n\"y'.json"), "{}").unwrap();
    let bad = refused(&path).await;
    assert!(
        bad.len() == 1 && bad[0].starts_with("agents/x\u{fffd}\"y'.json:"),
        "{bad:?}"
    );
    // A name that is not UTF-8.
    let (_folder, path, _) = archive().await;
    std::fs::write(
        path.join("agents")
            .join(std::ffi::OsStr::from_bytes(b"\xff.json")),
        "{}",
    )
    .unwrap();
    let bad = refused(&path).await.join("\n");
    assert!(
        bad.starts_with("agents: ") && bad.ends_with("is not UTF-8"),
        "{bad}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_do_not_fit_into_memory_are_refused() {
    let (_folder, path, of_task) = archive().await;
    let huge = |file: &Path| {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file);
        // A sparse file, which takes no room on the disk.
        file.unwrap().set_len(3_000_000_000).unwrap();
    };
    for name in [
        "ledger.json",
        "events.json",
        "agents/qa.json",
        "tools/x.json",
    ] {
        std::fs::create_dir_all(path.join("tools")).unwrap();
        huge(&path.join(name));
    }
    huge(&of_task.join("task.json"));
    let bad = refused(&path).await.join("\n");
    for (name, limit) in [
        ("ledger.json", 256_000_000),
        ("events.json", 1_000_000_000),
        ("agents/qa.json", 64_000_000),
        ("tools/x.json", 64_000_000),
        ("task.json", 1_000_000_000),
    ] {
        let expected =
            format!("{name}: has 3000000000 bytes, which is more than the limit of {limit}");
        assert!(bad.contains(&expected), "{expected}: {bad}");
    }
    let (_folder, path, of_task) = archive().await;
    huge(&of_task.join("attachments/a.txt"));
    let bad = refused(&path).await.join("\n");
    assert!(bad.contains("more than the limit of 1000000000"), "{bad}");
}
