//! Jobs outside the server: started once, polled, and resumed by their ids.

use chorus::domain::RequestState;
use serde_json::{Value, json};

use super::serve;
use crate::support::{Events, Operator, Sandbox};

/// Adds commands whose jobs are files: `started` has a line for each start, and a job is finished when a file with its id exists.
fn sandbox_with_jobs() -> Sandbox {
    Sandbox::new()
        .with_agent("worker", "exit 1")
        .with_program(
            "start-job",
            "cat >prompt; echo \"$CHORUS_REQUEST_ID\" >>started; echo starting; echo job-$(wc -l <started | tr -d ' ')",
        )
        .with_program(
            "poll-job",
            "test \"$1\" = \"$CHORUS_JOB_ID\" || exit 9; test -e \"$1\" || exit 75; grep -q bad \"$1\" && { echo it broke >&2; exit 4; }; cat \"$1\"",
        )
}

/// Returns one asynchronous rule with changed fields.
fn async_rules(changes: &Value) -> Value {
    let mut rule = json!({
        "kind": "research", "agent": "worker", "mode": "async", "rank": 2,
        "startCommand": ["start-job"], "pollCommand": ["poll-job", "{job}"], "pollSeconds": 1,
    });
    for (key, value) in changes.as_object().unwrap() {
        rule[key] = value.clone();
    }
    json!([rule])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_survives_a_restart_and_is_resumed_by_its_id() {
    let sandbox = sandbox_with_jobs();
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator.set_kind_rules(&async_rules(&json!({}))).await;
    let request = operator
        .create_approved("research", "How big is the market?")
        .await;
    let event = events.wait_for("request_job_started", "").await;
    assert_eq!(event["data"]["jobId"], "job-1");
    let claimed = operator.get_request(&request).await;
    assert_eq!(claimed.state, RequestState::Claimed);
    assert_eq!(claimed.job_id.unwrap().as_str(), "job-1");
    server.kill();
    let workspace = sandbox
        .data_dir
        .join("workspaces")
        .join(claimed.task_id.unwrap().as_str());
    std::fs::write(workspace.join("job-1"), "Very big.\n").unwrap();
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "Very big.");
    assert_eq!(done.attempts, 1);
    let started = std::fs::read_to_string(workspace.join("started")).unwrap();
    assert_eq!(
        started.trim(),
        request.id.as_str(),
        "the job was started once"
    );
    let prompt = std::fs::read_to_string(workspace.join("prompt")).unwrap();
    assert!(prompt.starts_with("How big is the market?"), "{prompt}");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_or_never_starts_is_retried_and_then_stuck() {
    let sandbox = sandbox_with_jobs();
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator
        .set_kind_rules(&async_rules(&json!({ "retry": true })))
        .await;
    let request = operator.create_approved("research", "How big?").await;
    events.wait_for("request_job_started", "job-1").await;
    let task = operator.get_request(&request).await.task_id.unwrap();
    let workspace = sandbox.data_dir.join("workspaces").join(task.as_str());
    std::fs::write(workspace.join("job-1"), "bad").unwrap();
    events.wait_for("request_job_started", "job-2").await;
    std::fs::write(workspace.join("job-2"), "bad").unwrap();
    let stuck = operator.wait_for_state(&request, RequestState::Needs).await;
    assert!(stuck.stuck);
    for recovery in &stuck.recovery {
        let reason = recovery.reason.as_str();
        assert!(
            reason.contains("exit status: 4") && reason.ends_with(": it broke"),
            "{reason}"
        );
    }
    let silent = async_rules(&json!({ "startCommand": ["true"] }));
    operator.set_kind_rules(&silent).await;
    let silent = operator.create_approved("research", "Nothing").await;
    let back = operator.wait_for_state(&silent, RequestState::Needs).await;
    let reason = back.recovery[0].reason.as_str();
    assert!(
        reason.starts_with("The agent ended without a final message"),
        "{reason}"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_polled_while_an_older_job_of_its_request_is_still_polled() {
    let sandbox = sandbox_with_jobs();
    // The gate stays closed, so the poll of the first job lasts as long as the test.
    let gate = sandbox.gate("gate");
    let script = format!(
        "test \"$1\" = job-1 || {{ echo the answer; exit 0; }}; read _ <{}",
        gate.path().display()
    );
    let sandbox = sandbox.with_program("slow-poll", &script);
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let mut events = Events::listen(&operator.client).await;
    operator
        .set_kind_rules(&async_rules(
            &json!({ "pollCommand": ["slow-poll", "{job}"] }),
        ))
        .await;
    let request = operator.create_approved("research", "How big?").await;
    events.wait_for("request_job_started", "job-1").await;
    let reason = json!({ "reason": "Start again" });
    operator.post(&request, "requeue", &reason).await.unwrap();
    operator.approve(&[&request]).await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "the answer");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_although_its_command_leaves_a_child_process() {
    let sandbox = sandbox_with_jobs().with_program("leaving-poll", "sleep 7777 & echo the answer");
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    operator
        .set_kind_rules(&async_rules(&json!({ "pollCommand": ["leaving-poll"] })))
        .await;
    let request = operator.create_approved("research", "How big?").await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "the answer");
    sandbox.assert_invariants();
}
