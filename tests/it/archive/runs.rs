//! Damaged files of runs, links and events, and archives of earlier versions.

use std::path::Path;

use chorus::engine::archive::ArchiveError;
use serde_json::{Value, json};

use super::tables::filled;
use super::{assert_same_files, export, import};
use crate::support::TestApp;

type Damage = fn(&mut Value);

fn change(archive: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = archive.join(file);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

async fn assert_refused(archive: &Path, words: &str) {
    let other = TestApp::unseeded().await;
    match import(&other, archive, false).await {
        Err(ArchiveError::Bad(bad)) => {
            let named: Vec<_> = bad.iter().map(ToString::to_string).collect();
            assert!(named.join("\n").contains(words), "{words}: {named:?}");
        }
        other => panic!("{words}: {other:?}"),
    }
    assert_eq!(other.get("/api/tasks").await.data(), json!([]));
}

#[tokio::test]
async fn damaged_runs_links_and_events_are_reported_and_nothing_is_imported() {
    let app = filled().await;
    let runs = "registry/task-2/runs.json";
    let links = "registry/task-2/links.json";
    let cases: &[(&str, Damage, &str)] = &[
        (
            runs,
            |file| file["runs"][0]["handoffId"] = json!("h-1"),
            "run r-2 names hand-off h-1, which is not a hand-off of the task",
        ),
        (
            runs,
            |file| file["runs"][0]["id"] = json!("r-3"),
            "run id r-3 is used twice",
        ),
        (
            runs,
            |file| file["runs"][0]["id"] = json!("r-1"),
            "run id r-1 is used twice",
        ),
        (
            runs,
            |file| file["runs"][0]["id"] = json!("../r"),
            "runs.json",
        ),
        (
            runs,
            |file| file["runs"][0]["attempt"] = json!(2),
            "attempt 2 is used twice",
        ),
        (
            runs,
            |file| file["runs"][0]["attempt"] = json!(0),
            "`attempt` must be 1 or more",
        ),
        (
            runs,
            |file| file["runs"][0]["sessionId"] = json!("--yolo"),
            "must begin with a letter or a digit",
        ),
        (
            runs,
            |file| file["runs"][0]["costUsd"] = json!(-1),
            "`costUsd` must be 0 or more",
        ),
        (
            runs,
            |file| file["runs"][0]["lastError"] = json!("\0"),
            "NUL",
        ),
        (
            runs,
            |file| file["runs"][0]["color"] = json!(1),
            "unknown key",
        ),
        (
            runs,
            |file| {
                let run = &mut file["runs"][1];
                (run["state"], run["outcome"], run["endedAt"]) =
                    (json!("running"), Value::Null, Value::Null);
            },
            "run r-3 has not ended, but its hand-off has",
        ),
        (runs, |file| *file = json!([]), "runs.json"),
        (
            links,
            |file| file["handoffs"][0]["handoffId"] = json!("h-1"),
            "names h-1, which is not a hand-off of the task",
        ),
        (
            links,
            |file| file["handoffs"] = json!([file["handoffs"][0], file["handoffs"][0]]),
            "hand-off h-2 is listed twice",
        ),
        (
            links,
            |file| file["unsuited"] = json!(true),
            "`unsuited` requires a `waitingReason`",
        ),
        (
            "registry/task-2/history.json",
            |file| file["events"][0]["number"] = json!(1),
            "event number 1 is used twice",
        ),
        (
            "registry/task-2/history.json",
            |file| file["events"][0]["number"] = json!(i64::MAX),
            "is not between 1 and",
        ),
        (
            "registry/task-1/messages.json",
            |file| file["messages"][0]["number"] = json!(i64::MAX),
            "is not between 1 and",
        ),
        (
            "events.json",
            |file| file["events"][0]["handoffId"] = json!("h-1"),
            "it belongs to the history of that task",
        ),
        (
            "mail/m-1.json",
            |file| file["recipients"][0]["deliveredAt"] = Value::Null,
            "`handoffId` without `deliveredAt`",
        ),
        (
            "ledger.json",
            |file| file["tags"] = json!({}),
            "ledger.json",
        ),
    ];
    for (file, damage, words) in cases {
        let (_folder, archive) = export(&app).await;
        change(&archive, file, damage);
        assert_refused(&archive, words).await;
    }
    for bytes in [&b"\xff\xfe"[..], b"", b"{\"runs\": ["] {
        let (_folder, archive) = export(&app).await;
        std::fs::write(archive.join(runs), bytes).unwrap();
        assert_refused(&archive, "runs.json").await;
    }
}

#[tokio::test]
async fn links_that_contradict_the_ledger_are_left_out() {
    let app = filled().await;
    let (_folder, archive) = export(&app).await;
    // The waiter does not exist, so nobody asked; the limits cannot count from a hand-off that counts from another one.
    change(&archive, "registry/task-2/links.json", |file| {
        file["handoffs"][0]["waiterHandoffId"] = json!("gone");
    });
    change(&archive, "registry/task-7/links.json", |file| {
        file["handoffs"][0]["countedFromHandoffId"] = json!("h-2");
    });
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    let connection = rusqlite::Connection::open(other.data_dir.database()).unwrap();
    let counted: (i64, i64, i64) = connection
        .query_row(
            "SELECT (SELECT count(*) FROM delegations), count(asked_number), count(counted_from_number) FROM handoffs",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(counted, (0, 0, 1));
}

#[tokio::test]
async fn runs_of_tasks_in_the_database_are_not_imported_again() {
    let app = filled().await;
    let (_folder, archive) = export(&app).await;
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    let (_second, second) = export(&other).await;
    for file in ["registry/registry.json", "registry/task-2/task.json"] {
        let path = second.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"task-2\"", "\"task-9\"")).unwrap();
    }
    std::fs::rename(
        second.join("registry/task-2"),
        second.join("registry/task-9"),
    )
    .unwrap();
    let Err(ArchiveError::Bad(bad)) = import(&other, &second, false).await else {
        panic!("the archive was imported");
    };
    let named: Vec<_> = bad.iter().map(ToString::to_string).collect();
    let expected =
        "registry/task-9/task.json: hand-off h-2 is already in the database, on another task";
    assert!(named.iter().any(|bad| bad == expected), "{named:?}");
}

