//! Export and import of tasks, agents, tools and sessions.

use std::path::Path;
use std::process::Stdio;

use chorus::config::Limits;
use chorus::engine::archive::{ArchiveError, BadFile, ExportOptions};
use chorus::ledger::agent;
use rustix::fs::inotify;
use serde_json::{Value, json};

use super::{assert_same_files, export, import};
use crate::support::{Chorus, TestApp, env_number};

/// Opens an installation that accepts larger texts than the one that imports them.
async fn without_limits() -> TestApp {
    TestApp::with_limits(Limits {
        text: usize::MAX,
        ..Limits::default()
    })
    .await
}

/// Performs every operation on tasks, with content that is odd but legal.
async fn create_odd_content(app: &TestApp) {
    let plain = app.task("Plain").await;
    let large = app
        .task(&"large ünd böse 🎶 ".repeat(3 * 1024 * 1024 / 21))
        .await;
    let odd = app.task("tabs\t, quotes \" ' `, \\ backslash, \u{1} \u{7f} \u{feff} \u{202e} \r\n line, </script>").await;
    app.put(
        &format!("/api/tasks/{odd}/planning"),
        json!({ "summary": "", "plan": ["", "🎶"] }),
    )
    .await
    .data();
    app.put(
        &format!("/api/tasks/{plain}/status"),
        json!({ "status": { "type": "failed", "message": "" } }),
    )
    .await
    .data();
    for (task, agent, output) in [
        (&plain, "qa", ""),
        (&plain, "developer", "{\"not\": \"parsed\"}"),
        (&large, "qa", "ok"),
    ] {
        app.clock.advance(1234);
        let handoff = json!({ "agentName": agent, "prompt": "Do\nit", "reason": if output.is_empty() { Value::Null } else { json!("") } });
        app.post(&format!("/api/tasks/{task}/handoff"), handoff)
            .await
            .data();
        app.put(
            &format!("/api/tasks/{task}/handoff/complete"),
            json!({ "output": output }),
        )
        .await
        .data();
    }
    app.post(
        &format!("/api/tasks/{odd}/handoff"),
        json!({ "agentName": "planner", "prompt": "Stays open" }),
    )
    .await
    .data();
    app.post(
        &format!("/api/tasks/{large}/handoff"),
        json!({ "agentName": "qa", "prompt": "x" }),
    )
    .await
    .data();
    app.post(
        &format!("/api/tasks/{large}/handoff/cancel"),
        json!({ "reason": "no 🎶" }),
    )
    .await
    .data();
    app.post(
        &format!("/api/tasks/{odd}/queue"),
        json!({ "content": "first" }),
    )
    .await
    .data();
    app.post(
        &format!("/api/tasks/{odd}/queue"),
        json!({ "content": "second 🎶" }),
    )
    .await
    .data();
    let file = "/attachments?filename=two%20words%20%F0%9F%8E%B6.bin";
    app.request(
        axum::http::Method::POST,
        &format!("/api/tasks/{odd}{file}"),
        vec![0_u8, 255, 10],
    )
    .await
    .data();
    app.request(
        axum::http::Method::POST,
        &format!("/api/tasks/{odd}/attachments?filename=empty"),
        "",
    )
    .await
    .data();
    create_transfers_and_sessions(app).await;
}

