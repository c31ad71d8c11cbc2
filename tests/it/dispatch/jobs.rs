//! Jobs elsewhere: started once, asked after, and resumed by their ids.

use chorus::domain::RequestState;
use serde_json::{Value, json};

use crate::support::{Events, Operator, Server, Workshop};

/// A workshop whose jobs are files: `started` has a line for each start; a job is finished when a file with its name is there.
fn workshop() -> Workshop {
    Workshop::new()
        .agent("worker", "exit 1")
        .program(
            "start-job",
            "cat >asked; echo \"$CHORUS_REQUEST_ID\" >>started; echo starting; echo job-$(wc -l <started | tr -d ' ')",
        )
        .program(
            "poll-job",
            "test \"$1\" = \"$CHORUS_JOB_ID\" || exit 9; test -e \"$1\" || exit 75; grep -q bad \"$1\" && { echo it broke >&2; exit 4; }; cat \"$1\"",
        )
}

fn serve(workshop: &Workshop) -> Server {
    workshop.serve_with(2, &["--port", "0", "--debounce-seconds", "0"])
}

fn route(more: &Value) -> Value {
    let mut route = json!({
        "kind": "research", "agent": "worker", "mode": "async", "rank": 2,
        "startCommand": ["start-job"], "pollCommand": ["poll-job", "{job}"], "pollSeconds": 1,
    });
    for (key, value) in more.as_object().unwrap() {
        route[key] = value.clone();
    }
    json!([route])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_survives_a_restart_and_is_resumed_by_its_id() {
    let workshop = workshop();
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator.set_kind_rules(&route(&json!({}))).await;
    let request = operator
        .create_approved("research", "How big is the market?")
        .await;
    let event = events.wait_for("request_job_started", "").await;
    assert_eq!(event["data"]["jobId"], "job-1");
    let claimed = operator.get_request(&request).await;
    assert_eq!(claimed.state, RequestState::Claimed);
    assert_eq!(claimed.job_id.unwrap().as_str(), "job-1");
    server.kill();
    let place = workshop
        .data_dir
        .join("workspaces")
        .join(claimed.task_id.unwrap().as_str());
    std::fs::write(place.join("job-1"), "Very big.\n").unwrap();
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "Very big.");
    assert_eq!(done.attempts, 1);
    let started = std::fs::read_to_string(place.join("started")).unwrap();
    assert_eq!(started.trim(), request.id.as_str(), "it was started once");
    let asked = std::fs::read_to_string(place.join("asked")).unwrap();
    assert!(asked.starts_with("How big is the market?"), "{asked}");
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_or_never_starts_is_tried_again_and_then_stuck() {
    let workshop = workshop();
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator
        .set_kind_rules(&route(&json!({ "retry": true })))
        .await;
    let request = operator.create_approved("research", "How big?").await;
    events.wait_for("request_job_started", "job-1").await;
    let task = operator.get_request(&request).await.task_id.unwrap();
    let place = workshop.data_dir.join("workspaces").join(task.as_str());
    std::fs::write(place.join("job-1"), "bad").unwrap();
    events.wait_for("request_job_started", "job-2").await;
    std::fs::write(place.join("job-2"), "bad").unwrap();
    let stuck = operator.wait_for_state(&request, RequestState::Needs).await;
    assert!(stuck.stuck);
    for recovery in &stuck.recovery {
        let reason = recovery.reason.as_str();
        assert!(
            reason.contains("exit status: 4") && reason.ends_with(": it broke"),
            "{reason}"
        );
    }
    let silent = route(&json!({ "startCommand": ["true"] }));
    operator.set_kind_rules(&silent).await;
    let silent = operator.create_approved("research", "Nothing").await;
    let back = operator.wait_for_state(&silent, RequestState::Needs).await;
    let reason = back.recovery[0].reason.as_str();
    assert!(
        reason.starts_with("The agent ended without a final message"),
        "{reason}"
    );
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_followed_while_an_older_one_of_its_request_is_still_asked_after() {
    let workshop = workshop().program(
        "slow-poll",
        "test \"$1\" = job-1 || { echo the answer; exit 0; }; sleep 3",
    );
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator
        .set_kind_rules(&route(&json!({ "pollCommand": ["slow-poll", "{job}"] })))
        .await;
    let request = operator.create_approved("research", "How big?").await;
    events.wait_for("request_job_started", "job-1").await;
    let reason = json!({ "reason": "Start again" });
    operator.post(&request, "requeue", &reason).await.unwrap();
    operator.approve(&[&request]).await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "the answer");
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_although_its_command_leaves_a_child_behind() {
    let workshop = workshop().program("leaving-poll", "sleep 7777 & echo the answer");
    let server = serve(&workshop);
    let operator = Operator::of(&server);
    operator
        .set_kind_rules(&route(&json!({ "pollCommand": ["leaving-poll"] })))
        .await;
    let request = operator.create_approved("research", "How big?").await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "the answer");
    workshop.assert_invariants();
}
