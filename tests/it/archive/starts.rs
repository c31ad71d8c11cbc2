//! An import says what the next server starts, and a server without runs starts none of it.

use std::path::Path;

use serde_json::{Value, json};

use super::export;
use super::tables::filled;
use crate::support::{Chorus, Server};

/// Changes a JSON file of an archive.
fn change(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_names_the_programs_and_the_work_that_the_next_server_starts() {
    let app = filled().await;
    let (folder, archive) = export(&app).await;
    let polled = folder.path().join("polled");
    change(&archive.join("dispatch/routes.json"), |rules| {
        let rule = rules.as_array_mut().unwrap().iter_mut();
        let rule = rule.into_iter().find(|rule| rule["kind"] == "fix").unwrap();
        rule["pollCommand"] = json!(["touch", polled]);
    });
    change(&archive.join("requests/req-3.json"), |request| {
        request["state"] = json!("delegated");
        request["stuck"] = json!(false);
        request["approvedAt"] = json!(103);
        let step = json!({ "from": "needs", "to": "delegated", "by": "operator", "at": 103, "reason": null });
        request["transitions"].as_array_mut().unwrap().push(step);
    });
    // The agent that asked for the job ends with its server, and would end the job, too.
    change(&archive.join("registry/task-7/links.json"), |links| {
        links["handoffs"][0]["waiterHandoffId"] = Value::Null;
    });
    let imported = folder.path().join("imported");
    let said = Chorus::new(["import"])
        .argument(&archive)
        .env("CHORUS_DATA_DIR", &imported)
        .transcript();
    assert!(said.starts_with("exit 0\n"), "{said}");
    let poll = format!("requests of kind fix start touch {}", polled.display());
    for words in [
        "agent worker is new and starts the program /bin/true",
        "requests of kind fix start a\n",
        &poll,
        "the next server starts 1 queued run\n",
        "the next server starts 1 approved request\n",
        "the next server polls 1 external job\n",
        "without starting anything: chorus serve --max-runs 0 --no-dispatch",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // The same agents again are not new.
    let again = Chorus::new(["import", "--skip-bad"])
        .argument(&archive)
        .env("CHORUS_DATA_DIR", &imported)
        .transcript();
    assert!(!again.contains("is new"), "{again}");
    let serve = [
        "serve",
        "--port",
        "0",
        "--log",
        "warn",
        "--max-runs",
        "0",
        "--no-dispatch",
    ];
    let server = Server::spawn(&imported, Chorus::new(serve));
    let tasks = Chorus::new(["task", "list", "--all"])
        .env("CHORUS_URL", &server.url)
        .env("CHORUS_DATA_DIR", &imported)
        .transcript();
    assert!(tasks.starts_with("exit 0\n"), "{tasks}");
    assert!(server.stop().success());
    assert!(!polled.exists(), "a command was started");
}