/// Transfers a task twice, adds messages in between, and moves two sessions back and forth.
async fn create_transfers_and_sessions(app: &TestApp) {
    for (name, target) in [("to_qa", "qa"), ("to_planner", "planner")] {
        let tool = json!({
            "name": name, "description": "🎶 \" \n", "targetAgent": target, "handoffInstructions": "\t",
            "contextVariables": [{ "name": "z", "type": "object" }, { "name": "a", "type": "number", "required": true }],
            "allowedAgents": if target == "qa" { Value::Null } else { json!(["qa", "developer"]) },
        });
        app.operator().post("/api/tools", tool).await.data();
    }
    let mut task = app.task("Moves on").await;
    let add_message = async |task: &str, content: &str| {
        let body = json!({ "type": "assistant_message", "content": content });
        app.post(&format!("/api/tasks/{task}/messages"), body)
            .await
            .data();
    };
    let handoff = json!({ "agentName": "developer", "prompt": "Begin" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    for tool in ["to_qa", "to_planner"] {
        app.clock.advance(7);
        add_message(&task, tool).await;
        let path = format!("/api/tasks/{task}/tools/{tool}");
        let body = json!({ "a": 1.5, "z": { "nul": "\u{0}", "b": [1, null] } });
        let child = app.post(&path, body).await.data();
        child["id"].as_str().unwrap().clone_into(&mut task);
    }
    for (place, (from, to)) in [("qa", "planner"), ("planner", "qa")]
        .into_iter()
        .enumerate()
    {
        for session in ["odd 🎶 / \" id", "plain"] {
            let session =
                percent_encoding::utf8_percent_encode(session, percent_encoding::NON_ALPHANUMERIC);
            let body = json!({
                "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "u", "invoke": place == 1,
                "harnessTraceId": if place == 0 { Value::Null } else { json!("h") },
                "conversationHistory": [{ "role": "user", "content": "\u{0} 🎶", "more": [true] }],
            });
            app.post(&format!("/api/sessions/{session}/handoffs"), body)
                .await
                .data();
        }
    }
}

/// Removes runs, which an archive does not have.
fn without_runs(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => {
            for item in items {
                *item = without_runs(item.take());
            }
        }
        Value::Object(fields) => {
            fields.remove("run");
            fields.remove("live");
            for field in fields.values_mut() {
                *field = without_runs(field.take());
            }
        }
        _ => {}
    }
    value
}

#[tokio::test]
async fn an_imported_archive_is_exported_identically() {
    let app = without_limits().await;
    create_odd_content(&app).await;
    let (_first, first) = export(&app).await;
    let other = TestApp::unseeded().await;
    let report = import(&other, &first, false).await.unwrap();
    let imported = report.imported;
    assert_eq!((imported.tasks, imported.agents, imported.tools), (8, 5, 2));
    assert!(report.left_out.is_empty() && report.missing_attachments.is_empty());
    let (_second, second) = export(&other).await;
    assert_same_files(&first, &second);
    // Data without a file of its own is imported as well.
    let last = app.get("/api/tasks").await.data()[5]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for path in [
        format!("/api/tasks/{last}/conversation"),
        "/api/sessions".to_owned(),
        "/api/sessions/plain/handoffs".to_owned(),
        "/api/sessions/plain/handoffs/count?from=qa".to_owned(),
        format!("/api/tasks/{last}/tree"),
        "/api/handoffs?trace=h".to_owned(),
    ] {
        let (before, after) = (app.get(&path).await.data(), other.get(&path).await.data());
        assert_eq!(without_runs(before), without_runs(after), "{path}");
    }
    // The imported open hand-off can be completed, and its run with it.
    let open = other.get("/api/tasks?status=active").await.data()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        other
            .get(&format!("/api/tasks/{open}/handoffs"))
            .await
            .data()[0]["run"]["state"],
        "queued"
    );
    other
        .put(
            &format!("/api/tasks/{open}/handoff/complete"),
            json!({ "output": "done" }),
        )
        .await
        .data();
    assert!(other.db.problems().await.unwrap().is_empty());
}

#[tokio::test]
async fn deleted_agents_stay_deleted_after_an_import() {
    let app = TestApp::new().await;
    let (_folder, archive) = export(&app).await;
    for name in [
        "qa",
        "planner",
        "orchestrator",
        "developer",
        "developer-review",
    ] {
        std::fs::remove_file(archive.join(format!("agents/{name}.json"))).unwrap();
    }
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    assert_eq!(
        other
            .write(|tx| agent::seed(tx, &chorus::engine::default_agents()))
            .await
            .unwrap(),
        0
    );
    assert_eq!(other.get("/api/agents").await.data(), json!([]));
}

/// Removes `isPrompt` from all messages of an archive, and returns how many had it.
fn remove_prompt_keys(archive: &Path) -> usize {
    let mut removed = 0;
    for folder in std::fs::read_dir(archive.join("registry")).unwrap() {
        let file = folder.unwrap().path().join("messages.json");
        if let Ok(text) = std::fs::read_to_string(&file) {
            let lines = text.lines();
            let kept: Vec<_> = lines
                .filter(|line| !line.contains("\"isPrompt\""))
                .collect();
            removed += text.lines().count() - kept.len();
            std::fs::write(file, kept.join("\n")).unwrap();
        }
    }
    removed
}

