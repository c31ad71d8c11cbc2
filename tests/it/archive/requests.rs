//! Export and import of requests, alerts and kind rules.

use std::path::Path;

use chorus::domain::{AlertQuery, RequestQuery};
use chorus::domain::{FileTag, KindRule, Outcome, Request, RequestState};
use chorus::engine::archive::{ArchiveError, BadFile};
use chorus::ledger::alert;
use chorus::ledger::request::{self, FileReport, FilesReport};
use serde_json::{Value, json};

use super::{assert_same_files, export, import};
use crate::support::requests::{self, LEASE, Requests, agent_rule, new_request, on_task};
use crate::support::{Chorus, Events, Sandbox, Server, TestApp, invariants};
use chorus::store::Database;

/// Creates requests in every state, with the columns that only watched files set.
async fn app_with_requests() -> TestApp {
    let app = TestApp::new().await;
    requests::populate(&app.db, &app.clock).await;
    let set_by_files = "UPDATE alerts SET file = '/a.md', line = 3, is_active_in_file = 1;
                    UPDATE requests SET withdrawn_at = 5 WHERE title = 'waits';";
    let connection = invariants::open(&app.data_dir.database());
    connection.execute_batch(set_by_files).unwrap();
    app
}

async fn all_requests(store: &Database) -> Vec<Request> {
    let mut found = Vec::new();
    for withdrawn in [false, true] {
        let query = RequestQuery {
            withdrawn,
            limit: 1000,
            ..RequestQuery::default()
        };
        let page = store.read(move |view| request::list(view, &query));
        found.extend(page.await.unwrap().items);
    }
    found
}

fn query_value(app: &TestApp, query: &str) -> String {
    let connection = invariants::open(&app.data_dir.database());
    let value: rusqlite::types::Value = connection.query_row(query, [], |row| row.get(0)).unwrap();
    format!("{value:?}")
}

#[tokio::test]
async fn requests_alerts_and_kind_rules_are_exported_and_imported() {
    let app = app_with_requests().await;
    app.assert_invariants();
    let (_first, first) = export(&app).await;
    let other = TestApp::unseeded().await;
    let report = import(&other, &first, false).await.unwrap();
    assert!(report.left_out.is_empty());
    let imported = report.imported;
    assert_eq!((imported.requests, imported.alerts), (12, 2));
    let (_second, second) = export(&other).await;
    assert_same_files(&first, &second);
    assert_eq!(all_requests(&app.db).await, all_requests(&other.db).await);
    assert_eq!(
        Requests(&app.db).rules().await,
        Requests(&other.db).rules().await
    );
    let query = AlertQuery {
        resolved: true,
        limit: 10,
        ..AlertQuery::default()
    };
    let same = query.clone();
    let (before, after) = (
        app.read(move |view| alert::list(view, &query)),
        other.read(move |view| alert::list(view, &same)),
    );
    assert_eq!(before.await, after.await);
    for query in [
        // Columns that the archive does not hold are derived.
        "SELECT group_concat(is_by_file) FROM request_transitions WHERE moved_by = 'file'",
        "SELECT group_concat(is_active_in_file) FROM (SELECT is_active_in_file FROM alerts ORDER BY resolved_at IS NULL)",
        "SELECT id FROM requests WHERE is_job = 1 AND handoff_number IS NOT NULL",
        // Events refer to the same requests.
        "SELECT group_concat(e.type || q.id, ' ') FROM (SELECT * FROM events WHERE task_number IS NOT NULL ORDER BY number) e
           JOIN requests q ON q.number = e.request_number",
    ] {
        assert_eq!(query_value(&other, query), query_value(&app, query), "{query}");
    }
    assert!(other.db.problems().await.unwrap().is_empty());
}

