//! Taking approvals back, and closing requests afterwards

use axum::body::Body;
use axum::http::{Method, Request};
use chorus::domain::{Actor, RequestId};
use chorus::ledger::request;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{
    act, act_as_operator, approve, create, in_state, reconcile, refusal, show, task_with_run,
    withdrawn,
};
use crate::support::requests::{Requests, agent_rule};
use crate::support::{OPERATOR_TOKEN, TestApp, redact};

async fn withdraw(app: &TestApp, id: &str, body: Value) -> Value {
    act_as_operator(app, id, "withdraw", body).await.data()
}

#[tokio::test]
async fn an_approval_that_is_taken_back_leaves_the_decision_open_and_is_recorded() {
    let app = TestApp::new().await;
    for state in ["delegated", "next"] {
        let id = in_state(&app, state).await;
        app.clock.advance(1_000);
        let taken = withdraw(&app, &id, json!({ "reason": "Not \"now\"\nbut later" })).await;
        assert_eq!(taken, show(&app, &id).await);
        assert_eq!(taken["state"], "needs");
        let last = &taken["transitions"][2];
        assert_eq!(last["from"], state);
        assert_eq!(last["to"], "needs");
        assert_eq!(last["by"], "operator");
        assert_eq!(last["reason"], "Not \"now\"\nbut later");
        let event = app.events().await.pop().unwrap();
        let event = serde_json::to_value(event).unwrap();
        assert_eq!(event["eventType"], "request_requeued");
        assert_eq!(event["requestId"], json!(id));
        assert_eq!(event["data"]["from"], state);
        assert_eq!(event["data"]["reason"], "Not \"now\"\nbut later");
        // The operator may decide otherwise now.
        approve(&app, &id).await;
        withdraw(&app, &id, json!({})).await;
        let closed = act_as_operator(&app, &id, "done", json!({ "response": "Not needed." })).await;
        assert_eq!(closed.data()["response"], "Not needed.");
    }
}

#[tokio::test]
async fn an_approved_request_of_a_kind_without_a_rule_can_be_closed() {
    let app = TestApp::new().await;
    let id = in_state(&app, "delegated").await;
    assert!(Requests(&app.db).rules().await.is_empty());
    assert_snapshot!(refusal(&act_as_operator(&app, &id, "done", json!({ "response": "No." })).await), @"409 Request <id 1> cannot be finished: its state is `delegated`. Claim it first, or withdraw its approval");
    withdraw(&app, &id, json!({})).await;
    act_as_operator(&app, &id, "done", json!({ "response": "No." }))
        .await
        .data();
    assert_eq!(show(&app, &id).await["state"], "done");
}

#[tokio::test]
async fn only_the_operator_takes_an_approval_back_and_closes_the_request() {
    let app = TestApp::new().await;
    task_with_run(&app, "sesame").await;
    let id = in_state(&app, "next").await;
    let path = |action: &str| format!("/api/requests/{id}/{action}");
    let by_run = async |action: &str, body: Value| {
        let path = path(action);
        let reply = app.with_token("sesame", Method::POST, &path, body);
        refusal(&reply.await)
    };
    assert_snapshot!(refusal(&act(&app, &id, "withdraw", json!({})).await), @"401 Operator token required. Send the header `Authorization: Bearer <contents of operator.token>`");
    assert_snapshot!(by_run("withdraw", json!({})).await, @"403 Only the operator may do this, not a run of developer. Leave the decision to the operator");
    withdraw(&app, &id, json!({})).await;
    let done = json!({ "response": "Mine." });
    assert_snapshot!(refusal(&act(&app, &id, "done", done.clone()).await), @"401 Operator token required to move a request out of `needs`. Send the header `Authorization: Bearer <contents of operator.token>`");
    assert_snapshot!(by_run("done", done).await, @"403 Only the operator may move a request out of `needs`. Wait for the approval");
    assert_eq!(show(&app, &id).await["state"], "needs");
}

#[tokio::test]
async fn a_request_whose_tag_is_gone_is_closed_and_its_tag_is_new_work() {
    let app = TestApp::new().await;
    let id = withdrawn(&app, "Mend it").await;
    task_with_run(&app, "sesame").await;
    let done = json!({ "response": "The tag is gone." });
    let path = format!("/api/requests/{id}/done");
    let by_run = app.with_token("sesame", Method::POST, &path, done.clone());
    assert_eq!(by_run.await.error(), (403, "FORBIDDEN".to_owned()));
    let by_person = act(&app, &id, "done", done.clone()).await;
    assert_eq!(by_person.error(), (401, "UNAUTHORIZED".to_owned()));
    let closed = act_as_operator(&app, &id, "done", done.clone())
        .await
        .data();
    assert_eq!(closed["state"], "done");
    assert_eq!(closed["response"], "The tag is gone.");
    let again = act_as_operator(&app, &id, "done", done).await;
    assert_snapshot!(refusal(&again), @"409 Request <id 1> cannot be finished: its state is `done`. Create a new request instead");
    let stale = app.read(|view| request::tagged_files(view, true)).await;
    assert_eq!(stale, []);
    // The same line in the same file is other work now.
    reconcile(&app, &["Mend it"]).await;
    let found = app.get("/api/requests?state=needs").await.data();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_ne!(found[0]["id"], json!(id));
    assert_eq!(show(&app, &id).await["state"], "done");
}