#[tokio::test]
async fn an_archive_without_prompt_keys_is_imported() {
    let app = without_limits().await;
    create_odd_content(&app).await;
    let (_new, new) = export(&app).await;
    let (_old, old) = export(&app).await;
    assert!(remove_prompt_keys(&old) > 5);
    let other = TestApp::unseeded().await;
    import(&other, &old, false).await.unwrap();
    let (_again, again) = export(&other).await;
    assert_same_files(&new, &again);
}

/// Writes a minimal archive, which has only the documented keys.
pub fn write_minimal_archive(folder: &Path, ids: &[&str]) {
    let summary = |id: &str| json!({ "id": id, "description": "By hand", "status": { "type": "waiting" }, "createdAt": 1, "updatedAt": 2, "currentAgent": null });
    let write = |file: String, value: Value| {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    };
    let summaries: Vec<_> = ids.iter().map(|id| summary(id)).collect();
    write(
        "registry/registry.json".into(),
        json!({ "version": 1, "tasks": summaries }),
    );
    for id in ids {
        let task = json!({
            "taskType": "descriptionOnly", "id": id, "description": "By hand", "status": { "type": "waiting" },
            "createdAt": 1, "updatedAt": 2, "sessionId": null,
            "source": { "sourceType": "api", "userId": "anonymous", "conversationId": null },
            "agentWorkspace": "/tmp", "attachments": [], "currentAgent": null,
            "agentChain": [{ "agentName": "qa", "startedAt": 1, "completedAt": 2, "output": "fine" }],
        });
        write(format!("registry/{id}/task.json"), task);
        let created = json!({ "timestamp": 1, "eventType": "task_created", "data": { "description": "By hand" } });
        write(
            format!("registry/{id}/history.json"),
            json!({ "events": [created] }),
        );
        write(
            format!("registry/{id}/queue.json"),
            json!({ "messages": [] }),
        );
    }
    let agent = json!({ "name": "qa", "specPath": "agents/qa.md", "allowedTools": "Read", "permissionMode": "default" });
    write("agents/qa.json".into(), agent);
}

pub fn replace_in_file(archive: &Path, file: &str, from: &str, to: &str) {
    let path = archive.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[tokio::test]
async fn unusual_ids_and_documented_keys_alone_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(100);
    let ids = [
        "7",
        "A.b_c-D",
        "0198F3C0-AAAA-7000-8000-000000000000",
        "-",
        "__proto__",
        long.as_str(),
    ];
    write_minimal_archive(folder.path(), &ids);
    let app = TestApp::unseeded().await;
    import(&app, folder.path(), false).await.unwrap();
    for id in ids {
        assert_eq!(
            app.get(&format!("/api/tasks/{id}")).await.data()["agentChain"][0]["output"],
            "fine"
        );
    }
    let (_first, first) = export(&app).await;
    let other = TestApp::unseeded().await;
    import(&other, &first, false).await.unwrap();
    let (_second, second) = export(&other).await;
    assert_same_files(&first, &second);
}