#[tokio::test]
async fn imported_requests_continue() {
    let app = app_with_requests().await;
    let (_folder, archive) = export(&app).await;
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    other
        .clock
        .advance(app.clock.now().as_millis() - other.clock.now().as_millis());
    let requests = Requests(&other.db);
    let titled = async |title: &str| {
        let mut found = all_requests(&other.db).await;
        found.retain(|request| request.title.as_str() == title);
        found.remove(0)
    };
    // The job is polled, and its end answers the request.
    let jobs = other.read(request::list_jobs).await;
    assert_eq!(jobs.len(), 1);
    let job = jobs.into_iter().next().unwrap();
    let ended = requests.end_job(job, Outcome::Completed, "built");
    assert!(ended.await.unwrap());
    assert_eq!(titled("is a job").await.response.unwrap().as_str(), "built");
    // A claim keeps its fencing token, and ends when its lease expires.
    let held = titled("is held").await;
    assert_eq!(
        requests.heartbeat(&held, Some(1)).await.unwrap().attempts,
        1
    );
    other.clock.advance(LEASE + 1);
    assert_eq!(Requests(&other.db).expire_leases().await, 1);
    assert_eq!(titled("is held").await.state, RequestState::Needs);
    // New requests come after the imported ones.
    let new = requests.create_approved(new_request("fix", "new")).await;
    assert_eq!(all_requests(&other.db).await[11].id, new.id);
    requests.dispatch_one(&new).await;
}

#[tokio::test]
async fn references_to_missing_data_become_null() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    requests.set_rules(vec![agent_rule("fix", "qa")]).await;
    let request = requests
        .create_approved(new_request("fix", "worked on"))
        .await;
    let task = requests.dispatch_one(&request).await;
    let noticed = requests
        .create(on_task(&task.id, new_request("docs", "noticed")))
        .await;
    let alert = requests.raise_alert("seen", Some(&task.id)).await;
    let (_folder, archive) = export(&app).await;
    // The archive loses the task, and a history refers to a request that does not exist.
    let other_task = app.task("Stays").await;
    let (_other, with_both) = export(&app).await;
    std::fs::remove_dir_all(archive.join("registry")).unwrap();
    for file in ["task.json", "history.json", "queue.json"] {
        let path = format!("registry/{other_task}/{file}");
        std::fs::create_dir_all(archive.join(&path).parent().unwrap()).unwrap();
        std::fs::copy(with_both.join(&path), archive.join(&path)).unwrap();
    }
    let index = with_both.join("registry/registry.json");
    let mut index: Value = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
    index["tasks"].as_array_mut().unwrap().remove(0);
    std::fs::write(archive.join("registry/registry.json"), index.to_string()).unwrap();
    let history = archive.join(format!("registry/{other_task}/history.json"));
    let event = json!({ "timestamp": 1, "eventType": "x", "data": {}, "requestId": "gone" });
    std::fs::write(history, json!({ "events": [event] }).to_string()).unwrap();
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    let found = Requests(&other.db).find(&request).await;
    assert_eq!((found.task_id, found.handoff_id), (None, None));
    assert_eq!(
        (found.state, found.lease),
        (RequestState::Claimed, request_lease(&app, &request).await)
    );
    let found = Requests(&other.db).find(&noticed).await;
    assert_eq!(found.source.task_id, None);
    assert_eq!(found.source.source_type, noticed.source.source_type);
    assert_eq!(
        other
            .read(move |view| alert::get(view, &alert))
            .await
            .task_id,
        None
    );
    assert_eq!(
        query_value(
            &other,
            "SELECT count(*) FROM events WHERE request_number IS NULL AND type = 'x'"
        ),
        "Integer(1)"
    );
    // The result is exported and imported again.
    let (_second, second) = export(&other).await;
    let third = TestApp::unseeded().await;
    import(&third, &second, false).await.unwrap();
    let (_third, again) = export(&third).await;
    assert_same_files(&second, &again);
}

async fn request_lease(app: &TestApp, request: &Request) -> Option<chorus::domain::Lease> {
    Requests(&app.db).find(request).await.lease
}

