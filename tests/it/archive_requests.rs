//! Export and import of requests, alerts and routes.

use std::path::Path;

use chorus::domain::{AlertQuery, RequestQuery};
use chorus::domain::{FileTag, KindRule, Outcome, Request, RequestState};
use chorus::engine::archive::{ArchiveError, BadFile};
use chorus::ledger::alert;
use chorus::ledger::request::{self, FileReport, FilesReport};
use serde_json::{Value, json};

use crate::archive::{assert_same, bare, export, import};
use crate::support::requests::{self, LEASE, Requests, new_request, on_task, route};
use crate::support::{Chorus, Events, Server, TestApp, Workshop, invariants};
use chorus::store::Database;

/// Makes an installation in which requests have lived, with what only files bring.
async fn lived_in() -> TestApp {
    let app = TestApp::new().await;
    requests::live(&app.db, &app.clock).await;
    let by_files = "UPDATE alerts SET file = '/a.md', line = 3, is_active_in_file = 1;
                    UPDATE requests SET withdrawn_at = 5 WHERE title = 'waits';";
    let connection = invariants::open(&app.data_dir.database());
    connection.execute_batch(by_files).unwrap();
    app
}

async fn all(store: &Database) -> Vec<Request> {
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

fn one(app: &TestApp, query: &str) -> String {
    let connection = invariants::open(&app.data_dir.database());
    let value: rusqlite::types::Value = connection.query_row(query, [], |row| row.get(0)).unwrap();
    format!("{value:?}")
}

#[tokio::test]
async fn requests_alerts_and_routes_go_out_and_in_again() {
    let app = lived_in().await;
    assert_eq!(invariants::violations(&app.data_dir.database()), [""; 0]);
    let (_first, first) = export(&app).await;
    let other = bare().await;
    let report = import(&other, &first, false).await.unwrap();
    assert!(report.left_out.is_empty());
    let imported = report.imported;
    assert_eq!((imported.requests, imported.alerts), (12, 2));
    let (_second, second) = export(&other).await;
    assert_same(&first, &second);
    assert_eq!(all(&app.db).await, all(&other.db).await);
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
        // What the files do not say is derived.
        "SELECT group_concat(is_by_file) FROM request_transitions WHERE moved_by = 'file'",
        "SELECT group_concat(is_active_in_file) FROM (SELECT is_active_in_file FROM alerts ORDER BY resolved_at IS NULL)",
        "SELECT id FROM requests WHERE is_job = 1 AND handoff_number IS NOT NULL",
        // Events are about the same requests.
        "SELECT group_concat(e.type || q.id, ' ') FROM (SELECT * FROM events WHERE task_number IS NOT NULL ORDER BY number) e
           JOIN requests q ON q.number = e.request_number",
    ] {
        let expected = if query.contains("is_active") {
            "Text(\"0,1\")".to_owned()
        } else {
            one(&app, query)
        };
        assert_eq!(one(&other, query), expected, "{query}");
    }
    assert!(other.db.problems().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_was_imported_lives_on() {
    let app = lived_in().await;
    let (_folder, archive) = export(&app).await;
    let other = bare().await;
    import(&other, &archive, false).await.unwrap();
    other
        .clock
        .advance(app.clock.now().as_millis() - other.clock.now().as_millis());
    let requests = Requests(&other.db);
    let titled = async |title: &str| {
        let mut found = all(&other.db).await;
        found.retain(|request| request.title.as_str() == title);
        found.remove(0)
    };
    // The job is asked after, and its end answers the request.
    let jobs = other.read(request::list_jobs).await;
    assert_eq!(jobs.len(), 1);
    let job = jobs.into_iter().next().unwrap();
    let ended = requests.end_job(job, Outcome::Completed, "built");
    assert!(ended.await.unwrap());
    assert_eq!(titled("is a job").await.response.unwrap().as_str(), "built");
    // Who had a claim has it still, with its number; and loses it when the lease runs out.
    let held = titled("is held").await;
    assert_eq!(requests.beat(&held, Some(1)).await.unwrap().attempts, 1);
    other.clock.advance(LEASE + 1);
    assert_eq!(Requests(&other.db).expire_leases().await, 1);
    assert_eq!(titled("is held").await.state, RequestState::Needs);
    // The next ones come behind the old ones.
    let new = requests.approved(new_request("fix", "new")).await;
    assert_eq!(all(&other.db).await[11].id, new.id);
    requests.begin(&new).await;
}

#[tokio::test]
async fn what_is_not_in_the_archive_is_referred_to_by_nobody() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    Requests(&app.db).set_rules(vec![route("fix", "qa")]).await;
    let request = requests.approved(new_request("fix", "worked on")).await;
    let task = requests.begin(&request).await;
    let noticed = requests
        .leave(on_task(&task.id, new_request("docs", "noticed")))
        .await;
    let alert = requests.raise("seen", Some(&task.id)).await;
    let (_folder, archive) = export(&app).await;
    // The task goes, and a request that its history speaks of.
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
    let other = bare().await;
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
        one(
            &other,
            "SELECT count(*) FROM events WHERE request_number IS NULL"
        ),
        "Integer(1)"
    );
    // And so it goes out and in again.
    let (_second, second) = export(&other).await;
    let third = bare().await;
    import(&third, &second, false).await.unwrap();
    let (_third, again) = export(&third).await;
    assert_same(&second, &again);
}

