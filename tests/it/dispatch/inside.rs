//! What agents may do with requests.

use chorus::domain::{Request, RequestSourceType, RequestState};
use serde_json::json;

use super::route;
use crate::support::{Operator, Workshop, last_handoff_id, run, wait_for_end};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_leaves_work_behind_but_cannot_approve_it() {
    let script = "id=$(chorus request create 'Tidy up' --kind chores --priority P1) && echo $id
                  for verb in approve next; do chorus request $verb $id 2>&1; echo exit $?; done
                  chorus request done $id 'I say so' 2>&1; echo exit $?
                  chorus request routes --set /dev/null 2>&1 | head -1
                  echo '[]' | chorus request routes --set - 2>&1; echo exit $?";
    let workshop = Workshop::new().agent("worker", script);
    let server = workshop.serve_with(2, &["--port", "0", "--debounce-seconds", "0"]);
    let operator = Operator::of(&server);
    let handoff = run(&operator.client, "worker").await;
    let said = handoff.output.as_str();
    let refusals = said.matches("Only the operator may do this").count();
    assert_eq!(refusals, 3, "{said}");
    assert!(
        said.contains("Only the operator may move a request out of `needs`. Wait for the approval"),
        "{said}"
    );
    assert_eq!(said.matches("exit 1").count(), 4, "{said}");
    let left: Vec<Request> = operator
        .client
        .get("/api/requests", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    let [request] = left.as_slice() else {
        panic!("{left:?}");
    };
    assert_eq!(request.state, RequestState::Needs);
    assert_eq!(request.source.source_type, RequestSourceType::Task);
    assert_eq!(request.source.task_id.as_ref(), Some(&handoff.task_id));
    assert_eq!(request.transitions[0].by.as_str(), "worker");
    let routes = workshop.read("SELECT count(*) FROM dispatch_routes");
    assert_eq!(routes, "7");
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_answers_its_own_request_and_gives_up_another() {
    let workshop = Workshop::new()
        .agent(
            "answering",
            "id=$(chorus request list --state claimed --json | jq -r .data[0].id)
             chorus request done $id 'The real answer' >/dev/null && echo goodbye",
        )
        .agent(
            "giving-up",
            "id=$(chorus request list --state claimed --json | jq -r .data[0].id)
             chorus request requeue $id 'Too hard for me' >/dev/null && echo goodbye",
        );
    let server = workshop.serve_with(1, &["--port", "0", "--debounce-seconds", "0"]);
    let operator = Operator::of(&server);
    operator
        .set_kind_rules(&json!([
            route("fix", "answering", 3.0),
            route("loop", "giving-up", 4.0)
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
    workshop.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn control_that_an_agent_passes_on_takes_the_request_along() {
    let workshop = Workshop::new()
        .agent("first", "chorus tool call $CHORUS_TASK_ID to_second")
        .agent("second", "echo the end");
    let server = workshop.serve_with(2, &["--port", "0", "--debounce-seconds", "0"]);
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
        .set_kind_rules(&json!([route("fix", "first", 3.0)]))
        .await;
    let request = operator.create_approved("fix", "Mend it").await;
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "the end");
    workshop.until_quiet();
    assert_eq!(
        workshop.read("SELECT group_concat(DISTINCT status) FROM tasks"),
        "completed"
    );
    workshop.assert_invariants();
}
