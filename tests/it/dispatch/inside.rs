//! Operations that a running agent may perform on requests.

use chorus::domain::{Request, RequestSourceType, RequestState};
use serde_json::json;

use super::{kind_rule, serve};
use crate::support::{Operator, Sandbox, last_handoff_id, run_agent, wait_for_end};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_creates_a_request_but_cannot_approve_it() {
    let script = "id=$(chorus request create 'Tidy up' --kind chores --priority P1) && echo $id
                  for verb in approve next; do chorus request $verb $id 2>&1; echo exit $?; done
                  chorus request done $id 'I say so' 2>&1; echo exit $?
                  chorus request routes --set /dev/null 2>&1 | head -1
                  echo '[]' | chorus request routes --set - 2>&1; echo exit $?";
    let sandbox = Sandbox::new().with_agent("worker", script);
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let handoff = run_agent(&operator.client, "worker").await;
    let output = handoff.output.as_str();
    let refusals = output.matches("Only the operator may do this").count();
    assert_eq!(refusals, 3, "{output}");
    assert!(
        output
            .contains("Only the operator may move a request out of `needs`. Wait for the approval"),
        "{output}"
    );
    assert_eq!(output.matches("exit 1").count(), 4, "{output}");
    let requests: Vec<Request> = operator
        .client
        .get("/api/requests", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert_eq!(request.state, RequestState::Needs);
    assert_eq!(request.source.source_type, RequestSourceType::Task);
    assert_eq!(request.source.task_id.as_ref(), Some(&handoff.task_id));
    assert_eq!(request.transitions[0].by.as_str(), "worker");
    let rules = sandbox.query("SELECT count(*) FROM dispatch_routes");
    assert_eq!(rules, "7");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_answers_its_own_request_and_requeues_another() {
    let sandbox = Sandbox::new()
        .with_agent(
            "answering",
            "id=$(chorus request list --state claimed --json | jq -r .data[0].id)
             chorus request done $id 'The real answer' >/dev/null && echo goodbye",
        )
        .with_agent(
            "giving-up",
            "id=$(chorus request list --state claimed --json | jq -r .data[0].id)
             chorus request requeue $id 'Too hard for me' >/dev/null && echo goodbye",
        );
    let server = serve(&sandbox, 1);
    let operator = Operator::of(&server);
    operator
        .set_kind_rules(&json!([
            kind_rule("fix", "answering", 3.0),
            kind_rule("loop", "giving-up", 4.0)
        ]))
        .await;
    let answered = operator.create_approved("fix", "Mend it").await;
    let done = operator.wait_for_state(&answered, RequestState::Done).await;
    assert_eq!(done.response.as_ref().unwrap().as_str(), "The real answer");
    assert_eq!(done.transitions.last().unwrap().by.as_str(), "answering");
    let given_up = operator.create_approved("loop", "Go on").await;
    let back = operator
        .wait_for_state(&given_up, RequestState::Needs)
        .await;
    assert_eq!(back.recovery[0].reason.as_str(), "Too hard for me");
    for task_id in [done.task_id, back.task_id] {
        let path = format!("/api/tasks/{}", task_id.unwrap());
        let task = operator.client.get(&path, &[]).await.unwrap();
        let handoff = wait_for_end(&operator.client, last_handoff_id(&task.data().unwrap())).await;
        assert_eq!(handoff.output.as_str(), "goodbye");
    }
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_by_an_agent_takes_the_request_along() {
    let sandbox = Sandbox::new()
        .with_agent("first", "chorus tool call $CHORUS_TASK_ID to_second")
        .with_agent("second", "echo the end");
    let server = serve(&sandbox, 2);
    let operator = Operator::of(&server);
    let made = server
        .chorus([
            "tool",
            "create",
            "to_second",
            "--target",
            "second",
            "--description",
            "Use it always.",
        ])
        .output();
    assert!(made.status.success());
    operator
        .set_kind_rules(&json!([kind_rule("fix", "first", 3.0)]))
        .await;
    let request = operator.create_approved("fix", "Mend it").await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "the end");
    sandbox.wait_until_no_process();
    assert_eq!(
        sandbox.query("SELECT group_concat(DISTINCT status) FROM tasks"),
        "completed"
    );
    sandbox.assert_invariants();
}
