//! Tags in watched files are requests, and what becomes of a request is written into its file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chorus::domain::{Request, RequestState};
use serde_json::{Value, json};

use crate::support::{Chorus, Events, Gate, Operator, Server, Workshop};

/// A tree of notes that a server watches, with an agent that waits at a gate for every request.
struct Notes {
    workshop: Workshop,
    gate: Gate,
    root: PathBuf,
}

impl Notes {
    fn new() -> Self {
        let workshop = Workshop::new();
        let gate = workshop.gate("gate");
        let script = format!(
            "pwd; read word <{}; test \"$word\" = go && echo finished",
            gate.path().display()
        );
        let workshop = workshop.agent("worker", &script);
        let root = workshop.path("notes");
        std::fs::create_dir(&root).unwrap();
        Self {
            workshop,
            gate,
            root,
        }
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    async fn serve(&self, more: &[&str]) -> (Server, Operator, Events) {
        let root = self.root.to_str().unwrap();
        let own = ["--port", "0", "--debounce-seconds", "0", "--watch", root];
        let arguments: Vec<_> = own.iter().chain(more).copied().collect();
        let server = self.workshop.serve_with(2, &arguments);
        let operator = Operator::of(&server);
        let events = Events::listen(&operator.client).await;
        operator
            .set_kind_rules(&json!([{ "kind": "fix", "agent": "worker", "rank": 1 }]))
            .await;
        (server, operator, events)
    }

    fn assert_invariants(&self) {
        self.workshop.assert_invariants();
    }
}

/// Waits until a file has a tag.
fn await_tag(file: &Path, tag: &str) {
    let waited =
        Chorus::new(["await-tag", file.to_str().unwrap(), tag, "--timeout", "60"]).output();
    assert!(
        waited.status.success(),
        "{}",
        String::from_utf8_lossy(&waited.stderr)
    );
}

/// Waits until files are as they must be: what is in them is no event.
fn eventually(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "it has not become so in time");
        std::thread::yield_now();
    }
}

fn read(file: &Path) -> String {
    String::from_utf8(std::fs::read(file).unwrap()).unwrap()
}

/// Reads the request of the event that comes next with a type and a text.
async fn request(
    operator: &Operator,
    events: &mut Events,
    event_type: &str,
    text: &str,
) -> Request {
    let event = events.wait_for(event_type, text).await;
    let path = format!("/api/requests/{}", event["requestId"].as_str().unwrap());
    operator
        .client
        .get(&path, &[])
        .await
        .unwrap()
        .data()
        .unwrap()
}

