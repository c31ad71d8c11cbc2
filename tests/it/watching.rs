//! Tags in watched files become requests, and the state of a request is written into its file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chorus::domain::{Request, RequestState, Text};
use serde_json::{Value, json};

use crate::support::{
    Chorus, Events, Gate, Operator, Sandbox, Server, last_handoff_id, start_handoff, wait_for_end,
};

/// A folder of notes that a server watches, and an agent that waits at a gate for every request.
struct Notes {
    sandbox: Sandbox,
    gate: Gate,
    root: PathBuf,
}

impl Notes {
    fn new() -> Self {
        Self::with_script("pwd; read _ <GATE && echo finished")
    }

    /// Notes whose agent is another script; `GATE` in it stands for the gate.
    fn with_script(script: &str) -> Self {
        let sandbox = Sandbox::new();
        let gate = sandbox.gate("gate");
        let script = script.replace("GATE", &gate.path().display().to_string());
        let sandbox = sandbox.with_agent("worker", &script);
        let root = sandbox.path("notes");
        std::fs::create_dir(&root).unwrap();
        Self {
            sandbox,
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
        let server = self.sandbox.serve_with(2, &arguments);
        let operator = Operator::of(&server);
        let events = Events::listen(&operator.client).await;
        operator
            .set_kind_rules(&json!([{ "kind": "fix", "agent": "worker", "rank": 1 }]))
            .await;
        (server, operator, events)
    }

    fn assert_invariants(&self) {
        self.sandbox.assert_invariants();
    }
}

fn wait_for_tag(file: &Path, tag: &str) {
    let waited =
        Chorus::new(["await-tag", file.to_str().unwrap(), tag, "--timeout", "60"]).output();
    assert!(
        waited.status.success(),
        "{}",
        String::from_utf8_lossy(&waited.stderr)
    );
}

/// Waits until a condition on files holds, which no event reports.
pub fn wait_until(holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(
            Instant::now() < deadline,
            "the condition did not hold in time"
        );
        std::thread::yield_now();
    }
}

fn read(file: &Path) -> String {
    String::from_utf8(std::fs::read(file).unwrap()).unwrap()
}