async fn request_lease(app: &TestApp, request: &Request) -> Option<chorus::domain::Lease> {
    Requests(&app.db).find(request).await.lease
}

/// Imports an archive that was spoiled in one place, and returns how that is reported.
async fn report_of(archive: &Path, spoil: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("archive");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([archive, &copy])
        .status();
    assert!(copied.unwrap().success());
    spoil(&copy);
    let app = bare().await;
    let refused = import(&app, &copy, false).await;
    let Err(ArchiveError::Bad(bad)) = refused else {
        panic!("it was imported")
    };
    assert_eq!(one(&app, "SELECT (SELECT count(*) FROM requests) + (SELECT count(*) FROM alerts) + (SELECT count(*) FROM tasks)
                            + (SELECT count(*) FROM dispatch_routes) + (SELECT count(*) FROM agents)"), "Integer(0)");
    let said: Vec<_> = bad.iter().map(BadFile::to_string).collect();
    said.join("\n")
}

/// Changes a JSON file.
fn edit(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
}

#[tokio::test]
async fn bad_requests_alerts_and_routes_are_named_and_nothing_is_imported() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    Requests(&app.db).set_rules(vec![route("fix", "qa")]).await;
    let request = requests.approved(new_request("fix", "worked on")).await;
    let task = requests.begin(&request).await;
    requests.take_run(&task).await;
    let ended = requests.approved(new_request("fix", "done")).await;
    let task = requests.begin(&ended).await;
    let run = requests.take_run(&task).await;
    requests.end_run(&run, Outcome::Completed, "x").await;
    let ended_handoff = task.agent_chain()[0].id.clone();
    let alert = requests.raise("seen", None).await;
    let (_folder, archive) = export(&app).await;
    let file = format!("requests/{}.json", request.id);
    let claimed = json!([]);
    for (path, value, said) in [
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
        let report = report_of(&archive, |archive| {
            edit(&archive.join(&file), |request| {
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
            report.starts_with(&file) && report.contains(said),
            "{path}: {report}"
        );
        assert_eq!(report.lines().count(), 1, "{report}");
    }
    let alert = format!("alerts/{alert}.json");
    let routes = "dispatch/routes.json".to_owned();
    for (file, change, said) in [
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
        let report = report_of(&archive, |archive| {
            edit(&archive.join(file), |value| {
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
            report.starts_with(file.as_str()) && report.contains(said),
            "{change}: {report}"
        );
    }
    for (name, content, said) in [
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
        let report = report_of(&archive, |archive| {
            std::fs::write(archive.join(name), content).unwrap();
        });
        let report = report.await;
        assert!(report.contains(said), "{name}: {report}");
    }
    // What is too large is not even read.
    let report = report_of(&archive, |archive| {
        let huge = std::fs::File::create(archive.join("requests/huge.json")).unwrap();
        huge.set_len(3_000_000_000).unwrap();
    });
    assert_eq!(
        report.await,
        "requests/huge.json: has 3000000000 bytes, which is more than the limit of 1000000000"
    );
    // All that is bad is named at once.
    let report = report_of(&archive, |archive| {
        edit(&archive.join(&file), |request| {
            request["state"] = json!("done");
        });
        edit(&archive.join(&alert), |alert| alert["message"] = json!(""));
        edit(&archive.join(&routes), |routes| {
            routes[0]["pollSeconds"] = json!(0);
        });
    });
    assert_eq!(report.await.lines().count(), 3);
}

#[tokio::test]
async fn what_is_there_already_is_named() {
    let app = lived_in().await;
    let (_folder, archive) = export(&app).await;
    let Err(ArchiveError::Bad(bad)) = import(&app, &archive, false).await else {
        panic!("it was imported")
    };
    let said: Vec<_> = bad.iter().map(|bad| bad.message.as_str()).collect();
    let count = |noun: &str| {
        let is_it =
            |said: &&&str| said.starts_with(noun) && said.ends_with(" is already in the database");
        said.iter().filter(is_it).count()
    };
    assert_eq!((count("request "), count("alert ")), (12, 2));
    assert_eq!(said.len(), 14 + count("task "));
    // What is good comes in without the rest, and refers to what is there.
    let before = all(&app.db).await;
    let report = import(&app, &archive, true).await.unwrap();
    assert_eq!((report.imported.requests, report.imported.alerts), (0, 0));
    assert_eq!(all(&app.db).await, before);
}

#[tokio::test]
async fn default_routes_give_way_to_imported_ones_and_chosen_ones_do_not() {
    let app = TestApp::new().await;
    let mine = vec![route("mine", "qa")];
    Requests(&app.db).set_rules(mine.clone()).await;
    let (_folder, archive) = export(&app).await;
    // Nobody has chosen others.
    let seeded = TestApp::new().await;
    seeded
        .engine
        .seed_kind_rules(vec![route("default", "qa")])
        .await
        .unwrap();
    import(&seeded, &archive, false).await.unwrap();
    assert_eq!(Requests(&seeded.db).rules().await, mine);
    // What was imported is not mixed with the defaults later; an agent that is not there is no reason to refuse.
    let stranger: Vec<KindRule> = vec![route("mine", "stranger")];
    edit(&archive.join("dispatch/routes.json"), |routes| {
        routes[0]["agent"] = json!("stranger");
    });
    let fresh = bare().await;
    import(&fresh, &archive, false).await.unwrap();
    fresh
        .engine
        .seed_kind_rules(vec![route("default", "qa")])
        .await
        .unwrap();
    assert_eq!(Requests(&fresh.db).rules().await, stranger);
    // Somebody has chosen others.
    let Err(ArchiveError::Bad(bad)) = import(&app, &archive, false).await else {
        panic!("it was imported")
    };
    assert_eq!(
        bad[0].to_string(),
        "dispatch/routes.json: the database has kind rules of its own"
    );
    import(&app, &archive, true).await.unwrap();
    assert_eq!(Requests(&app.db).rules().await, mine);
    // An archive without routes leaves them alone, and the defaults to the next start.
    std::fs::remove_dir_all(archive.join("dispatch")).unwrap();
    let fresh = bare().await;
    import(&fresh, &archive, false).await.unwrap();
    assert_eq!(Requests(&fresh.db).rules().await, []);
    fresh
        .engine
        .seed_kind_rules(vec![route("default", "qa")])
        .await
        .unwrap();
    assert_eq!(Requests(&fresh.db).rules().await, [route("default", "qa")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_imported_data_puts_what_was_worked_on_back_into_its_line() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let again = KindRule {
        retry: true,
        ..route("test", "qa")
    };
    Requests(&app.db)
        .set_rules(vec![route("fix", "qa"), again])
        .await;
    let fix = requests.approved(new_request("fix", "for a person")).await;
    let test = requests
        .approved(new_request("test", "for the dispatcher"))
        .await;
    for request in [&fix, &test] {
        let task = requests.begin(request).await;
        requests.take_run(&task).await;
    }
    let (_folder, archive) = export(&app).await;
    let workshop = Workshop::new();
    let imported = Chorus::new(["import"])
        .argument(&archive)
        .env("CHORUS_DATA_DIR", &workshop.data_dir)
        .transcript();
    assert!(
        imported.contains("Imported 2 tasks, 5 agents and 2 requests; left out 0"),
        "{imported}"
    );
    let server = Server::start(&workshop.data_dir);
    let mut events = Events::listen(&server.client()).await;
    for _ in 0..2 {
        events.until("request_requeued", "").await;
    }
    assert!(server.stop().success());
    let left = workshop.read(
        "SELECT group_concat(title || ' ' || state || ' ' || attempts || ' ' || (handoff_number IS NULL), '|') FROM requests",
    );
    assert_eq!(
        left,
        "for a person needs 1 1|for the dispatcher delegated 1 1"
    );
    let why = workshop.read(
        "SELECT group_concat(action, '|') FROM (SELECT action FROM request_recoveries WHERE earlier_run_id IS NOT NULL ORDER BY request_number)",
    );
    assert_eq!(
        why,
        "Re-queued for a decision by a person|Re-queued for attempt 2"
    );
}

/// Says what a file has: these tags, of the kind `fix`.
fn file_with(tags: &[(&str, RequestState)]) -> FilesReport {
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
async fn requests_of_files_go_out_and_in_and_find_their_tags_again() {
    use RequestState::{Claimed, Delegated, Done, Needs};
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let routes = vec![route("fix", "developer")];
    Requests(&app.db).set_rules(routes).await;
    requests.tool("to_qa", "qa").await;
    for tags in [
        [("moves on", Delegated), ("waits", Needs), ("jumps", Needs)],
        // The file wins, also over the order of states.
        [
            ("moves on", Delegated),
            ("waits", Needs),
            ("jumps", Claimed),
        ],
    ] {
        Requests(&app.db).reconcile_files(file_with(&tags)).await;
    }
    let found = all(&app.db).await;
    let task = requests.begin(&found[0]).await;
    let run = requests.take_run(&task).await;
    let child = requests.transfer(&task.id, "to_qa", Some(run)).await;
    // Its tag is gone while another task works on it.
    let left = [("waits", Needs), ("jumps", Done)];
    Requests(&app.db).reconcile_files(file_with(&left)).await;
    assert!(requests.find(&found[0]).await.withdrawn_at.is_some());
    assert_eq!(invariants::violations(&app.data_dir.database()), [""; 0]);
    let (_first, first) = export(&app).await;
    let other = bare().await;
    import(&other, &first, false).await.unwrap();
    let (_second, second) = export(&other).await;
    assert_same(&first, &second);
    // The file says what it said: nothing is new, and what was removed comes back as what it was.
    let tags = [("waits", Needs), ("jumps", Done), ("moves on", Claimed)];
    let changes = Requests(&other.db).reconcile_files(file_with(&tags)).await;
    assert!(changes.changes.is_empty(), "{changes:?}");
    let again = all(&other.db).await;
    assert_eq!(again.len(), 3);
    assert_eq!(again[0].handoff_id, Some(child.agent_chain()[0].id.clone()));
    assert_eq!(again[0].withdrawn_at, None);
}
