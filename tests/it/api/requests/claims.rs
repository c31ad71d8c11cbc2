//! Claims, leases and fencing tokens

use std::time::Duration;

use futures_util::future::join_all;
use insta::assert_snapshot;
use reqwest::Method;
use serde_json::json;

use super::{
    act, act_as_operator, approve, claim, create, dispatch_nothing, in_state, refusal, show,
};
use crate::support::{START_TIME, TestApp, redact};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_hundred_concurrent_claims_wins_and_the_others_learn_the_winner() {
    let app = TestApp::new().await;
    let client = chorus::client::Client::new(&app.listen().await, None).unwrap();
    for state in ["delegated", "next"] {
        let id = in_state(&app, state).await;
        let path = format!("/api/requests/{id}/claim");
        let claims = (0..200).map(|number| {
            let agent = format!("worker-{number}");
            let request = client
                .request(Method::POST, &path)
                .json(&json!({ "agent": agent }));
            async move {
                let response = request.send().await.unwrap();
                (
                    agent,
                    response.status().as_u16(),
                    response.text().await.unwrap(),
                )
            }
        });
        let answers = join_all(claims).await;
        let (won, lost): (Vec<_>, Vec<_>) =
            answers.iter().partition(|(_, status, _)| *status == 200);
        assert_eq!((won.len(), lost.len()), (1, 199));
        let winner = &won[0].0;
        let told = format!(
            r#"{{"error":{{"code":"CONFLICT","message":"Request {id} cannot be claimed: its state is `claimed` by {winner}. Wait until its lease ends, or re-queue it"}}}}"#
        );
        for (agent, status, text) in lost {
            assert_eq!((*status, text), (409, &told), "{agent}");
        }
        let request = show(&app, &id).await;
        assert_eq!(request["lease"]["agent"], json!(winner));
        assert_eq!(request["attempts"], 1);
        assert_eq!(request["transitions"].as_array().unwrap().len(), 3);
        assert_eq!(request["transitions"][2]["by"], json!(winner));
    }
}

