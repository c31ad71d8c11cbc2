//! The order, the delay and the batches of the dispatcher.

use std::time::Duration;

use chorus::domain::{
    Actor, Caller, NewRequest, Priority, Request, RequestId, RequestSource, RequestState,
};
use chorus::engine::DispatcherOptions;
use chorus::ledger::request;
use serde_json::json;

use super::{kind_rule, serve};
use crate::support::requests::Requests;
use crate::support::{Events, Operator, Sandbox, TestApp};

/// Reads the titles of requests in the order of their claims.
fn claimed_titles(sandbox: &Sandbox) -> String {
    sandbox.query(
        "SELECT group_concat(title, ' ') FROM (
             SELECT r.title FROM request_transitions t JOIN requests r ON r.number = t.request_number
              WHERE t.to_state = 'claimed' ORDER BY t.number)",
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_urgent_request_starts_first_even_if_it_comes_later() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("read _ <{}; echo done", gate.path().display());
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve_with(1, &["--port", "0", "--debounce-seconds", "0.1"]);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator
        .set_kind_rules(&json!([
            kind_rule("docs", "worker", 6.0),
            kind_rule("fix", "worker", 3.0),
            kind_rule("chores", "worker", 5.0)
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
    // One runs and one is queued for the slot; the others are not claimed yet.
    while claimed_titles(&sandbox) != "P0-docs P1-chores" {
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
        claimed_titles(&sandbox),
        "P0-docs P1-chores P0-late P2-fix-1 P2-fix-2 P2-docs"
    );
    sandbox.assert_invariants();
}

/// Creates and approves a request of a default kind.
async fn create_approved(app: &TestApp, title: &str) -> RequestId {
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
async fn requests_start_after_three_seconds_without_an_approval() {
    let app = TestApp::new().await;
    let rules = chorus::engine::default_kind_rules();
    app.engine.seed_kind_rules(rules).await.unwrap();
    let options = DispatcherOptions {
        enabled: true,
        debounce: Duration::from_secs(3),
        max_runs: 8,
        tmux: None,
    };
    let round = async || app.engine.dispatch_round(&options).await.unwrap().next;
    let first = create_approved(&app, "first").await;
    assert_eq!(round().await, Duration::from_secs(3));
    app.clock.advance(2000);
    let second = create_approved(&app, "second").await;
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
    // Constant approvals do not delay a request forever.
    let third = create_approved(&app, "third").await;
    for _ in 0..14 {
        round().await;
        assert_eq!(state(&app, &third).await, RequestState::Delegated);
        app.clock.advance(2000);
        create_approved(&app, "more").await;
    }
    app.clock.advance(2000);
    round().await;
    assert_eq!(state(&app, &third).await, RequestState::Claimed);
}

#[tokio::test]
async fn a_disabled_dispatcher_starts_nothing_but_expires_leases() {
    let app = TestApp::new().await;
    let rules = chorus::engine::default_kind_rules();
    app.engine.seed_kind_rules(rules).await.unwrap();
    let off = DispatcherOptions {
        enabled: false,
        debounce: Duration::ZERO,
        max_runs: 8,
        tmux: None,
    };
    let id = create_approved(&app, "somebody else's").await;
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
async fn a_batch_goes_to_one_agent_and_each_request_gets_the_response() {
    let sandbox = Sandbox::new().with_agent("worker", "cat >prompt; echo all done");
    let server = sandbox.serve_with(4, &["--port", "0", "--debounce-seconds", "0.1"]);
    let operator = Operator::of(&server);
    let mut batch = kind_rule("chores", "worker", 5.0);
    batch["batch"] = true.into();
    operator
        .set_kind_rules(&json!([batch, kind_rule("fix", "worker", 3.0)]))
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
    assert_ne!(tasks[0], tasks[1], "another kind is another hand-off");
    let prompt = server
        .data_dir
        .join("workspaces")
        .join(tasks[0].as_str())
        .join("prompt");
    let prompt = std::fs::read_to_string(prompt).unwrap();
    for line in [
        "## Request 1: one",
        "## Request 2: two",
        "## Request 3: three",
    ] {
        assert!(prompt.contains(line), "{prompt}");
    }
    assert_eq!(sandbox.query("SELECT count(*) FROM handoffs"), "2");
    assert_eq!(
        sandbox.query("SELECT group_concat(DISTINCT status) FROM tasks"),
        "completed"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prompt_has_the_request_and_the_form_of_the_response() {
    let sandbox = Sandbox::new().with_agent("worker", "cat");
    let server = serve(&sandbox, 1);
    let operator = Operator::of(&server);
    operator
        .set_kind_rules(&json!([kind_rule("research", "worker", 1.0)]))
        .await;
    let request = operator.create_approved("research", "How big is it?").await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    let prompt = done.response.unwrap();
    let form = include_str!("../../../seeds/templates/research.response.md");
    for part in [
        "How big is it?",
        "Please.",
        form.trim(),
        request.id.as_str(),
    ] {
        assert!(
            prompt.as_str().contains(part),
            "{part} is missing: {prompt}"
        );
    }
}