async fn titles(operator: &Operator) -> Vec<String> {
    let reply = operator.client.get("/api/requests", &[]).await.unwrap();
    let requests: Vec<Request> = reply.data().unwrap();
    requests
        .into_iter()
        .map(|request| request.title.into_string())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_becomes_a_request_and_the_file_says_what_becomes_of_it() {
    let notes = Notes::new();
    let before = "# Plan\r\n\r\nWhy not.\r\n\r\n- [ ] Mend the parser #needs-fix #P1 #M\r\n  It reads twice.\r\n- [ ] Else `#needs-fix`";
    let file = notes.write("plan.md", before);
    let (server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "Mend the parser").await;
    assert_eq!(
        json!({ "title": made.title, "kind": made.kind, "state": made.state, "priority": made.priority,
                "effort": made.effort, "source": made.source, "by": made.transitions[0].by }),
        json!({ "title": "Mend the parser", "kind": "fix", "state": "needs", "priority": "P1", "effort": "M", "by": "file",
                "source": { "sourceType": "file", "taskId": null, "file": file, "line": 5, "userId": null } })
    );
    assert!(
        made.body.as_str().contains("It reads twice."),
        "{}",
        made.body
    );
    operator.approve(&[&made]).await;
    await_tag(&file, "#claimed-fix");
    let claimed = before.replacen("#needs-fix", "#claimed-fix", 1);
    assert_eq!(read(&file), claimed, "nothing else changes");
    notes.gate.let_one_through();
    await_tag(&file, "#done-fix");
    let done = operator.wait_for_state(&made, RequestState::Done).await;
    let expected = before.replacen("#needs-fix", "#done-fix", 1);
    let (text, told) = read(&file).split_at_checked(expected.len()).map_or_else(
        || panic!("{}", read(&file)),
        |(text, told)| (text.to_owned(), told.to_owned()),
    );
    assert_eq!(text, expected);
    let link = format!("{}/api/requests/{}/response", server.url, made.id);
    assert!(
        told.starts_with(&format!(
            "\r\n\r\n## Response\r\n\r\n* [Mend the parser]({link}), "
        )),
        "{told}"
    );
    // The agent worked where the file is.
    let root = notes.root.canonicalize().unwrap();
    assert_eq!(
        done.response.unwrap().as_str(),
        format!("{}\nfinished", root.display())
    );
    let response = reqwest::get(link).await.unwrap().text().await.unwrap();
    assert!(response.ends_with("finished"), "{response}");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fails_is_told_in_its_file() {
    let notes = Notes::new();
    let file = notes.write("a.md", "# Mend it\n\n**Tags**: #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "Mend it").await;
    operator.approve(&[&made]).await;
    await_tag(&file, "#claimed-fix");
    let body = json!({ "reason": "Not `now` #needs-fix" });
    operator.post(&made, "requeue", &body).await.unwrap();
    await_tag(&file, "#needs-fix");
    let told = read(&file);
    let run = notes.workshop.read("SELECT id FROM runs");
    assert!(
        told.starts_with("# Mend it\n\n**Tags**: #needs-fix\n\n## Recovery\n\n* **Request**: Mend it\n* **Date**: "),
        "{told}"
    );
    assert!(
        told.ends_with(&format!(
            " UTC\n* **Reason**: Not \\`now\\` \\#needs-fix\n* **Earlier run**: `{run}`\n* **Action**: Re-queued for a decision by a person\n\n"
        )),
        "{told}"
    );
    // What is told of it is no request.
    notes.write("b.md", "Something else #needs-fix\n");
    request(&operator, &mut events, "request_created", "Something else").await;
    assert_eq!(titles(&operator).await, ["Mend it", "Something else"]);
    notes.workshop.until_quiet();
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_by_writing_into_the_file_unless_that_is_turned_off() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\n");
    let (server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "Mend it").await;
    std::fs::write(&file, "Mend it #delegated-fix\n").unwrap();
    let approved = request(&operator, &mut events, "request_approved", "file").await;
    assert_eq!(approved.id, made.id);
    notes.gate.let_one_through();
    operator.wait_for_state(&made, RequestState::Done).await;
    await_tag(&file, "#done-fix");
    drop(server);

    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #delegated-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-file-approval"]).await;
    let ignored = request(&operator, &mut events, "request_tag_ignored", "delegated").await;
    assert_eq!(ignored.state, RequestState::Needs);
    await_tag(&file, "#needs-fix");
    operator.approve(&[&ignored]).await;
    notes.gate.let_one_through();
    operator.wait_for_state(&ignored, RequestState::Done).await;
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_is_removed_withdraws_its_request_and_one_that_comes_back_revives_it() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\nKeep it #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "Mend it").await;
    std::fs::write(&file, "Mend it\nKeep it #needs-fix\n").unwrap();
    events.wait_for("request_withdrawn", "a.md").await;
    let error = operator
        .post(&made, "approve", &json!({}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("was withdrawn"), "{error}");
    assert_eq!(titles(&operator).await, ["Keep it"]);
    // Elsewhere it is the same work.
    notes.write("deep/b.md", "text\n\n* Mend it #needs-fix #P0\n");
    let back = request(&operator, &mut events, "request_restored", "b.md").await;
    assert_eq!(back.id, made.id);
    assert_eq!(back.source.line, Some(3));
    assert_eq!(titles(&operator).await, ["Mend it", "Keep it"]);
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn editors_that_save_by_renaming_and_files_that_move_confuse_nobody() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "Mend it").await;
    // A new file takes the name; the line is another one, and there is more.
    let unfinished = notes.write(
        "a.md.swp",
        "# Heading\n\nMend it #needs-fix\nMore #needs-fix\n",
    );
    std::fs::rename(unfinished, &file).unwrap();
    request(&operator, &mut events, "request_created", "More").await;
    assert_eq!(operator.get_request(&made).await.source.line, Some(3));
    // The whole folder moves, with a request that is worked on.
    operator.approve(&[&made]).await;
    await_tag(&file, "#claimed-fix");
    std::fs::create_dir(notes.root.join("old")).unwrap();
    std::fs::rename(&file, notes.root.join("old/a.md")).unwrap();
    std::fs::rename(notes.root.join("old"), notes.root.join("new")).unwrap();
    let moved = notes.root.join("new/a.md");
    notes.gate.let_one_through();
    await_tag(&moved, "#done-fix");
    let done = operator.get_request(&made).await;
    assert_eq!(done.source.file.unwrap().as_str(), moved.to_str().unwrap());
    // A file that is deleted and comes back.
    std::fs::remove_file(&moved).unwrap();
    events.wait_for("request_withdrawn", "").await;
    notes.write("new/a.md", "More #needs-fix\n");
    request(&operator, &mut events, "request_restored", "a.md").await;
    assert_eq!(titles(&operator).await, ["Mend it", "More"]);
    assert_eq!(
        notes.workshop.read("SELECT count(*) FROM requests"),
        "2",
        "nothing was taken for new"
    );
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_while_the_server_was_away_is_reconciled_when_it_comes_back() {
    let notes = Notes::new();
    let file = notes.write(
        "a.md",
        "One #needs-fix\nTwo #needs-fix\nThree #needs-fix\nFour #needs-fix\n",
    );
    let (server, operator, mut events) = notes.serve(&[]).await;
    let mut requests = Vec::new();
    for title in ["One", "Two", "Three", "Four"] {
        requests.push(request(&operator, &mut events, "request_created", title).await);
    }
    server.kill();
    // A server that watches nothing: what is approved there is still to be written.
    let own = ["--port", "0", "--no-dispatch"];
    let server = notes.workshop.serve_with(2, &own);
    Operator::of(&server).approve(&[&requests[0]]).await;
    Operator::of(&server).approve(&[&requests[2]]).await;
    server.kill();
    // A person edits the file meanwhile: two is done, three is done too, four is gone.
    std::fs::write(&file, "One #needs-fix\nTwo #done-fix\nThree #done-fix\n").unwrap();
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    await_tag(&file, "#delegated-fix");
    let event = events.wait_for("request_done", "a.md:3 says").await;
    assert_eq!(event["data"]["by"], "file");
    events.wait_for("request_withdrawn", "a.md").await;
    let mut states = Vec::new();
    for request in &requests {
        let now = operator.get_request(request).await;
        states.push((now.state.as_str(), now.withdrawn_at.is_some()));
    }
    assert_eq!(
        states,
        [
            ("delegated", false),
            ("done", false),
            ("done", false),
            ("needs", true)
        ]
    );
    assert_eq!(
        read(&file),
        "One #delegated-fix\nTwo #done-fix\nThree #done-fix\n"
    );
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_lead_out_ignored_files_and_code_are_not_read() {
    let notes = Notes::new();
    let outside = notes.workshop.path("outside");
    std::fs::create_dir(&outside).unwrap();
    let secret = outside.join("secret.md");
    std::fs::write(&secret, "Steal it #needs-fix\n").unwrap();
    std::os::unix::fs::symlink(&secret, notes.root.join("link.md")).unwrap();
    std::os::unix::fs::symlink(&outside, notes.root.join("folder")).unwrap();
    notes.write(".gitignore", "build/\n");
    notes.write("build/a.md", "Built #needs-fix\n");
    notes.write(".hidden/a.md", "Hidden #needs-fix\n");
    notes.write(
        "code.md",
        "```\n#needs-fix\n```\n\n`#needs-fix` and \\#needs-fix\n",
    );
    notes.write("other.txt", "Not Markdown #needs-fix\n");
    let file = notes.write("seen.md", "Seen #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "Seen").await;
    assert_eq!(titles(&operator).await, ["Seen"]);
    // A file that becomes a link is no longer there, and what it leads to is not written.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&secret, "Seen #needs-fix\n").unwrap();
    std::os::unix::fs::symlink(&secret, &file).unwrap();
    events.wait_for("request_withdrawn", "seen.md").await;
    let error = operator.post(&made, "approve", &json!({})).await;
    assert!(error.is_err());
    assert_eq!(read(&secret), "Seen #needs-fix\n");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_no_encoding_are_left_as_they_are() {
    let notes = Notes::new();
    let before =
        b"\xef\xbb\xbf# \xff\xfe t\xe9l\xe9\r- Mend \xe9\xff it #needs-fix \x00\xf0".as_slice();
    let file = notes.write("latin.md", before);
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    let made = request(&operator, &mut events, "request_created", "Mend").await;
    operator.approve(&[&made]).await;
    await_tag(&file, "#delegated-fix");
    let after = std::fs::read(&file).unwrap();
    let at = before
        .windows(10)
        .position(|window| window == b"#needs-fix")
        .unwrap();
    let expected = [&before[..at], b"#delegated-fix", &before[at + 10..]].concat();
    assert_eq!(after, expected);
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_in_files_are_raised_and_resolved() {
    let notes = Notes::new();
    let file = notes.write("a.md", "The key expires #active-alert\n");
    let (server, operator, mut events) = notes.serve(&[]).await;
    let raised = events.wait_for("alert_raised", "The key expires").await;
    let id = raised["data"]["alertId"].as_str().unwrap().to_owned();
    let list = server.chorus(["alert", "list"]).transcript();
    assert!(list.contains(file.to_str().unwrap()), "{list}");
    let resolved = server.chorus(["alert", "resolve", &id]).output();
    assert!(resolved.status.success());
    await_tag(&file, "#done-alert");
    std::fs::write(&file, "The key expires #active-alert\n").unwrap();
    let again = events.wait_for("alert_raised", "The key expires").await;
    assert_ne!(again["data"]["alertId"], id.as_str());
    std::fs::write(&file, "The key expires #done-alert\n").unwrap();
    let event = events.wait_for("alert_resolved", "file").await;
    assert_eq!(event["data"]["alertId"], again["data"]["alertId"]);
    let left: Vec<Value> = operator
        .client
        .get("/api/alerts", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(left, Vec::<Value>::new());
    notes.assert_invariants();
}

#[test]
fn a_tree_that_cannot_be_watched_is_said_at_once() {
    let workshop = Workshop::new();
    let missing = workshop.path("missing");
    let output = Chorus::new(["serve", "--port", "0", "--watch", missing.to_str().unwrap()])
        .env("CHORUS_DATA_DIR", &workshop.data_dir)
        .output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(&format!("Folder {} cannot be watched: ", missing.display())),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_becomes_a_link_is_gone_and_what_it_leads_to_is_neither_read_nor_written() {
    let notes = Notes::new();
    notes.write("d/a.md", "One #needs-fix\n");
    let outside = notes.workshop.path("outside");
    std::fs::create_dir(&outside).unwrap();
    let secret = "Secret\nOne #needs-fix\nSecret two #needs-fix\n";
    std::fs::write(outside.join("a.md"), secret).unwrap();
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    let made = request(&operator, &mut events, "request_created", "One").await;
    std::fs::rename(notes.root.join("d"), notes.workshop.path("away")).unwrap();
    std::os::unix::fs::symlink(&outside, notes.root.join("d")).unwrap();
    // Either the request is withdrawn first, or its file is looked at for it.
    let _ = operator.post(&made, "next", &json!({})).await;
    events.wait_for("request_withdrawn", "a.md").await;
    let now = operator.get_request(&made).await;
    assert!(!now.body.as_str().contains("Secret"), "{}", now.body);
    assert_eq!(notes.workshop.read("SELECT count(*) FROM requests"), "1");
    assert_eq!(read(&outside.join("a.md")), secret);
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_file_approval_no_word_of_a_file_moves_a_request_out_of_needs() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\nTwo #needs-fix\nThree #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-file-approval"]).await;
    for title in ["One", "Two", "Three"] {
        request(&operator, &mut events, "request_created", title).await;
    }
    std::fs::write(&file, "One #claimed-fix\nTwo #done-fix\nThree #next-fix\n").unwrap();
    for state in ["claimed", "done", "next"] {
        events.wait_for("request_tag_ignored", state).await;
    }
    // Their tags are put back.
    eventually(|| read(&file) == "One #needs-fix\nTwo #needs-fix\nThree #needs-fix\n");
    let states = notes
        .workshop
        .read("SELECT group_concat(DISTINCT state) FROM requests");
    assert_eq!(states, "needs");
    let ignored = notes
        .workshop
        .read("SELECT count(*) FROM events WHERE type = 'request_tag_ignored'");
    assert_eq!(ignored, "3", "each is said once");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_of_a_batch_says_does_not_end_the_work_on_the_others() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\nTwo #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    operator
        .set_kind_rules(&json!([{ "kind": "fix", "agent": "worker", "rank": 1, "batch": true }]))
        .await;
    let one = request(&operator, &mut events, "request_created", "One").await;
    let two = request(&operator, &mut events, "request_created", "Two").await;
    operator.approve(&[&one, &two]).await;
    operator.wait_for_state(&one, RequestState::Claimed).await;
    events.wait_for("message_added", "").await;
    eventually(|| read(&file).matches("#claimed-fix").count() == 2);
    let text = read(&file);
    std::fs::write(&file, text.replacen("#claimed", "#done", 1)).unwrap();
    operator.wait_for_state(&one, RequestState::Done).await;
    assert_eq!(
        operator.get_request(&two).await.state,
        RequestState::Claimed
    );
    notes.gate.let_one_through();
    let done = operator.wait_for_state(&two, RequestState::Done).await;
    assert!(done.response.unwrap().as_str().ends_with("finished"));
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_goes_away_and_comes_back_is_watched_again() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    request(&operator, &mut events, "request_created", "One").await;
    let away = notes.workshop.path("away");
    std::fs::rename(&notes.root, &away).unwrap();
    std::fs::rename(&away, &notes.root).unwrap();
    std::fs::write(&file, "One #needs-fix\nTwo #needs-fix\n").unwrap();
    request(&operator, &mut events, "request_created", "Two").await;
    assert_eq!(
        titles(&operator).await,
        ["One", "Two"],
        "nothing was withdrawn"
    );
    notes.assert_invariants();
}

#[test]
fn the_servers_own_data_is_not_watched() {
    let workshop = Workshop::new();
    let own = workshop.data_dir.join("workspaces");
    std::fs::create_dir(&own).unwrap();
    let output = Chorus::new(["serve", "--port", "0", "--watch", own.to_str().unwrap()])
        .env("CHORUS_DATA_DIR", &workshop.data_dir)
        .output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("own data directory"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_half_written_when_its_request_is_done_is_told_when_it_is_back() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = request(&operator, &mut events, "request_created", "One").await;
    operator.approve(&[&made]).await;
    await_tag(&file, "#claimed-fix");
    std::fs::write(&file, "").unwrap();
    events.wait_for("request_withdrawn", "a.md").await;
    notes.gate.let_one_through();
    events.wait_for("request_done", "worker").await;
    std::fs::write(&file, "One #claimed-fix\n").unwrap();
    await_tag(&file, "#done-fix");
    assert_eq!(notes.workshop.read("SELECT count(*) FROM requests"), "1");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_takes_the_name_of_another_is_watched() {
    let notes = Notes::new();
    notes.write("d/a.md", "One #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    request(&operator, &mut events, "request_created", "One").await;
    let fresh = notes.workshop.path("fresh");
    std::fs::create_dir(&fresh).unwrap();
    std::fs::write(fresh.join("b.md"), "Two #needs-fix\n").unwrap();
    std::fs::rename(notes.root.join("d"), notes.workshop.path("away")).unwrap();
    std::fs::rename(&fresh, notes.root.join("d")).unwrap();
    request(&operator, &mut events, "request_created", "Two").await;
    std::fs::write(
        notes.root.join("d/b.md"),
        "Two #needs-fix\nThree #needs-fix\n",
    )
    .unwrap();
    request(&operator, &mut events, "request_created", "Three").await;
    assert_eq!(titles(&operator).await, ["Two", "Three"]);
    notes.assert_invariants();
}