#[tokio::test]
async fn an_approved_request_whose_tag_is_gone_is_closed_in_two_steps() {
    let app = TestApp::new().await;
    reconcile(&app, &["Mend it"]).await;
    let found = app.get("/api/requests").await.data();
    let id = found[0]["id"].as_str().unwrap().to_owned();
    approve(&app, &id).await;
    reconcile(&app, &[]).await;
    let done = json!({ "response": "The tag is gone." });
    assert_snapshot!(refusal(&act_as_operator(&app, &id, "done", done.clone()).await), @"409 Request <id 1> was withdrawn, because its tag was removed from its file. Restore the tag to reopen it, or close it: withdraw its approval if it has one, then finish it");
    withdraw(&app, &id, json!({})).await;
    let closed = act_as_operator(&app, &id, "done", done).await.data();
    assert_eq!(closed["state"], "done");
}

#[tokio::test]
async fn a_bad_reason_is_refused_and_changes_nothing() {
    let app = TestApp::new().await;
    let id = in_state(&app, "delegated").await;
    let before = show(&app, &id).await;
    let mut table = String::new();
    for body in [
        json!({ "reason": "" }),
        json!({ "reason": " \n" }),
        json!({ "reason": 7 }),
        json!({ "why": "x" }),
        json!([]),
        json!({ "reason": "x".repeat(2 << 20) }),
    ] {
        let reply = act_as_operator(&app, &id, "withdraw", body).await;
        table += &(refusal(&reply) + "\n");
        assert_eq!(show(&app, &id).await, before);
    }
    assert_snapshot!(table, @"
    400 reason: must not be empty
    400 reason: must not be empty
    400 reason: invalid type: integer `7`, expected a string
    400 why: unknown field `why`, expected `reason`
    400 The body is not a JSON object; send an object with named fields
    413 reason is too large: the limit is 1048576 bytes
    ");
    // A request without a body takes the approval back, too.
    let path = format!("/api/requests/{id}/withdraw");
    let request = Request::post(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {OPERATOR_TOKEN}"));
    let reply = app.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(reply.data()["state"], "needs");
}

#[tokio::test]
async fn of_a_withdrawal_and_the_dispatcher_exactly_one_wins() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    requests
        .set_rules(vec![agent_rule("fix", "developer")])
        .await;
    let mut winners = std::collections::BTreeSet::new();
    for round in 0..20 {
        let id = create(&app, &format!("Round {round}")).await;
        approve(&app, &id).await;
        let found = show(&app, &id).await;
        let request = serde_json::from_value(found).unwrap();
        let request_id: RequestId = id.parse().unwrap();
        let withdraw =
            app.write(move |tx| request::withdraw(tx, &request_id, &Actor::Operator, None));
        let together = [&request];
        let dispatch = requests.dispatch(&together);
        // The order of submission alternates, so that both win.
        let (withdrawn, started) = if round % 2 == 0 {
            tokio::join!(withdraw, dispatch)
        } else {
            let (started, withdrawn) = tokio::join!(dispatch, withdraw);
            (withdrawn, started)
        };
        let started = started.unwrap().is_some();
        assert_ne!(withdrawn.is_ok(), started, "round {round}");
        let state = if started { "claimed" } else { "needs" };
        let now = show(&app, &id).await;
        assert_eq!(now["state"], state);
        assert_eq!(now["transitions"].as_array().unwrap().len(), 3);
        winners.insert(started);
        if started {
            let late = act_as_operator(&app, &id, "withdraw", json!({})).await;
            assert_eq!(
                redact(&refusal(&late)),
                "409 Request <id 1> cannot be withdrawn: its state is `claimed` by developer. Work on it has begun; re-queue it to decide again"
            );
        }
    }
    assert_eq!(winners.len(), 2, "both must win in some round");
}

#[tokio::test]
async fn a_repeated_withdrawal_with_its_key_is_one_withdrawal() {
    let app = TestApp::new().await;
    let id = in_state(&app, "delegated").await;
    let path = format!("/api/requests/{id}/withdraw");
    let body = json!({ "reason": "Later" });
    let first = super::with_key(&app, "k", &path, body.clone()).await;
    approve(&app, &id).await;
    let second = super::with_key(&app, "k", &path, body).await;
    assert_eq!(first.data()["state"], "needs");
    assert_eq!(second.data(), first.data());
    assert_eq!(show(&app, &id).await["state"], "delegated");
}