/// Imports an archive with one replaced text, and returns the report.
pub async fn import_report(file: &str, from: &str, to: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    write_minimal_archive(folder.path(), &["good", "bad"]);
    replace_in_file(folder.path(), file, from, to);
    let app = TestApp::unseeded().await;
    let Err(ArchiveError::Bad(bad)) = import(&app, folder.path(), false).await else {
        panic!("the archive was imported")
    };
    assert_eq!(
        app.get("/api/tasks").await.data(),
        json!([]),
        "nothing is imported from a bad archive"
    );
    assert_eq!(app.get("/api/agents").await.data(), json!([]));
    bad.iter()
        .map(BadFile::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn a_bad_file_is_reported_with_its_name_and_line() {
    let task = "registry/bad/task.json";
    for (file, from, to, report) in [
        (
            task,
            "\"By hand\"",
            "\"a\\u0000b\"",
            "registry/bad/task.json:4: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it",
        ),
        (
            task,
            "\"createdAt\": 1",
            "\"createdAt\": \"1\"",
            "registry/bad/task.json:8: invalid type: string \"1\", expected i64",
        ),
        (
            task,
            "\"currentAgent\": null",
            "\"currentAgent\": \"qa\"",
            "registry/bad/task.json: `currentAgent` must be the agent of the open entry of `agentChain`, or null if no entry is open",
        ),
        (
            task,
            "\"sessionId\": null",
            "\"sessionId\": null, \"color\": 1",
            "registry/bad/task.json:10: unknown key `color`",
        ),
        (
            task,
            "\"id\": \"bad\"",
            "\"id\": \"other\"",
            "registry/bad/task.json: contains the task other, not bad",
        ),
        (
            task,
            "{",
            "",
            "registry/bad/task.json:2: invalid type: string \"taskType\", expected a task",
        ),
        (
            "registry/bad/history.json",
            "\"task_created\"",
            "3",
            "registry/bad/history.json:5: invalid type: integer `3`, expected a string",
        ),
        (
            "registry/bad/queue.json",
            "[]",
            "[",
            "registry/bad/queue.json:3: expected value",
        ),
        (
            "registry/registry.json",
            "\"version\": 1",
            "\"version\": 2",
            "registry/registry.json: version 2 is unknown; this Chorus reads version 1",
        ),
        (
            "registry/registry.json",
            "\"id\": \"bad\"",
            "\"id\": \"../bad\"",
            "registry/registry.json:15: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`",
        ),
        (
            "registry/registry.json",
            "\"id\": \"bad\"",
            "\"id\": \"good\"",
            "registry/bad: is not listed in registry/registry.json\nregistry/good/task.json: task good is listed twice in the index",
        ),
        (
            "agents/qa.json",
            "\"qa\"",
            "\"other\"",
            "agents/qa.json: contains the agent other; rename it to other.json",
        ),
        (
            "agents/qa.json",
            "\"Read\"",
            "\"Read\", \"tool\": 1",
            "agents/qa.json:4: unknown key `tool`",
        ),
    ] {
        assert_eq!(import_report(file, from, to).await, report);
    }
}

#[tokio::test]
async fn all_bad_files_are_reported_together_and_can_be_skipped() {
    let folder = tempfile::tempdir().unwrap();
    write_minimal_archive(folder.path(), &["one", "two", "three", "four"]);
    replace_in_file(
        folder.path(),
        "registry/one/task.json",
        "By hand",
        "\\u0000",
    );
    std::fs::remove_file(folder.path().join("registry/two/queue.json")).unwrap();
    replace_in_file(folder.path(), "agents/qa.json", "default", "\\ud800");
    let app = TestApp::unseeded().await;
    let Err(ArchiveError::Bad(bad)) = import(&app, folder.path(), false).await else {
        panic!("the archive was imported")
    };
    let files: Vec<_> = bad.iter().map(|bad| bad.file.to_str().unwrap()).collect();
    assert_eq!(
        files,
        [
            "registry/one/task.json",
            "registry/two/queue.json",
            "agents/qa.json"
        ]
    );
    let report = import(&app, folder.path(), true).await.unwrap();
    assert_eq!(
        (
            report.imported.tasks,
            report.imported.agents,
            report.left_out
        ),
        (2, 0, bad)
    );
    // The second import finds the imported tasks in the database.
    let report = import(&app, folder.path(), true).await.unwrap();
    assert_eq!((report.imported.tasks, report.left_out.len()), (0, 5));
    assert!(
        report
            .left_out
            .iter()
            .any(|bad| bad.message == "task three is already in the database")
    );
}

#[tokio::test]
async fn an_agent_with_another_configuration_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    write_minimal_archive(folder.path(), &[]);
    let app = TestApp::new().await;
    let before = app.get("/api/agents/qa").await.data();
    let Err(ArchiveError::Bad(bad)) = import(&app, folder.path(), false).await else {
        panic!("the archive was imported")
    };
    assert_eq!(
        bad[0].to_string(),
        "agents/qa.json: agent qa is already in the database with a different configuration"
    );
    assert_eq!(app.get("/api/agents/qa").await.data(), before);
}

#[tokio::test]
async fn attachments_without_bytes_are_reported() {
    let app = TestApp::new().await;
    let task = app.task("With a file").await;
    app.post(
        &format!("/api/tasks/{task}/attachments?filename=a"),
        json!(1),
    )
    .await
    .data();
    let (_first, first) = export(&app).await;
    std::fs::remove_dir_all(first.join(format!("registry/{task}/attachments"))).unwrap();
    let other = TestApp::unseeded().await;
    let report = import(&other, &first, false).await.unwrap();
    assert_eq!(
        report.missing_attachments,
        [Path::new(&format!("registry/{task}/attachments/a"))]
    );
    assert_eq!(
        other
            .get(&format!("/api/tasks/{task}/attachments/a"))
            .await
            .error(),
        (404, "NOT_FOUND".to_owned())
    );
    assert_eq!(
        other.get(&format!("/api/tasks/{task}")).await.data()["attachments"][0]["filename"],
        "a"
    );
}

#[tokio::test]
async fn an_export_into_a_folder_with_files_is_refused() {
    let app = TestApp::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "").unwrap();
    let refused = app
        .engine
        .export(folder.path(), ExportOptions::default(), |_| {})
        .await;
    assert!(matches!(refused, Err(ArchiveError::NotEmpty(_))));
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    let refused = import(&app, folder.path(), false).await;
    assert!(matches!(refused, Err(ArchiveError::NotAnArchive(_))));
}

