//! Servers and supervisors whose clock is set while they run, or while they do not.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use chorus::client::Client;
use chorus::domain::{Outcome, RequestState, Task};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Operator, Sandbox, Server, create_task, last_handoff_id, start_handoff, wait_for_end,
};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Starts a server that dispatches one second after an approval.
fn serve(sandbox: &Sandbox) -> Server {
    sandbox.serve_with(2, &["--port", "0", "--debounce-seconds", "1"])
}

async fn serve_requests(sandbox: &Sandbox) -> (Server, Operator) {
    let server = serve(sandbox);
    let operator = Operator::of(&server);
    let rules = json!([{ "kind": "fix", "agent": "worker", "rank": 1.0 }]);
    operator.set_kind_rules(&rules).await;
    (server, operator)
}

async fn create_task_once(client: &Client, key: &str) -> Task {
    let request = client
        .request(Method::POST, "/api/tasks")
        .header("Idempotency-Key", key)
        .json(&json!({ "description": "once" }));
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    serde_json::from_value(answer["data"].clone()).unwrap()
}

fn assert_event_times_never_go_back(sandbox: &Sandbox) {
    let earlier = sandbox.query(
        "SELECT count(*) FROM events e JOIN events next ON next.number = e.number + 1
          WHERE next.occurred_at < e.occurred_at",
    );
    assert_eq!(earlier, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_dispatched_although_the_clock_was_set_back() {
    let sandbox = Sandbox::new().with_agent("worker", "echo done");
    let (_server, operator) = serve_requests(&sandbox).await;
    let before = operator.create_approved("fix", "Before").await;
    operator.wait_for_state(&before, RequestState::Done).await;
    sandbox.set_clock(-HOUR);
    let after = operator.create_approved("fix", "After").await;
    operator.wait_for_state(&after, RequestState::Done).await;
    assert_event_times_never_go_back(&sandbox);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_forward_ends_no_lease_and_forgets_no_key() {
    let sandbox = Sandbox::new().with_agent("worker", "echo done");
    let (server, operator) = serve_requests(&sandbox).await;
    let claimed = operator.create_request("fix", "Claimed", "P2").await;
    operator.post(&claimed, "next", &json!({})).await.unwrap();
    let claim = json!({ "agent": "somebody" });
    operator.post(&claimed, "claim", &claim).await.unwrap();
    let once = create_task_once(&operator.client, "a-key").await;
    sandbox.set_clock(8 * DAY);
    // The round that starts a request has expired leases before.
    let other = operator.create_approved("fix", "Other").await;
    operator.wait_for_state(&other, RequestState::Done).await;
    let found = operator.get_request(&claimed).await;
    assert_eq!(found.state, RequestState::Claimed, "{found:?}");
    // The same while no server runs.
    server.kill();
    sandbox.set_clock(16 * DAY);
    let server = serve(&sandbox);
    let operator = Operator::of(&server);
    let other = operator.create_approved("fix", "Another").await;
    operator.wait_for_state(&other, RequestState::Done).await;
    let found = operator.get_request(&claimed).await;
    assert_eq!(found.state, RequestState::Claimed, "{found:?}");
    let again = create_task_once(&operator.client, "a-key").await;
    assert_eq!(again.id, once.id);
    // Times follow the clock, and the key is as old as it really is.
    let days = |column: &str| {
        let query = format!(
            "SELECT (max(e.occurred_at) - min({column})) / {DAY} FROM events e, idempotency_keys k"
        );
        sandbox.query(&query)
    };
    assert_eq!(
        (days("e.occurred_at"), days("k.created_at")),
        ("16".to_owned(), "0".to_owned())
    );
    assert_event_times_never_go_back(&sandbox);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_times_never_go_back_after_a_restart() {
    let sandbox = Sandbox::new();
    for (offset, server_time) in [(0, "the right time"), (-HOUR, "an hour less")] {
        sandbox.set_clock(offset);
        let server = sandbox.serve(0);
        create_task(&server.client()).await;
        assert_event_times_never_go_back(&sandbox);
        assert!(server.stop().success(), "at {server_time}");
    }
    let since = "SELECT max(occurred_at) - min(occurred_at) FROM events";
    assert!(sandbox.query(since).parse::<i64>().unwrap() < HOUR);
}

/// Makes a supervisor look at its limits, and waits until it has looked.
fn make_supervisor_look(control: &std::path::Path) {
    // The byte is no order.
    let mut pipe = File::options()
        .read(true)
        .write(true)
        .open(control)
        .unwrap();
    pipe.write_all(b"?").unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while rustix::io::ioctl_fionread(&pipe).unwrap() > 0 {
        assert!(Instant::now() < deadline, "the supervisor does not read");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_forward_ends_no_agent_and_the_idle_limit_is_kept() {
    const IDLE_SECONDS: u32 = 8;
    let sandbox = Sandbox::new();
    let (old_enough, quiet) = (sandbox.gate("old-enough"), sandbox.path("quiet"));
    // Talks for longer than its idle limit, then until the test wants silence.
    let script = format!(
        "for i in $(seq {}); do echo talking; sleep 0.1; done; echo go >{}
         while [ ! -e {} ]; do echo talking; sleep 0.1; done; echo quiet; exec sleep 600",
        IDLE_SECONDS * 10 + 1,
        old_enough.path().display(),
        quiet.display(),
    );
    let agent = json!({
        "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], "idleSeconds": IDLE_SECONDS,
    });
    let sandbox = sandbox.with_configured_agent("talker", &agent);
    let server = sandbox.serve(1);
    let client = server.client();
    let handoff_id = last_handoff_id(&start_handoff(&client, "talker").await);
    tokio::task::spawn_blocking({
        let path = old_enough.path().to_owned();
        move || {
            std::io::BufRead::read_line(
                &mut std::io::BufReader::new(File::open(path).unwrap()),
                &mut String::new(),
            )
        }
    })
    .await
    .unwrap()
    .unwrap();
    sandbox.set_clock(2 * HOUR);
    let run = sandbox.query("SELECT id FROM runs");
    make_supervisor_look(&sandbox.data_dir.join("runs").join(run).join("control"));
    std::fs::write(quiet, "").unwrap();
    let handoff = wait_for_end(&client, handoff_id).await;
    assert_eq!(handoff.outcome, Some(Outcome::TimedOut));
    let output = handoff.output.as_str();
    assert!(
        output.contains("quiet") && output.contains("its idle limit"),
        "{output}"
    );
    sandbox.wait_until_no_process();
}
