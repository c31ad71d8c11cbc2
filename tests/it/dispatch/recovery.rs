//! Recovery of requests whose agent, supervisor or server dies.

use chorus::domain::{Request, RequestState};
use serde_json::{Value, json};

use super::{kind_rule, serve};
use crate::support::{Events, Gate, Operator, Sandbox, Server};

fn retry_rule(max_attempts: u32) -> Value {
    let mut rule = kind_rule("fix", "worker", 3.0);
    rule["retry"] = true.into();
    rule["maxAttempts"] = max_attempts.into();
    rule
}

/// Adds an agent that prints a line and waits at a gate.
fn gated_worker() -> (Sandbox, Gate) {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "echo begun $$; read _ <{}; echo finished",
        gate.path().display()
    );
    (sandbox.with_agent("worker", &script), gate)
}

/// Starts a request and waits until its agent works.
async fn start_request(server: &Server, rules: &Value) -> (Operator, Request, Events) {
    let operator = Operator::of(server);
    let mut events = Events::listen(&operator.client).await;
    operator.set_kind_rules(rules).await;
    let request = operator.create_approved("fix", "Mend it").await;
    events.wait_for("message_added", "begun").await;
    (operator, request, events)
}

fn kill_agents(sandbox: &Sandbox) {
    for (pid, line) in sandbox.all_processes() {
        if !line.contains(" supervise ") {
            sandbox.kill(pid);
        }
    }
}

fn kill_supervisors(sandbox: &Sandbox) {
    for pid in sandbox.supervisors() {
        sandbox.kill(pid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_agent_or_supervisor_is_killed_is_requeued() {
    for (kill, reason) in [
        (kill_agents as fn(&Sandbox), "signal 9"),
        (kill_supervisors, "supervisor went down"),
    ] {
        let (sandbox, _gate) = gated_worker();
        let server = serve(&sandbox, 2);
        let (operator, request, _) =
            start_request(&server, &json!([kind_rule("fix", "worker", 3.0)])).await;
        kill(&sandbox);
        let back = operator.wait_for_state(&request, RequestState::Needs).await;
        assert!(!back.stuck);
        assert_eq!((back.attempts, back.lease.is_none()), (1, true));
        let [recovery] = back.recovery.as_slice() else {
            panic!("{:?}", back.recovery);
        };
        assert!(recovery.reason.as_str().contains(reason), "{recovery:?}");
        assert_eq!(
            recovery.action.as_str(),
            "Re-queued for a decision by the operator"
        );
        let run = sandbox.query("SELECT id FROM runs");
        assert_eq!(recovery.earlier_run.as_ref().unwrap().as_str(), run);
        sandbox.wait_until_no_process();
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_survives_a_kill_of_the_server_and_is_done_once() {
    let (sandbox, gate) = gated_worker();
    let server = serve(&sandbox, 2);
    let (_, request, _) = start_request(&server, &json!([retry_rule(5)])).await;
    server.kill();
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    assert_eq!(
        operator.get_request(&request).await.state,
        RequestState::Claimed
    );
    gate.let_one_through();
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!((done.attempts, done.recovery.len()), (1, 0));
    assert!(done.response.unwrap().as_str().ends_with("finished"));
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_server_supervisor_and_agent_are_killed_is_recovered_by_the_next_server() {
    let (sandbox, gate) = gated_worker();
    let server = serve(&sandbox, 2);
    let (_, request, _) = start_request(&server, &json!([retry_rule(2)])).await;
    server.kill();
    kill_supervisors(&sandbox);
    kill_agents(&sandbox);
    sandbox.wait_until_no_process();
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    // The rule retries, so no person is needed.
    events
        .wait_for("request_requeued", "\"to\":\"delegated\"")
        .await;
    gate.let_one_through();
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!((done.attempts, done.recovery.len()), (2, 1));
    let states: Vec<_> = done
        .transitions
        .iter()
        .map(|moved| moved.to.as_str())
        .collect();
    assert_eq!(
        states,
        [
            "needs",
            "delegated",
            "claimed",
            "delegated",
            "claimed",
            "done"
        ]
    );
    assert_eq!(
        sandbox.query("SELECT count(*) FROM tasks"),
        "1",
        "the second attempt continues the task of the first"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_always_fails_is_stuck_after_its_last_attempt() {
    let sandbox = Sandbox::new().with_agent("worker", "echo cannot >&2; exit 3");
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    operator.set_kind_rules(&json!([retry_rule(3)])).await;
    let request = operator.create_approved("fix", "Mend it").await;
    let stuck = operator.wait_for_state(&request, RequestState::Needs).await;
    assert!(stuck.stuck);
    assert_eq!((stuck.attempts, stuck.recovery.len()), (3, 3));
    let actions: Vec<_> = stuck
        .recovery
        .iter()
        .map(|recovery| recovery.action.as_str())
        .collect();
    assert_eq!(
        actions,
        [
            "Re-queued for attempt 2",
            "Re-queued for attempt 3",
            "Stopped after attempt 3: the request is stuck and waits for the operator"
        ]
    );
    let doctor = server.chorus(["doctor"]).transcript();
    assert!(
        doctor.contains(&format!("request {} is stuck after 3 attempts", stuck.id)),
        "{doctor}"
    );
    // Each approval of a person allows one more attempt.
    operator.approve(&[&request]).await;
    let again = operator.wait_for_state(&request, RequestState::Needs).await;
    assert_eq!((again.attempts, again.stuck), (4, true));
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_a_request_stops_its_agent() {
    for (action, body, state) in [
        (
            "requeue",
            json!({ "reason": "Changed my mind" }),
            RequestState::Needs,
        ),
        (
            "done",
            json!({ "response": "I did it myself" }),
            RequestState::Done,
        ),
    ] {
        let (sandbox, _gate) = gated_worker();
        let server = serve(&sandbox, 2);
        let (operator, request, _) = start_request(&server, &json!([retry_rule(5)])).await;
        let ended = operator.post(&request, action, &body).await.unwrap();
        assert_eq!(ended.state, state);
        sandbox.wait_until_no_process();
        let task = ended.task_id.unwrap();
        let outcome = sandbox.query(&format!(
            "SELECT outcome FROM chain WHERE task_id = '{task}'"
        ));
        assert_eq!(
            outcome,
            if state == RequestState::Done {
                "completed"
            } else {
                "cancelled"
            }
        );
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_hand_off_is_cancelled_waits_for_the_operator() {
    let (sandbox, _gate) = gated_worker();
    let server = serve(&sandbox, 2);
    let (operator, request, _) = start_request(&server, &json!([retry_rule(5)])).await;
    let task = operator.get_request(&request).await.task_id.unwrap();
    let cancelled = server.chorus(["cancel", task.as_str()]).output();
    assert!(cancelled.status.success());
    let back = operator.wait_for_state(&request, RequestState::Needs).await;
    assert_eq!((back.attempts, back.stuck), (1, false));
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}