#[test]
fn a_large_archive_is_imported_and_exported_by_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, data, out) = (
        folder.path().join("in"),
        folder.path().join("data"),
        folder.path().join("out"),
    );
    let ids: Vec<_> = (0..env_number("CHORUS_TEST_TASKS", 300))
        .map(|number| format!("task-{number}"))
        .collect();
    write_minimal_archive(
        &archive,
        &ids.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let run = |arguments: [&str; 4]| Chorus::new(arguments).transcript();
    let (archive, data, out) = (
        archive.to_str().unwrap(),
        data.to_str().unwrap(),
        out.to_str().unwrap(),
    );
    let count = ids.len();
    assert_eq!(
        run(["import", archive, "--data-dir", data]),
        format!(
            "exit 0\n--- stdout\nImported {count} tasks and 1 agent; skipped 0 files\n--- stderr\n"
        )
    );
    assert_eq!(
        run(["export", out, "--data-dir", data]),
        format!("exit 0\n--- stdout\nExported {count} tasks and 1 agent to {out}\n--- stderr\n")
    );
    let index = |path: &str| -> Value {
        serde_json::from_slice(
            &std::fs::read(Path::new(path).join("registry/registry.json")).unwrap(),
        )
        .unwrap()
    };
    assert_eq!(index(out), index(archive));
}

/// Kills an import when it inserts the first task. Returns whether the import had not ended by itself.
fn kill_import(archive: &str, data_dir: &str) -> bool {
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    let first = Path::new(archive).join("registry/task-0/queue.json");
    inotify::add_watch(&watch, first, inotify::WatchFlags::OPEN).unwrap();
    let mut import = Chorus::new(["import", archive, "--data-dir", data_dir])
        .stdout(Stdio::null())
        .spawn();
    // The file is opened by the check, and again by the insert.
    let mut opened = 0;
    let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    while opened < 2 && import.try_wait().unwrap().is_none() {
        match events.next() {
            Ok(_) => opened += 1,
            Err(error) => assert_eq!(error, rustix::io::Errno::AGAIN),
        }
        std::thread::yield_now();
    }
    // An error means that the import has ended.
    let _ = import.kill();
    import.wait().unwrap().code().is_none()
}

#[test]
fn a_killed_import_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("in");
    let ids: Vec<_> = (0..2000).map(|number| format!("task-{number}")).collect();
    write_minimal_archive(
        &archive,
        &ids.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let archive = archive.to_str().unwrap();
    // On a busy machine an import may end before the kill.
    for attempt in 0.. {
        assert!(attempt < 20, "no import was killed in time");
        let path = |name: &str| folder.path().join(format!("{name}-{attempt}"));
        let (data, out) = (path("data"), path("out"));
        let (data_dir, out) = (data.to_str().unwrap(), out.to_str().unwrap());
        let was_killed = kill_import(archive, data_dir);
        let exported = |tasks: u32, agents: u32| {
            format!(
                "exit 0\n--- stdout\nExported {tasks} tasks and {agents} {} to {out}\n--- stderr\n",
                if agents == 1 { "agent" } else { "agents" }
            )
        };
        let transcript = Chorus::new(["export", out, "--data-dir", data_dir]).transcript();
        if was_killed && transcript == exported(0, 0) {
            return;
        }
        assert_eq!(transcript, exported(2000, 1));
    }
}