/// Removes what archives of earlier versions do not have.
fn make_old(archive: &Path) {
    for file in ["ledger.json", "events.json"] {
        std::fs::remove_file(archive.join(file)).unwrap();
    }
    for folder in std::fs::read_dir(archive.join("registry")).unwrap() {
        let folder = folder.unwrap().path();
        for file in ["runs.json", "links.json"] {
            let _ = std::fs::remove_file(folder.join(file));
        }
        if let Ok(text) = std::fs::read(folder.join("history.json")) {
            let mut history: Value = serde_json::from_slice(&text).unwrap();
            for event in history["events"].as_array_mut().unwrap() {
                event.as_object_mut().unwrap().remove("number");
            }
            std::fs::write(folder.join("history.json"), history.to_string()).unwrap();
        }
    }
}

#[tokio::test]
async fn an_archive_of_an_earlier_version_is_imported() {
    let app = filled().await;
    let (_folder, archive) = export(&app).await;
    make_old(&archive);
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    // An open hand-off has a run that the next server ends.
    let open = other.get("/api/tasks/task-1/handoffs").await.data();
    assert_eq!(open[0]["run"]["state"], "running");
    let (_second, second) = export(&other).await;
    let third = TestApp::unseeded().await;
    import(&third, &second, false).await.unwrap();
    let (_third, again) = export(&third).await;
    assert_same_files(&second, &again);
}

/// Writes a registry as it was before hand-offs existed, without agents.
fn write_old_registry(archive: &Path) {
    let summary = json!({ "id": "old", "description": "Before", "status": { "type": "pending" }, "createdAt": 1, "updatedAt": 2 });
    let mut task = summary.clone();
    task["taskType"] = json!("descriptionOnly");
    task["sessionId"] = Value::Null;
    task["source"] = json!({ "sourceType": "api", "userId": "anonymous", "conversationId": null });
    task["agentWorkspace"] = json!("/tmp");
    task["attachments"] = json!([]);
    let folder = archive.join("registry/old");
    std::fs::create_dir_all(&folder).unwrap();
    for (path, value) in [
        (
            archive.join("registry/registry.json"),
            json!({ "version": 1, "tasks": [summary] }),
        ),
        (folder.join("task.json"), task),
        (folder.join("history.json"), json!({ "events": [] })),
        (folder.join("queue.json"), json!({ "messages": [] })),
    ] {
        std::fs::write(path, value.to_string()).unwrap();
    }
}

#[tokio::test]
async fn a_registry_from_before_handoffs_is_imported_and_does_not_prevent_the_default_agents() {
    let folder = tempfile::tempdir().unwrap();
    write_old_registry(folder.path());
    let app = TestApp::unseeded().await;
    import(&app, folder.path(), false).await.unwrap();
    let task = app.get("/api/tasks/old").await.data();
    assert_eq!(
        (&task["currentAgent"], &task["agentChain"]),
        (&Value::Null, &json!([]))
    );
    let seeded = app.write(|tx| {
        let seeded = chorus::ledger::agent::seed(tx, &chorus::engine::default_agents())?;
        Ok(seeded + chorus::ledger::agent::seed_specialists(tx, &chorus::engine::specialists())?)
    });
    assert_eq!(seeded.await.unwrap(), 9);
}

#[tokio::test]
async fn an_export_without_its_agents_does_not_prevent_the_default_agents() {
    let app = TestApp::new().await;
    let (_folder, archive) = export(&app).await;
    std::fs::remove_dir_all(archive.join("agents")).unwrap();
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    let seeded =
        other.write(|tx| chorus::ledger::agent::seed(tx, &chorus::engine::default_agents()));
    assert_eq!(seeded.await.unwrap(), 5);
}
