//! What dies is found and queued again.

use chorus::domain::{Request, RequestState};
use serde_json::{Value, json};

use super::route;
use crate::support::{Events, Gate, Operator, Server, Workshop};

/// Makes a route to the worker that tries again.
fn retrying(max_attempts: u32) -> Value {
    let mut retrying = route("fix", "worker", 3.0);
    retrying["retry"] = true.into();
    retrying["maxAttempts"] = max_attempts.into();
    retrying
}

/// An agent that says that it has begun and waits at a gate.
fn waiting_worker() -> (Workshop, Gate) {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let script = format!(
        "echo begun $$; read _ <{}; echo finished",
        gate.path().display()
    );
    (workshop.agent("worker", &script), gate)
}

fn serve(workshop: &Workshop) -> Server {
    workshop.serve_with(2, &["--port", "0", "--debounce-seconds", "0"])
}

/// Starts a request and waits until its agent works.
async fn begun(server: &Server, routes: &Value) -> (Operator, Request, Events) {
    let operator = Operator::of(server);
    let mut events = Events::listen(&operator.client).await;
    operator.set_kind_rules(routes).await;
    let request = operator.create_approved("fix", "Mend it").await;
    events.wait_for("message_added", "begun").await;
    (operator, request, events)
}

fn kill_agents(workshop: &Workshop) {
    for (pid, line) in workshop.all_processes() {
        if !line.contains(" supervise ") {
            workshop.kill(pid);
        }
    }
}

fn kill_supervisors(workshop: &Workshop) {
    for pid in workshop.supervisors() {
        workshop.kill(pid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_agent_or_supervisor_is_killed_is_queued_again() {
    for (kill, reason) in [
        (kill_agents as fn(&Workshop), "signal 9"),
        (kill_supervisors, "supervisor went down"),
    ] {
        let (workshop, _gate) = waiting_worker();
        let server = serve(&workshop);
        let (operator, request, _) = begun(&server, &json!([route("fix", "worker", 3.0)])).await;
        kill(&workshop);
        let back = operator.wait_for_state(&request, RequestState::Needs).await;
        assert!(!back.stuck);
        assert_eq!((back.attempts, back.lease.is_none()), (1, true));
        let [recovery] = back.recovery.as_slice() else {
            panic!("{:?}", back.recovery);
        };
        assert!(recovery.reason.as_str().contains(reason), "{recovery:?}");
        assert_eq!(
            recovery.action.as_str(),
            "Re-queued for a decision by a person"
        );
        let run = workshop.read("SELECT id FROM runs");
        assert_eq!(recovery.earlier_run.as_ref().unwrap().as_str(), run);
        workshop.until_quiet();
        workshop.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_on_when_the_server_is_killed_and_is_done_once() {
    let (workshop, gate) = waiting_worker();
    let server = serve(&workshop);
    let (_, request, _) = begun(&server, &json!([retrying(5)])).await;
    server.kill();
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    assert_eq!(
        operator.get_request(&request).await.state,
        RequestState::Claimed
    );
    gate.let_one_through();
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!((done.attempts, done.recovery.len()), (1, 0));
    assert!(done.response.unwrap().as_str().ends_with("finished"));
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_server_supervisor_and_agent_were_killed_is_found_by_the_next_server() {
    let (workshop, gate) = waiting_worker();
    let server = serve(&workshop);
    let (_, request, _) = begun(&server, &json!([retrying(2)])).await;
    server.kill();
    kill_supervisors(&workshop);
    kill_agents(&workshop);
    workshop.until_quiet();
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    // The route says to try again, so nobody has to look.
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
        workshop.read("SELECT count(*) FROM tasks"),
        "1",
        "the second attempt goes on with the task of the first"
    );
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fails_every_time_stops_at_the_limit_and_is_stuck() {
    let workshop = Workshop::new().agent("worker", "echo cannot >&2; exit 3");
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    operator.set_kind_rules(&json!([retrying(3)])).await;
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
            "Stopped after attempt 3: the request is stuck and waits for a person"
        ]
    );
    let doctor = server.chorus(["doctor"]).transcript();
    assert!(
        doctor.contains(&format!("request {} is stuck after 3 attempts", stuck.id)),
        "{doctor}"
    );
    // A person may look again; then it has one more attempt.
    operator.approve(&[&request]).await;
    let again = operator.wait_for_state(&request, RequestState::Needs).await;
    assert_eq!((again.attempts, again.stuck), (4, true));
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_a_request_back_stops_its_agent() {
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
        let (workshop, _gate) = waiting_worker();
        let server = serve(&workshop);
        let (operator, request, _) = begun(&server, &json!([retrying(5)])).await;
        let ended = operator.post(&request, action, &body).await.unwrap();
        assert_eq!(ended.state, state);
        workshop.until_quiet();
        let task = ended.task_id.unwrap();
        let outcome = workshop.read(&format!(
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
        workshop.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_the_hand_off_of_a_request_leaves_it_to_a_person() {
    let (workshop, _gate) = waiting_worker();
    let server = serve(&workshop);
    let (operator, request, _) = begun(&server, &json!([retrying(5)])).await;
    let task = operator.get_request(&request).await.task_id.unwrap();
    let cancelled = server.chorus(["cancel", task.as_str()]).output();
    assert!(cancelled.status.success());
    let back = operator.wait_for_state(&request, RequestState::Needs).await;
    assert_eq!((back.attempts, back.stuck), (1, false));
    workshop.until_quiet();
    workshop.assert_invariants();
}