#[tokio::test]
async fn bad_tools_conversations_and_sessions_are_reported() {
    let app = TestApp::new().await;
    create_transfers_and_sessions(&app).await;
    let ids = |tasks: Value| {
        let tasks = tasks.as_array().unwrap().clone();
        tasks
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let tasks = ids(app.get("/api/tasks").await.data());
    let of_task = |place: usize, file: &str| format!("registry/{}/{file}", tasks[place]);
    for (file, from, to, words) in [
        (
            "tools/to_qa.json".to_owned(),
            "\"to_qa\"",
            "\"to_x\"",
            "contains the tool to_x; rename it to to_x.json",
        ),
        (
            "tools/to_qa.json".to_owned(),
            "\"name\": \"a\"",
            "\"name\": \"_handoff_a\"",
            "which is reserved",
        ),
        (
            "tools/to_qa.json".to_owned(),
            "\"targetAgent\": \"qa\"",
            "\"targetAgent\": \"x\"",
            "target agent x is neither",
        ),
        (
            of_task(0, "messages.json"),
            "\"handoffId\": \"",
            "\"handoffId\": \"x",
            "which is not a hand-off of the task",
        ),
        (
            of_task(0, "messages.json"),
            "\"user_message\"",
            "\"shout\"",
            "messages.json:9: unknown variant `shout`",
        ),
        (
            of_task(0, "messages.json"),
            "\"isPrompt\": true,\n      \"content\": \"\"",
            "\"isPrompt\": true,\n      \"content\": \"Mine\"",
            "has `isPrompt`; it must be",
        ),
        (
            of_task(4, "task.json"),
            "\"sessionId\": \"plain\"",
            "\"sessionId\": \" \"",
            "`sessionId` of a task with a moved session must not be empty",
        ),
        (
            of_task(4, "task.json"),
            "\"sessionId\": \"plain\"",
            "\"sessionId\": \"odd 🎶 / \\\" id\"",
            "has two tasks",
        ),
        (
            of_task(4, "task.json"),
            "\"fromAgent\": \"qa\"",
            "\"fromAgent\": null",
            "needs `fromAgent`",
        ),
    ] {
        let (_folder, archive) = export(&app).await;
        let path = archive.join(&file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let other = TestApp::unseeded().await;
        match import(&other, &archive, false).await {
            Err(ArchiveError::Bad(bad)) => {
                let named: Vec<_> = bad.iter().map(ToString::to_string).collect();
                assert!(named.join("\n").contains(words), "{words}: {named:?}");
            }
            other => panic!("{file}: {other:?}"),
        }
        assert_eq!(ids(other.get("/api/tasks").await.data()), [""; 0]);
        assert_eq!(other.get("/api/tools").await.data(), json!([]));
    }
    // Sessions and tools that exist already are reported as well.
    let (_folder, archive) = export(&app).await;
    let other = TestApp::new().await;
    let body = json!({
        "fromAgent": "qa", "toAgent": "planner", "reason": "r", "userIntent": "u", "invoke": false, "conversationHistory": [],
    });
    other
        .post("/api/sessions/plain/handoffs", body)
        .await
        .data();
    let tool = json!({ "name": "to_qa", "description": "another", "targetAgent": "qa" });
    other.operator().post("/api/tools", tool).await.data();
    match import(&other, &archive, false).await {
        Err(ArchiveError::Bad(bad)) => {
            let named: Vec<_> = bad.iter().map(|bad| bad.message.as_str()).collect();
            assert_eq!(
                named,
                [
                    "session plain is already in the database",
                    "tool to_qa is already in the database with a different definition"
                ]
            );
        }
        other => panic!("{other:?}"),
    }
}
