//! What is started when, and with whom.

use std::time::Duration;

use chorus::domain::{
    Actor, Caller, NewRequest, Priority, Request, RequestId, RequestSource, RequestState,
};
use chorus::engine::DispatcherOptions;
use chorus::ledger::request;
use serde_json::json;

use super::route;
use crate::support::requests::Requests;
use crate::support::{Events, Operator, TestApp, Workshop};

/// Reads the titles of requests in the order in which they were claimed.
fn claimed(workshop: &Workshop) -> String {
    workshop.read(
        "SELECT group_concat(title, ' ') FROM (
             SELECT r.title FROM request_transitions t JOIN requests r ON r.number = t.request_number
              WHERE t.to_state = 'claimed' ORDER BY t.number)",
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_urgent_is_started_first_and_what_comes_later_overtakes() {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let script = format!("read _ <{}; echo done", gate.path().display());
    let workshop = workshop.agent("worker", &script);
    let server = workshop.serve_with(1, &["--port", "0", "--debounce-seconds", "0.1"]);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator
        .set_kind_rules(&json!([
            route("docs", "worker", 6.0),
            route("fix", "worker", 3.0),
            route("chores", "worker", 5.0)
        ]))
        .await;
    let mut requests = Vec::new();
    for (kind, title, priority) in [
        ("docs", "P2-docs", "P2"),
        ("fix", "P2-fix-1", "P2"),
        ("chores", "P1-chores", "P1"),
        ("docs", "P0-docs", "P0"),
        ("fix", "P2-fix-2", "P2"),
    ] {
        requests.push(operator.create_request(kind, title, priority).await);
    }
    operator.approve(&requests.iter().collect::<Vec<_>>()).await;
    events.wait_for("run_started", "worker").await;
    // One works, and one stands in line for its slot; everything else waits to be chosen.
    while claimed(&workshop) != "P0-docs P1-chores" {
        events.wait_for("request_claimed", "").await;
    }
    let late = operator.create_request("docs", "P0-late", "P0").await;
    operator.approve(&[&late]).await;
    requests.push(late);
    for request in &requests {
        gate.let_one_through();
        assert_ne!(
            operator.get_request(request).await.state,
            RequestState::Needs
        );
    }
    for request in &requests {
        operator.wait_for_state(request, RequestState::Done).await;
    }
    assert_eq!(
        claimed(&workshop),
        "P0-docs P1-chores P0-late P2-fix-1 P2-fix-2 P2-docs"
    );
    workshop.assert_invariants();
}

/// Leaves and approves a request of a default kind.
async fn delegate(app: &TestApp, title: &str) -> RequestId {
    let new = NewRequest {
        id: RequestId::new(),
        title: title.parse().unwrap(),
        body: String::new().try_into().unwrap(),
        kind: "fix".parse().unwrap(),
        priority: Priority::P2,
        effort: None,
        source: RequestSource::default(),
        agent_workspace: None,
    };
    let made = Requests(&app.db)
        .create_as(new, Actor::Operator)
        .await
        .unwrap();
    let approved = Requests(&app.db)
        .approve(vec![made.id.clone()], Actor::Operator)
        .await;
    approved.unwrap();
    made.id
}

async fn state(app: &TestApp, id: &RequestId) -> RequestState {
    let id = id.clone();
    let request: Request = app.read(move |view| request::get(view, &id)).await;
    request.state
}

#[tokio::test]
async fn nothing_is_started_until_nobody_has_approved_anything_for_three_seconds() {
    let app = TestApp::new().await;
    let routes = chorus::engine::default_kind_rules();
    app.engine.seed_kind_rules(routes).await.unwrap();
    let options = DispatcherOptions {
        enabled: true,
        debounce: Duration::from_secs(3),
        max_runs: 8,
        tmux: None,
    };
    let round = async || app.engine.dispatch_round(&options).await.unwrap().next;
    let first = delegate(&app, "first").await;
    assert_eq!(round().await, Duration::from_secs(3));
    app.clock.advance(2000);
    let second = delegate(&app, "second").await;
    app.clock.advance(2999);
    assert_eq!(round().await, Duration::from_millis(1));
    for id in [&first, &second] {
        assert_eq!(state(&app, id).await, RequestState::Delegated);
    }
    app.clock.advance(1);
    round().await;
    for id in [&first, &second] {
        assert_eq!(state(&app, id).await, RequestState::Claimed);
    }
    // Somebody who approves all the time does not hold up everything.
    let third = delegate(&app, "third").await;
    for _ in 0..14 {
        round().await;
        assert_eq!(state(&app, &third).await, RequestState::Delegated);
        app.clock.advance(2000);
        delegate(&app, "more").await;
    }
    app.clock.advance(2000);
    round().await;
    assert_eq!(state(&app, &third).await, RequestState::Claimed);
}

#[tokio::test]
async fn a_dispatcher_that_is_off_starts_nothing_but_takes_back_what_was_forgotten() {
    let app = TestApp::new().await;
    let routes = chorus::engine::default_kind_rules();
    app.engine.seed_kind_rules(routes).await.unwrap();
    let off = DispatcherOptions {
        enabled: false,
        debounce: Duration::ZERO,
        max_runs: 8,
        tmux: None,
    };
    let id = delegate(&app, "somebody else's").await;
    app.engine.dispatch_round(&off).await.unwrap();
    assert_eq!(state(&app, &id).await, RequestState::Delegated);
    let agent = "me".parse().unwrap();
    let claimed = app
        .engine
        .claim_request(id.clone(), agent, Some(60), &Caller::Person, None)
        .await
        .unwrap();
    assert_eq!(claimed.lease.unwrap().fencing, 1);
    assert_eq!(
        app.engine.dispatch_round(&off).await.unwrap().next,
        Duration::from_mins(1)
    );
    app.clock.advance(60_000);
    app.engine.dispatch_round(&off).await.unwrap();
    let back = app.read(move |view| request::get(view, &id)).await;
    assert_eq!(back.state, RequestState::Needs);
    assert_eq!(
        back.recovery[0].reason.as_str(),
        "The lease of me ran out without a heartbeat"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_given_to_one_agent_and_each_has_its_response() {
    let workshop = Workshop::new().agent("worker", "cat >told; echo all done");
    let server = workshop.serve_with(4, &["--port", "0", "--debounce-seconds", "0.1"]);
    let operator = Operator::of(&server);
    let mut batch = route("chores", "worker", 5.0);
    batch["batch"] = true.into();
    operator
        .set_kind_rules(&json!([batch, route("fix", "worker", 3.0)]))
        .await;
    let mut requests = Vec::new();
    for (kind, title) in [
        ("chores", "one"),
        ("fix", "other"),
        ("chores", "two"),
        ("chores", "three"),
    ] {
        requests.push(operator.create_request(kind, title, "P2").await);
    }
    operator.approve(&requests.iter().collect::<Vec<_>>()).await;
    let mut tasks = Vec::new();
    for request in &requests {
        let done = operator.wait_for_state(request, RequestState::Done).await;
        assert_eq!(done.response.unwrap().as_str(), "all done");
        tasks.push(done.task_id.unwrap());
    }
    assert_eq!((&tasks[0], &tasks[0]), (&tasks[2], &tasks[3]));
    assert_ne!(tasks[0], tasks[1], "another kind is another agent's");
    let told = server
        .data_dir
        .join("workspaces")
        .join(tasks[0].as_str())
        .join("told");
    let told = std::fs::read_to_string(told).unwrap();
    for line in [
        "## Request 1: one",
        "## Request 2: two",
        "## Request 3: three",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert_eq!(workshop.read("SELECT count(*) FROM handoffs"), "2");
    assert_eq!(
        workshop.read("SELECT group_concat(DISTINCT status) FROM tasks"),
        "completed"
    );
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatched_agent_is_told_the_request_and_the_form_of_its_response() {
    let workshop = Workshop::new().agent("worker", "cat");
    let server = workshop.serve_with(1, &["--port", "0", "--debounce-seconds", "0"]);
    let operator = Operator::of(&server);
    operator
        .set_kind_rules(&json!([route("research", "worker", 1.0)]))
        .await;
    let request = operator.create_approved("research", "How big is it?").await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    let told = done.response.unwrap();
    let form = include_str!("../../../seeds/templates/research.response.md");
    for part in [
        "How big is it?",
        "Please.",
        form.trim(),
        request.id.as_str(),
    ] {
        assert!(told.as_str().contains(part), "{part} is missing: {told}");
    }
}