/// Waits for an event and reads its request.
async fn wait_for_request(
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
async fn a_tag_becomes_a_request_and_shows_its_state() {
    let notes = Notes::new();
    let before = "# Plan\r\n\r\nWhy not.\r\n\r\n- [ ] Mend the parser #needs-fix #P1 #M\r\n  It reads twice.\r\n- [ ] Else `#needs-fix`";
    let file = notes.write("plan.md", before);
    let (server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend the parser").await;
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
    wait_for_tag(&file, "#claimed-fix");
    let claimed = before.replacen("#needs-fix", "#claimed-fix", 1);
    assert_eq!(read(&file), claimed, "nothing else changes");
    notes.gate.let_one_through();
    wait_for_tag(&file, "#done-fix");
    let done = operator.wait_for_state(&made, RequestState::Done).await;
    let expected = before.replacen("#needs-fix", "#done-fix", 1);
    let (text, response) = read(&file).split_at_checked(expected.len()).map_or_else(
        || panic!("{}", read(&file)),
        |(text, response)| (text.to_owned(), response.to_owned()),
    );
    assert_eq!(text, expected);
    let link = format!("{}/api/requests/{}/response", server.url, made.id);
    assert!(
        response.starts_with(&format!(
            "\r\n\r\n## Response\r\n\r\n* [Mend the parser]({link}), "
        )),
        "{response}"
    );
    // The agent worked in the folder of the file.
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
async fn a_requeued_request_is_explained_in_its_file() {
    let notes = Notes::new();
    let file = notes.write("a.md", "# Mend it\n\n**Tags**: #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    operator.approve(&[&made]).await;
    wait_for_tag(&file, "#claimed-fix");
    let body = json!({ "reason": "Not `now` #needs-fix" });
    operator.post(&made, "requeue", &body).await.unwrap();
    wait_for_tag(&file, "#needs-fix");
    let text = read(&file);
    let run = notes.sandbox.query("SELECT id FROM runs");
    assert!(
        text.starts_with("# Mend it\n\n**Tags**: #needs-fix\n\n## Recovery\n\n* **Request**: Mend it\n* **Date**: "),
        "{text}"
    );
    assert!(
        text.ends_with(&format!(
            " UTC\n* **Reason**: Not \\`now\\` \\#needs-fix\n* **Earlier run**: `{run}`\n* **Action**: Re-queued for a decision by the operator\n\n"
        )),
        "{text}"
    );
    // The escaped tag in the recovery is not a request.
    notes.write("b.md", "Something else #needs-fix\n");
    wait_for_request(&operator, &mut events, "request_created", "Something else").await;
    assert_eq!(titles(&operator).await, ["Mend it", "Something else"]);
    notes.sandbox.wait_until_no_process();
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_by_editing_the_file_unless_file_approval_is_off() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\n");
    let (server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    std::fs::write(&file, "Mend it #delegated-fix\n").unwrap();
    let approved = wait_for_request(&operator, &mut events, "request_approved", "file").await;
    assert_eq!(approved.id, made.id);
    notes.gate.let_one_through();
    operator.wait_for_state(&made, RequestState::Done).await;
    wait_for_tag(&file, "#done-fix");
    drop(server);

    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #delegated-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-file-approval"]).await;
    let ignored =
        wait_for_request(&operator, &mut events, "request_tag_ignored", "delegated").await;
    assert_eq!(ignored.state, RequestState::Needs);
    wait_for_tag(&file, "#needs-fix");
    operator.approve(&[&ignored]).await;
    notes.gate.let_one_through();
    operator.wait_for_state(&ignored, RequestState::Done).await;
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_tag_withdraws_its_request_and_adding_it_again_restores_it() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\nKeep it #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    std::fs::write(&file, "Mend it\nKeep it #needs-fix\n").unwrap();
    events.wait_for("request_withdrawn", "a.md").await;
    let error = operator
        .post(&made, "approve", &json!({}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("was withdrawn"), "{error}");
    assert_eq!(titles(&operator).await, ["Keep it"]);
    // The same tag in another file is the same request.
    notes.write("deep/b.md", "text\n\n* Mend it #needs-fix #P0\n");
    let back = wait_for_request(&operator, &mut events, "request_restored", "b.md").await;
    assert_eq!(back.id, made.id);
    assert_eq!(back.source.line, Some(3));
    assert_eq!(titles(&operator).await, ["Mend it", "Keep it"]);
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_taken_back_is_written_into_the_file() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\nBreak it #next-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    let first = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    let second = wait_for_request(&operator, &mut events, "request_created", "Break it").await;
    operator.approve(&[&first]).await;
    wait_for_tag(&file, "#delegated-fix");
    for request in [&first, &second] {
        let body = json!({ "reason": "Too early" });
        operator.post(request, "withdraw", &body).await.unwrap();
    }
    wait_until(|| read(&file) == "Mend it #needs-fix\nBreak it #needs-fix\n");
    // The file still belongs to the operator: a tag approves again, and another one takes the approval back.
    for (tag, event, state) in [
        (
            "#delegated-fix",
            "request_approved",
            RequestState::Delegated,
        ),
        ("#needs-fix", "request_requeued", RequestState::Needs),
    ] {
        std::fs::write(&file, format!("Mend it {tag}\nBreak it #needs-fix\n")).unwrap();
        events.wait_for(event, &format!("a.md:1 says {tag}")).await;
        assert_eq!(operator.get_request(&first).await.state, state);
    }
    let body = json!({ "response": "Not needed." });
    operator.post(&first, "done", &body).await.unwrap();
    wait_for_tag(&file, "#done-fix");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_agent_takes_a_tag_from_its_prompt_and_the_file_follows() {
    let script = "id=$(sed -n 's/^Request \\([^:]*\\):.*/\\1/p'); chorus request claim $id >/dev/null && read _ <GATE && \
                  chorus request done $id 'Mended.' >/dev/null && echo assigned";
    let notes = Notes::with_script(script);
    let file = notes.write("a.md", "Mend it #next-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let request = wait_for_request(&operator, &mut events, "request_next", "a.md").await;
    let task = start_handoff(&operator.client, "worker").await;
    wait_for_tag(&file, "#claimed-fix");
    notes.gate.let_one_through();
    let handoff = wait_for_end(&operator.client, last_handoff_id(&task)).await;
    assert_eq!(handoff.output.as_str(), "assigned");
    wait_for_tag(&file, "#done-fix");
    let done = operator.get_request(&request).await;
    assert_eq!(done.response.unwrap().as_str(), "Mended.");
    wait_until(|| read(&file).contains("by worker"));
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn renamed_and_moved_files_keep_their_requests() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    // A new file replaces the old one; the line has moved, and there is another tag.
    let unfinished = notes.write(
        "a.md.swp",
        "# Heading\n\nMend it #needs-fix\nMore #needs-fix\n",
    );
    std::fs::rename(unfinished, &file).unwrap();
    wait_for_request(&operator, &mut events, "request_created", "More").await;
    assert_eq!(operator.get_request(&made).await.source.line, Some(3));
    // The file and its folder move while the request is worked on.
    operator.approve(&[&made]).await;
    wait_for_tag(&file, "#claimed-fix");
    std::fs::create_dir(notes.root.join("old")).unwrap();
    std::fs::rename(&file, notes.root.join("old/a.md")).unwrap();
    std::fs::rename(notes.root.join("old"), notes.root.join("new")).unwrap();
    let moved = notes.root.join("new/a.md");
    notes.gate.let_one_through();
    wait_for_tag(&moved, "#done-fix");
    let done = operator.get_request(&made).await;
    assert_eq!(done.source.file.unwrap().as_str(), moved.to_str().unwrap());
    // A file is deleted and restored.
    std::fs::remove_file(&moved).unwrap();
    events.wait_for("request_withdrawn", "").await;
    notes.write("new/a.md", "More #needs-fix\n");
    wait_for_request(&operator, &mut events, "request_restored", "a.md").await;
    assert_eq!(titles(&operator).await, ["Mend it", "More"]);
    assert_eq!(
        notes.sandbox.query("SELECT count(*) FROM requests"),
        "2",
        "no request was created twice"
    );
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_made_without_a_server_are_reconciled_at_the_next_start() {
    let notes = Notes::new();
    let file = notes.write(
        "a.md",
        "One #needs-fix\nTwo #needs-fix\nThree #needs-fix\nFour #needs-fix\n",
    );
    let (server, operator, mut events) = notes.serve(&[]).await;
    let mut requests = Vec::new();
    for title in ["One", "Two", "Three", "Four"] {
        requests.push(wait_for_request(&operator, &mut events, "request_created", title).await);
    }
    server.kill();
    // This server watches nothing, so its approvals are not written into the file.
    let own = ["--port", "0", "--no-dispatch"];
    let server = notes.sandbox.serve_with(2, &own);
    Operator::of(&server).approve(&[&requests[0]]).await;
    Operator::of(&server).approve(&[&requests[2]]).await;
    server.kill();
    // A person edits the file meanwhile: Two and Three are done, Four is removed.
    std::fs::write(&file, "One #needs-fix\nTwo #done-fix\nThree #done-fix\n").unwrap();
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    wait_for_tag(&file, "#delegated-fix");
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
async fn outside_links_ignored_files_and_code_are_not_read() {
    let notes = Notes::new();
    let outside = notes.sandbox.path("outside");
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
    let made = wait_for_request(&operator, &mut events, "request_created", "Seen").await;
    assert_eq!(titles(&operator).await, ["Seen"]);
    // A file that becomes a link counts as removed, and its target is not written.
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
async fn bytes_that_are_not_utf8_are_left_unchanged() {
    let notes = Notes::new();
    let before =
        b"\xef\xbb\xbf# \xff\xfe t\xe9l\xe9\r- Mend \xe9\xff it #needs-fix \x00\xf0".as_slice();
    let file = notes.write("latin.md", before);
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend").await;
    operator.approve(&[&made]).await;
    wait_for_tag(&file, "#delegated-fix");
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
    wait_for_tag(&file, "#done-alert");
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
fn a_folder_that_cannot_be_watched_stops_the_server_at_once() {
    let sandbox = Sandbox::new();
    let missing = sandbox.path("missing");
    let output = Chorus::new(["serve", "--port", "0", "--watch", missing.to_str().unwrap()])
        .env("CHORUS_DATA_DIR", &sandbox.data_dir)
        .output();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains(&format!("Folder {} cannot be watched: ", missing.display())),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_target_of_a_folder_that_became_a_link_is_neither_read_nor_written() {
    let notes = Notes::new();
    notes.write("d/a.md", "One #needs-fix\n");
    let outside = notes.sandbox.path("outside");
    std::fs::create_dir(&outside).unwrap();
    let secret = "Secret\nOne #needs-fix\nSecret two #needs-fix\n";
    std::fs::write(outside.join("a.md"), secret).unwrap();
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "One").await;
    std::fs::rename(notes.root.join("d"), notes.sandbox.path("away")).unwrap();
    std::os::unix::fs::symlink(&outside, notes.root.join("d")).unwrap();
    // Either the request is withdrawn first, or its file is opened to write the tag.
    let _ = operator.post(&made, "next", &json!({})).await;
    events.wait_for("request_withdrawn", "a.md").await;
    let now = operator.get_request(&made).await;
    assert!(!now.body.as_str().contains("Secret"), "{}", now.body);
    assert_eq!(notes.sandbox.query("SELECT count(*) FROM requests"), "1");
    assert_eq!(read(&outside.join("a.md")), secret);
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_file_approval_no_tag_moves_a_request_out_of_needs() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\nTwo #needs-fix\nThree #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-file-approval"]).await;
    for title in ["One", "Two", "Three"] {
        wait_for_request(&operator, &mut events, "request_created", title).await;
    }
    std::fs::write(&file, "One #claimed-fix\nTwo #done-fix\nThree #next-fix\n").unwrap();
    for state in ["claimed", "done", "next"] {
        events.wait_for("request_tag_ignored", state).await;
    }
    // The tags are restored.
    wait_until(|| read(&file) == "One #needs-fix\nTwo #needs-fix\nThree #needs-fix\n");
    let states = notes
        .sandbox
        .query("SELECT group_concat(DISTINCT state) FROM requests");
    assert_eq!(states, "needs");
    let ignored = notes
        .sandbox
        .query("SELECT count(*) FROM events WHERE type = 'request_tag_ignored'");
    assert_eq!(ignored, "3", "each change is reported once");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_one_request_of_a_batch_does_not_end_the_others() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\nTwo #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    operator
        .set_kind_rules(&json!([{ "kind": "fix", "agent": "worker", "rank": 1, "batch": true }]))
        .await;
    let one = wait_for_request(&operator, &mut events, "request_created", "One").await;
    let two = wait_for_request(&operator, &mut events, "request_created", "Two").await;
    operator.approve(&[&one, &two]).await;
    operator.wait_for_state(&one, RequestState::Claimed).await;
    events.wait_for("message_added", "").await;
    wait_until(|| read(&file).matches("#claimed-fix").count() == 2);
    let text = read(&file);
    std::fs::write(&file, text.replacen("#claimed", "#done", 1)).unwrap();
    let ending = wait_for_request(&operator, &mut events, "request_ending", "a.md").await;
    assert_eq!(ending.id, one.id);
    for request in [&one, &two] {
        let state = operator.get_request(request).await.state;
        assert_eq!(state, RequestState::Claimed);
    }
    notes.gate.let_one_through();
    for request in [&one, &two] {
        let done = operator.wait_for_state(request, RequestState::Done).await;
        assert!(done.response.unwrap().as_str().ends_with("finished"));
    }
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_moved_away_and_back_is_watched_again() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    wait_for_request(&operator, &mut events, "request_created", "One").await;
    let away = notes.sandbox.path("away");
    std::fs::rename(&notes.root, &away).unwrap();
    std::fs::rename(&away, &notes.root).unwrap();
    std::fs::write(&file, "One #needs-fix\nTwo #needs-fix\n").unwrap();
    wait_for_request(&operator, &mut events, "request_created", "Two").await;
    assert_eq!(
        titles(&operator).await,
        ["One", "Two"],
        "no request was withdrawn"
    );
    notes.assert_invariants();
}

#[test]
fn the_data_directory_cannot_be_watched() {
    let sandbox = Sandbox::new();
    let own = sandbox.data_dir.join("workspaces");
    std::fs::create_dir(&own).unwrap();
    let output = Chorus::new(["serve", "--port", "0", "--watch", own.to_str().unwrap()])
        .env("CHORUS_DATA_DIR", &sandbox.data_dir)
        .output();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the server's data directory"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_empty_when_its_request_ended_gets_the_tag_later() {
    let notes = Notes::new();
    let file = notes.write("a.md", "One #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "One").await;
    operator.approve(&[&made]).await;
    wait_for_tag(&file, "#claimed-fix");
    std::fs::write(&file, "").unwrap();
    events.wait_for("request_withdrawn", "a.md").await;
    notes.gate.let_one_through();
    events.wait_for("request_done", "worker").await;
    std::fs::write(&file, "One #claimed-fix\n").unwrap();
    wait_for_tag(&file, "#done-fix");
    assert_eq!(notes.sandbox.query("SELECT count(*) FROM requests"), "1");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_replaces_another_is_watched() {
    let notes = Notes::new();
    notes.write("d/a.md", "One #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&["--no-dispatch"]).await;
    wait_for_request(&operator, &mut events, "request_created", "One").await;
    let fresh = notes.sandbox.path("fresh");
    std::fs::create_dir(&fresh).unwrap();
    std::fs::write(fresh.join("b.md"), "Two #needs-fix\n").unwrap();
    std::fs::rename(notes.root.join("d"), notes.sandbox.path("away")).unwrap();
    std::fs::rename(&fresh, notes.root.join("d")).unwrap();
    wait_for_request(&operator, &mut events, "request_created", "Two").await;
    std::fs::write(
        notes.root.join("d/b.md"),
        "Two #needs-fix\nThree #needs-fix\n",
    )
    .unwrap();
    wait_for_request(&operator, &mut events, "request_created", "Three").await;
    assert_eq!(titles(&operator).await, ["Two", "Three"]);
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_finds_its_own_tag_claimed() {
    let notes = Notes::with_script("cat ./*.md");
    let lines: Vec<_> = (0..12)
        .map(|number| format!("Mend {number} #needs-fix\n"))
        .collect();
    notes.write("all.md", lines.concat());
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let mut requests = Vec::new();
    for number in 0..12 {
        let title = format!("Mend {number}");
        let made = wait_for_request(&operator, &mut events, "request_created", &title).await;
        requests.push(made);
    }
    operator.approve(&requests.iter().collect::<Vec<_>>()).await;
    for (number, request) in requests.iter().enumerate() {
        let done = operator.wait_for_state(request, RequestState::Done).await;
        let response = done.response.unwrap();
        let seen = response.as_str().lines().nth(number).unwrap();
        assert_eq!(seen, format!("Mend {number} #claimed-fix"));
    }
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_starts_without_its_tag_if_the_file_cannot_be_written() {
    let notes = Notes::new();
    let file = notes.write("a.md", "Mend it #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    // The lock of another program, as an editor may hold it.
    let held = std::fs::File::open(&file).unwrap();
    held.lock().unwrap();
    notes.gate.let_one_through();
    operator.approve(&[&made]).await;
    let late = wait_for_request(&operator, &mut events, "request_tag_late", "a.md").await;
    assert_eq!(late.id, made.id);
    operator.wait_for_state(&made, RequestState::Done).await;
    assert_eq!(read(&file), "Mend it #needs-fix\n");
    drop(held);
    wait_for_tag(&file, "#done-fix");
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_swaps_its_tag_to_done_may_finish() {
    for swap in [
        "chorus tag swap a.md '#claimed-fix' '#done-fix'",
        "sed -i s/#claimed-fix/#done-fix/ a.md",
        "sed s/#claimed-fix/#done-fix/ a.md >b.tmp && cat b.tmp >a.md",
    ] {
        let notes = Notes::with_script(&format!("{{ {swap}; }} >&2; read word <GATE; echo ANSWER"));
        let file = notes.write("a.md", "Mend it #needs-fix\n");
        let (server, operator, mut events) = notes.serve(&[]).await;
        let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
        operator.approve(&[&made]).await;
        let ending = wait_for_request(&operator, &mut events, "request_ending", "a.md").await;
        assert_eq!(ending.state, RequestState::Claimed, "{swap}");
        notes.gate.let_one_through();
        let done = operator.wait_for_state(&made, RequestState::Done).await;
        assert_eq!(done.response.unwrap().as_str(), "ANSWER", "{swap}");
        let link = format!(
            "* [Mend it]({}/api/requests/{}/response), ",
            server.url, made.id
        );
        wait_until(|| read(&file).contains(&link));
        assert!(read(&file).starts_with("Mend it #done-fix\n\n## Response\n\n"));
        let run = notes.sandbox.query("SELECT outcome FROM runs");
        assert_eq!(run, "completed", "{swap}");
        drop(server);
        notes.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_tag_says_done_stays_done_if_its_run_fails() {
    let script =
        "sed -i s/#claimed-fix/#done-fix/ a.md; read word <GATE; echo 'All mended'; exit 3";
    let notes = Notes::with_script(script);
    let file = notes.write("a.md", "Mend it #needs-fix\n");
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let made = wait_for_request(&operator, &mut events, "request_created", "Mend it").await;
    operator.approve(&[&made]).await;
    events.wait_for("request_ending", "a.md").await;
    notes.gate.let_one_through();
    let done = operator.wait_for_state(&made, RequestState::Done).await;
    assert!(!done.response.unwrap().is_blank());
    assert_eq!(notes.sandbox.query("SELECT outcome FROM runs"), "failed");
    wait_until(|| read(&file).contains("## Response"));
    assert!(!read(&file).contains("## Recovery"));
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_never_go_back_because_a_file_is_read_late() {
    // Each agent claims and finishes in its file at once, so that its edits race with those of the server.
    let swap =
        |old: &str, new: &str| format!("chorus tag swap \"$n.md\" '#{old}-fix' '#{new}-fix' >&2; ");
    let script = format!(
        "n=$(sed -n 's/.*Mend \\([0-9]*\\).*/\\1/p' | head -n 1); {}{}echo ANSWER",
        swap("delegated", "claimed"),
        swap("claimed", "done")
    );
    let notes = Notes::with_script(&script);
    let mut files = Vec::new();
    for number in 0..20 {
        let text = format!("Mend {number} #delegated-fix\n");
        files.push(notes.write(&format!("{number}.md"), text));
    }
    let (_server, operator, _events) = notes.serve(&[]).await;
    let is_answered =
        |request: &Request| request.response.as_ref().map(Text::as_str) == Some("ANSWER");
    for file in &files {
        wait_for_tag(file, "#done-fix");
    }
    let back = "SELECT count(*) FROM request_transitions WHERE from_state = 'done'";
    assert_eq!(notes.sandbox.query(back), "0");
    let reply = operator.client.get("/api/requests", &[]).await.unwrap();
    let requests: Vec<Request> = reply.data().unwrap();
    assert_eq!(
        requests
            .iter()
            .filter(|request| is_answered(request))
            .count(),
        20
    );
    notes.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_delays_only_its_own_tags() {
    let notes = Notes::new();
    let file = notes.write("locked.md", "- One #needs-fix\n");
    let lock = std::fs::File::open(&file).unwrap();
    lock.lock_shared().unwrap();
    let (_server, operator, mut events) = notes.serve(&[]).await;
    let one = wait_for_request(&operator, &mut events, "request_created", "One").await;
    operator.approve(&[&one]).await;
    operator.wait_for_state(&one, RequestState::Claimed).await;
    let other = notes.write("other.md", "- Two #needs-fix\n");
    let two = wait_for_request(&operator, &mut events, "request_created", "Two").await;
    operator.approve(&[&two]).await;
    wait_for_tag(&other, "#claimed-fix");
    assert_eq!(read(&file), "- One #needs-fix\n");
    drop(lock);
    wait_for_tag(&file, "#claimed-fix");
    for _ in 0..2 {
        notes.gate.let_one_through();
    }
    wait_for_tag(&file, "#done-fix");
    wait_for_tag(&other, "#done-fix");
    notes.assert_invariants();
}