#[tokio::test]
async fn a_heartbeat_extends_a_lease_and_never_shortens_it() {
    let app = TestApp::new().await;
    let id = in_state(&app, "claimed").await;
    let expires = async |body| {
        let kept = act(&app, &id, "heartbeat", body).await.data();
        assert_eq!(kept, show(&app, &id).await);
        kept["lease"]["expiresAt"].as_i64().unwrap() - START_TIME.as_millis()
    };
    assert_eq!(expires(json!({})).await, 900_000);
    app.clock.advance(60_000);
    assert_eq!(expires(json!({ "fencing": 1 })).await, 960_000);
    assert_eq!(expires(json!({ "leaseSeconds": 60 })).await, 960_000);
    assert_eq!(expires(json!({ "leaseSeconds": 86_400 })).await, 86_460_000);
    // A heartbeat in time keeps the claim; without one the claim is lost.
    app.clock.advance(86_399_999);
    dispatch_nothing(&app).await;
    assert_eq!(expires(json!({ "leaseSeconds": 1 })).await, 86_460_999);
    app.clock.advance(999);
    assert_eq!(dispatch_nothing(&app).await, Duration::from_millis(1));
    assert_eq!(show(&app, &id).await["state"], "claimed");
    app.clock.advance(1);
    dispatch_nothing(&app).await;
    assert_eq!(show(&app, &id).await["state"], "needs");
    assert_snapshot!(act(&app, &id, "heartbeat", json!({})).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Request <id 1> cannot be renewed: its state is `needs`. The operator must approve it first"}}"#);
    assert_eq!(
        show(&app, &id).await["transitions"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

#[tokio::test]
async fn a_heartbeat_needs_no_body() {
    let app = TestApp::new().await;
    let id = in_state(&app, "claimed").await;
    let path = format!("/api/requests/{id}/heartbeat");
    for body in ["", "null", "{}"] {
        let reply = app.request(Method::POST, &path, body).await;
        assert_eq!(reply.status, 200, "{body}");
    }
}

#[tokio::test]
async fn an_old_fencing_token_is_refused() {
    let app = TestApp::new().await;
    let id = create(&app, "Look").await;
    approve(&app, &id).await;
    let body = json!({ "agent": "slow", "leaseSeconds": 60 });
    let old = act(&app, &id, "claim", body).await.data();
    assert_eq!(old["lease"]["fencing"], 1);
    app.clock.advance(60_000);
    dispatch_nothing(&app).await;
    assert_eq!(show(&app, &id).await["state"], "needs");
    let refused = async |number: u32| {
        let mut said = String::new();
        for (action, mut body) in [
            ("heartbeat", json!({})),
            ("done", json!({ "response": "Late." })),
            ("requeue", json!({ "reason": "Late." })),
        ] {
            body["fencing"] = json!(number);
            let before = show(&app, &id).await;
            said += &(refusal(&act(&app, &id, action, body.clone()).await) + "\n");
            // The operator's token does not make an old fencing token valid.
            let reply = act_as_operator(&app, &id, action, body).await;
            assert_eq!(reply.status, 409);
            assert_eq!(show(&app, &id).await, before);
        }
        said
    };
    assert_snapshot!(refused(1).await, @"
    409 Request <id 1> is no longer yours: its state is `needs`. Stop working on it
    409 Request <id 1> is no longer yours: its state is `needs`. Stop working on it
    409 Request <id 1> is no longer yours: its state is `needs`. Stop working on it
    ");
    approve(&app, &id).await;
    assert_snapshot!(refused(1).await, @"
    409 Request <id 1> is no longer yours: its state is `delegated`. Stop working on it
    409 Request <id 1> is no longer yours: its state is `delegated`. Stop working on it
    409 Request <id 1> is no longer yours: its state is `delegated`. Stop working on it
    ");
    assert_eq!(claim(&app, &id, "quick").await, 2);
    assert_snapshot!(refused(1).await, @"
    409 Request <id 1> is no longer yours: its fencing token is 2, not 1. Stop working on it
    409 Request <id 1> is no longer yours: its fencing token is 2, not 1. Stop working on it
    409 Request <id 1> is no longer yours: its fencing token is 2, not 1. Stop working on it
    ");
    let done = json!({ "response": "In time.", "fencing": 2 });
    assert_eq!(
        act(&app, &id, "done", done).await.data()["response"],
        "In time."
    );
    assert_snapshot!(refused(1).await, @"
    409 Request <id 1> cannot be renewed: its state is `done`. Create a new request instead
    409 Request <id 1> cannot be finished: its state is `done`. Create a new request instead
    409 Request <id 1> cannot be re-queued: its state is `done`. Create a new request instead
    ");
    assert_snapshot!(refused(2).await, @"
    409 Request <id 1> cannot be renewed: its state is `done`. Create a new request instead
    409 Request <id 1> cannot be finished: its state is `done`. Create a new request instead
    409 Request <id 1> cannot be re-queued: its state is `done`. Create a new request instead
    ");
}

#[tokio::test]
async fn an_expired_lease_returns_the_request_to_the_dispatcher_if_its_route_retries() {
    let app = TestApp::new().await;
    let route = json!([{ "kind": "fix", "agent": "developer", "rank": 1, "retry": true, "maxAttempts": 2 }]);
    let path = "/api/dispatch/routes";
    app.with_token(crate::support::OPERATOR_TOKEN, Method::PUT, path, route)
        .await
        .data();
    let id = in_state(&app, "claimed").await;
    app.clock.advance(900_000);
    dispatch_nothing(&app).await;
    let request = show(&app, &id).await;
    assert_eq!(
        (&request["state"], &request["stuck"]),
        (&json!("delegated"), &json!(false))
    );
    assert_eq!(claim(&app, &id, "worker").await, 2);
    app.clock.advance(900_000);
    dispatch_nothing(&app).await;
    let request = show(&app, &id).await;
    assert_eq!(
        (&request["state"], &request["stuck"]),
        (&json!("needs"), &json!(true))
    );
    assert_snapshot!(redact(&request["recovery"].to_string()), @r#"[{"date":1767226500000,"reason":"The lease of worker ran out without a heartbeat","earlierRun":null,"action":"Re-queued for attempt 2"},{"date":1767227400000,"reason":"The lease of worker ran out without a heartbeat","earlierRun":null,"action":"Stopped after attempt 2: the request is stuck and waits for the operator"}]"#);
}

#[tokio::test]
async fn all_expired_leases_end_in_one_round() {
    let app = TestApp::new().await;
    for _ in 0..250 {
        in_state(&app, "claimed").await;
    }
    app.clock.advance(900_000);
    dispatch_nothing(&app).await;
    assert_eq!(
        app.get("/api/requests?state=claimed").await.data(),
        json!([])
    );
    let back = app.get("/api/requests?state=needs&limit=1000").await.data();
    assert_eq!(back.as_array().unwrap().len(), 250);
}

#[tokio::test]
async fn a_claim_needs_an_agent_and_a_valid_lease() {
    let app = TestApp::new().await;
    let id = in_state(&app, "delegated").await;
    let refused = async |body| act(&app, &id, "claim", body).await.line();
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `agent`"}}"#);
    assert_snapshot!(refused(json!({ "agent": "" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: must not be empty"}}"#);
    assert_snapshot!(refused(json!({ "agent": "a\nb" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused(json!({ "agent": "x".repeat(300) })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: must not be longer than 100 characters"}}"#);
    assert_snapshot!(refused(json!({ "agent": 7 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agent: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(refused(json!({ "agent": "a", "leaseSeconds": 0 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"leaseSeconds: must be 1 to 86400"}}"#);
    assert_snapshot!(refused(json!({ "agent": "a", "leaseSeconds": 86_401 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"leaseSeconds: must be 1 to 86400"}}"#);
    assert_snapshot!(refused(json!({ "agent": "a", "leaseSeconds": -1 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"leaseSeconds: invalid value: integer `-1`, expected u64"}}"#);
    assert_snapshot!(refused(json!({ "agent": "a", "leaseSeconds": u64::MAX })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"leaseSeconds: must be 1 to 86400"}}"#);
    assert_snapshot!(refused(json!({ "agent": "a", "fencing": 1 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"fencing: unknown field `fencing`, expected `agent` or `leaseSeconds`"}}"#);
    assert_eq!(show(&app, &id).await["state"], "delegated");
    let claimed = act(
        &app,
        &id,
        "claim",
        json!({ "agent": "somebody-else", "leaseSeconds": 1 }),
    )
    .await;
    assert_eq!(
        claimed.data()["lease"],
        json!({ "agent": "somebody-else", "fencing": 1, "expiresAt": 1_767_225_601_000_i64 })
    );
}