/// Imports a changed copy of an archive, and returns the report.
async fn import_report(archive: &Path, change: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("archive");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([archive, &copy])
        .status();
    assert!(copied.unwrap().success());
    change(&copy);
    let app = TestApp::unseeded().await;
    let refused = import(&app, &copy, false).await;
    let Err(ArchiveError::Bad(bad)) = refused else {
        panic!("the archive was imported")
    };
    assert_eq!(query_value(&app, "SELECT (SELECT count(*) FROM requests) + (SELECT count(*) FROM alerts) + (SELECT count(*) FROM tasks)
                            + (SELECT count(*) FROM dispatch_routes) + (SELECT count(*) FROM agents)"), "Integer(0)");
    let reports: Vec<_> = bad.iter().map(BadFile::to_string).collect();
    reports.join("\n")
}

fn edit_json(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
}

#[tokio::test]
async fn bad_requests_alerts_and_kind_rules_are_reported_and_nothing_is_imported() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    requests.set_rules(vec![agent_rule("fix", "qa")]).await;
    let request = requests
        .create_approved(new_request("fix", "worked on"))
        .await;
    let task = requests.dispatch_one(&request).await;
    requests.claim_run(&task).await;
    let ended = requests.create_approved(new_request("fix", "done")).await;
    let task = requests.dispatch_one(&ended).await;
    let run = requests.claim_run(&task).await;
    requests.end_run(&run, Outcome::Completed, "x").await;
    let ended_handoff = task.agent_chain()[0].id.clone();
    let alert = requests.raise_alert("seen", None).await;
    let (_folder, archive) = export(&app).await;
    let file = format!("requests/{}.json", request.id);
    let claimed = json!([]);
    for (path, value, expected) in [
        (
            "/attempts",
            json!("1"),
            ": invalid type: string \"1\", expected u32",
        ),
        (
            "/attempts",
            json!(-1),
            "invalid value: integer `-1`, expected u32",
        ),
        ("/id", json!("../x"), ":2: may only have letters, digits"),
        ("/kind", json!("Fix"), "must be a kind of work"),
        ("/state", json!("won"), ":6: unknown variant `won`"),
        ("/priority", json!("P3"), "unknown variant `P3`"),
        ("/title", json!("\u{0}"), "NUL character"),
        ("/title", json!(""), ": `title` must not be empty"),
        (
            "/transitions",
            claimed,
            ": the last of `transitions` must lead to the state claimed",
        ),
        (
            "/transitions/2/to",
            json!("done"),
            "leads from delegated to done, which only a file may do",
        ),
        ("/lease/fencing", json!(7), "must be equal and at least 1"),
        ("/lease", json!(null), "`handoffId` requires a `lease`"),
        (
            "/response",
            json!("early"),
            "`response` must be set if and only if the state is done",
        ),
        ("/handoffId", json!(ended_handoff), "which has ended"),
        ("/source/line", json!(0), "only a source of type `file`"),
        ("/id", json!(ended.id), "rename it to"),
        ("/color", json!(1), "unknown key `color`"),
    ] {
        let report = import_report(&archive, |archive| {
            edit_json(&archive.join(&file), |request| {
                if path == "/color" {
                    request["color"] = value;
                } else {
                    *request
                        .pointer_mut(path)
                        .unwrap_or_else(|| panic!("{path}")) = value;
                }
            });
        });
        let report = report.await;
        assert!(
            report.starts_with(&file) && report.contains(expected),
            "{path}: {report}"
        );
        assert_eq!(report.lines().count(), 1, "{report}");
    }
    let alert = format!("alerts/{alert}.json");
    let routes = "dispatch/routes.json".to_owned();
    for (file, change, expected) in [
        (
            &alert,
            json!({ "line": 3 }),
            "`file` and `line` must both be set or both be null",
        ),
        (
            &alert,
            json!({ "resolvedAt": 3 }),
            "`resolvedAt` and `resolvedBy` must both be set or both be null",
        ),
        (
            &alert,
            json!({ "message": "" }),
            "`message` must not be empty",
        ),
        (
            &alert,
            json!({ "file": "a", "line": 0 }),
            "`line` must be 1 or more",
        ),
        (
            &alert,
            json!({ "id": "other" }),
            "contains the alert other; rename it to other.json",
        ),
        (&alert, json!({ "raisedAt": null }), "invalid type: null"),
        (
            &routes,
            json!({ "maxAttempts": 0 }),
            "maxAttempts: must be 1 to 100",
        ),
        (&routes, json!({ "mode": "async" }), "startCommand"),
        (&routes, json!({ "rank": null }), "invalid type: null"),
        (&routes, json!({ "color": 1 }), "unknown field `color`"),
    ] {
        let report = import_report(&archive, |archive| {
            edit_json(&archive.join(file), |value| {
                let value = if value.is_array() {
                    &mut value[0]
                } else {
                    value
                };
                value
                    .as_object_mut()
                    .unwrap()
                    .extend(change.as_object().unwrap().clone());
            });
        });
        let report = report.await;
        assert!(
            report.starts_with(file.as_str()) && report.contains(expected),
            "{change}: {report}"
        );
    }
    for (name, content, expected) in [
        (
            "requests/x.json",
            "{",
            "requests/x.json:1: EOF while parsing",
        ),
        ("requests/notes.txt", "", "requests/notes.txt:1: EOF"),
        ("dispatch/more.json", "[]", "dispatch/more.json: is unknown"),
        (
            routes.as_str(),
            "{}",
            "dispatch/routes.json:1: invalid type: map",
        ),
        ("alerts/a.json", "[]", "alerts/a.json"),
    ] {
        let report = import_report(&archive, |archive| {
            std::fs::write(archive.join(name), content).unwrap();
        });
        let report = report.await;
        assert!(report.contains(expected), "{name}: {report}");
    }
    // A file that is too large is not read at all.
    let report = import_report(&archive, |archive| {
        let huge = std::fs::File::create(archive.join("requests/huge.json")).unwrap();
        huge.set_len(3_000_000_000).unwrap();
    });
    assert_eq!(
        report.await,
        "requests/huge.json: has 3000000000 bytes, which is more than the limit of 1000000000"
    );
    // All bad files are reported together.
    let report = import_report(&archive, |archive| {
        edit_json(&archive.join(&file), |request| {
            request["state"] = json!("done");
        });
        edit_json(&archive.join(&alert), |alert| alert["message"] = json!(""));
        edit_json(&archive.join(&routes), |routes| {
            routes[0]["pollSeconds"] = json!(0);
        });
    });
    assert_eq!(report.await.lines().count(), 3);
}

#[tokio::test]
async fn existing_requests_and_alerts_are_reported() {
    let app = app_with_requests().await;
    let (_folder, archive) = export(&app).await;
    let Err(ArchiveError::Bad(bad)) = import(&app, &archive, false).await else {
        panic!("the archive was imported")
    };
    let messages: Vec<_> = bad.iter().map(|bad| bad.message.as_str()).collect();
    let count = |noun: &str| {
        let is_it = |message: &&&str| {
            message.starts_with(noun) && message.ends_with(" is already in the database")
        };
        messages.iter().filter(is_it).count()
    };
    assert_eq!((count("request "), count("alert ")), (12, 2));
    assert_eq!(messages.len(), 14 + count("task "));
    // With bad files skipped, nothing is imported twice.
    let before = all_requests(&app.db).await;
    let report = import(&app, &archive, true).await.unwrap();
    assert_eq!((report.imported.requests, report.imported.alerts), (0, 0));
    assert_eq!(all_requests(&app.db).await, before);
}

#[tokio::test]
async fn imported_kind_rules_replace_the_defaults_but_not_rules_that_somebody_set() {
    let app = TestApp::new().await;
    let mine = vec![agent_rule("mine", "qa")];
    Requests(&app.db).set_rules(mine.clone()).await;
    let (_folder, archive) = export(&app).await;
    // This database still has the seeded rules.
    let seeded = TestApp::new().await;
    seeded
        .engine
        .seed_kind_rules(vec![agent_rule("default", "qa")])
        .await
        .unwrap();
    import(&seeded, &archive, false).await.unwrap();
    assert_eq!(Requests(&seeded.db).rules().await, mine);
    // Default rules are not added to imported ones, and a rule may name an unknown agent.
    let stranger: Vec<KindRule> = vec![agent_rule("mine", "stranger")];
    edit_json(&archive.join("dispatch/routes.json"), |routes| {
        routes[0]["agent"] = json!("stranger");
    });
    let fresh = TestApp::unseeded().await;
    import(&fresh, &archive, false).await.unwrap();
    fresh
        .engine
        .seed_kind_rules(vec![agent_rule("default", "qa")])
        .await
        .unwrap();
    assert_eq!(Requests(&fresh.db).rules().await, stranger);
    // Somebody has set other rules here.
    let Err(ArchiveError::Bad(bad)) = import(&app, &archive, false).await else {
        panic!("the archive was imported")
    };
    assert_eq!(
        bad[0].to_string(),
        "dispatch/routes.json: the database has kind rules of its own"
    );
    import(&app, &archive, true).await.unwrap();
    assert_eq!(Requests(&app.db).rules().await, mine);
    // An archive without rules leaves the defaults to the next start.
    std::fs::remove_dir_all(archive.join("dispatch")).unwrap();
    let fresh = TestApp::unseeded().await;
    import(&fresh, &archive, false).await.unwrap();
    assert_eq!(Requests(&fresh.db).rules().await, []);
    fresh
        .engine
        .seed_kind_rules(vec![agent_rule("default", "qa")])
        .await
        .unwrap();
    assert_eq!(
        Requests(&fresh.db).rules().await,
        [agent_rule("default", "qa")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_imported_data_requeues_the_requests_that_were_worked_on() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let again = KindRule {
        retry: true,
        ..agent_rule("test", "qa")
    };
    requests
        .set_rules(vec![agent_rule("fix", "qa"), again])
        .await;
    let fix = requests
        .create_approved(new_request("fix", "for a person"))
        .await;
    let test = requests
        .create_approved(new_request("test", "for the dispatcher"))
        .await;
    for request in [&fix, &test] {
        let task = requests.dispatch_one(request).await;
        requests.claim_run(&task).await;
    }
    let (_folder, archive) = export(&app).await;
    let sandbox = Sandbox::new();
    let imported = Chorus::new(["import"])
        .argument(&archive)
        .env("CHORUS_DATA_DIR", &sandbox.data_dir)
        .transcript();
    assert!(
        imported.contains("Imported 2 tasks, 5 agents and 2 requests; skipped 0 files"),
        "{imported}"
    );
    let server = Server::start(&sandbox.data_dir);
    let mut events = Events::listen(&server.client()).await;
    for _ in 0..2 {
        events.wait_for("request_requeued", "").await;
    }
    assert!(server.stop().success());
    let left = sandbox.query(
        "SELECT group_concat(title || ' ' || state || ' ' || attempts || ' ' || (handoff_number IS NULL), '|') FROM requests",
    );
    assert_eq!(
        left,
        "for a person needs 1 1|for the dispatcher delegated 1 1"
    );
    let why = sandbox.query(
        "SELECT group_concat(action, '|') FROM (SELECT action FROM request_recoveries WHERE earlier_run_id IS NOT NULL ORDER BY request_number)",
    );
    assert_eq!(
        why,
        "Re-queued for a decision by the operator|Re-queued for attempt 2"
    );
}

/// Reports a file with these tags of the kind `fix`.
fn file_report(tags: &[(&str, RequestState)]) -> FilesReport {
    let tag = |(line, (title, state)): (u32, &(&str, RequestState))| FileTag {
        kind: "fix".parse().unwrap(),
        state: *state,
        line,
        title: (*title).to_owned(),
        body: String::new(),
        priority: None,
        effort: None,
    };
    let file = FileReport {
        file: "/notes/a.md".parse().unwrap(),
        root: "/notes".parse().unwrap(),
        tags: (1..).zip(tags).map(tag).collect(),
        alerts: vec![],
    };
    FilesReport {
        files: vec![file],
        file_approval: true,
    }
}

#[tokio::test]
async fn imported_requests_of_files_match_their_tags() {
    use RequestState::{Claimed, Delegated, Done, Needs};
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let routes = vec![agent_rule("fix", "developer")];
    requests.set_rules(routes).await;
    requests.create_tool("to_qa", "qa").await;
    for tags in [
        [("moves on", Delegated), ("waits", Needs), ("jumps", Needs)],
        // A file may skip states.
        [
            ("moves on", Delegated),
            ("waits", Needs),
            ("jumps", Claimed),
        ],
    ] {
        requests.reconcile_files(file_report(&tags)).await;
    }
    let found = all_requests(&app.db).await;
    let task = requests.dispatch_one(&found[0]).await;
    let run = requests.claim_run(&task).await;
    let child = requests.transfer(&task.id, "to_qa", Some(run)).await;
    // The tag is removed while another task works on the request.
    let left = [("waits", Needs), ("jumps", Done)];
    requests.reconcile_files(file_report(&left)).await;
    assert!(requests.find(&found[0]).await.withdrawn_at.is_some());
    app.assert_invariants();
    let (_first, first) = export(&app).await;
    let other = TestApp::unseeded().await;
    import(&other, &first, false).await.unwrap();
    let (_second, second) = export(&other).await;
    assert_same_files(&first, &second);
    // The tags return: no request is new, and the withdrawn one is restored.
    let tags = [("waits", Needs), ("jumps", Done), ("moves on", Claimed)];
    let changes = Requests(&other.db)
        .reconcile_files(file_report(&tags))
        .await;
    assert!(changes.changes.is_empty(), "{changes:?}");
    let again = all_requests(&other.db).await;
    assert_eq!(again.len(), 3);
    assert_eq!(again[0].handoff_id, Some(child.agent_chain()[0].id.clone()));
    assert_eq!(again[0].withdrawn_at, None);
}
