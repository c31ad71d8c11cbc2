//! Actions that need the operator's token

use axum::http::Method;
use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{create, refusal, show, task_with_run};
use crate::support::requests::Requests;
use crate::support::{OPERATOR_TOKEN, Reply, TestApp};

/// Every action that only the operator may take, with a valid body.
fn operator_actions(id: &str) -> [(Method, String, Value); 6] {
    [
        (
            Method::POST,
            format!("/api/requests/{id}/approve"),
            json!({}),
        ),
        (Method::POST, format!("/api/requests/{id}/next"), json!({})),
        (
            Method::POST,
            format!("/api/requests/{id}/withdraw"),
            json!({}),
        ),
        (
            Method::POST,
            "/api/requests/approve".to_owned(),
            json!({ "ids": [id] }),
        ),
        (
            Method::POST,
            format!("/api/requests/{id}/done"),
            json!({ "response": "No." }),
        ),
        (Method::PUT, "/api/dispatch/routes".to_owned(), json!([])),
    ]
}

async fn refused(app: &TestApp, replies: Vec<Reply>, id: &str) -> String {
    let request = show(app, id).await;
    assert_eq!(
        (
            &request["state"],
            request["transitions"].as_array().unwrap().len()
        ),
        (&json!("needs"), 1)
    );
    assert_eq!(Requests(&app.db).rules().await.len(), 7);
    replies.iter().map(|reply| refusal(reply) + "\n").collect()
}

async fn app() -> TestApp {
    let app = TestApp::new().await;
    app.engine
        .seed_kind_rules(chorus::engine::default_kind_rules())
        .await
        .unwrap();
    app
}

#[tokio::test]
async fn approval_needs_the_token_even_on_this_machine() {
    let app = app().await;
    let id = create(&app, "Look").await;
    let mut replies = Vec::new();
    for (method, path, body) in operator_actions(&id) {
        let reply = app.request(method, &path, body.to_string()).await;
        assert_eq!(reply.error(), (401, "UNAUTHORIZED".to_owned()), "{path}");
        replies.push(reply);
    }
    assert_snapshot!(refused(&app, replies, &id).await, @"
    401 Operator token required. Send the header `Authorization: Bearer <contents of operator.token>`
    401 Operator token required. Send the header `Authorization: Bearer <contents of operator.token>`
    401 Operator token required. Send the header `Authorization: Bearer <contents of operator.token>`
    401 Operator token required. Send the header `Authorization: Bearer <contents of operator.token>`
    401 Operator token required to move a request out of `needs`. Send the header `Authorization: Bearer <contents of operator.token>`
    401 Operator token required. Send the header `Authorization: Bearer <contents of operator.token>`
    ");
}

#[tokio::test]
async fn a_run_cannot_approve() {
    let app = app().await;
    let id = create(&app, "Look").await;
    task_with_run(&app, "sesame").await;
    let mut replies = Vec::new();
    for (method, path, body) in operator_actions(&id) {
        let reply = app.with_token("sesame", method, &path, body).await;
        assert_eq!(reply.error(), (403, "FORBIDDEN".to_owned()), "{path}");
        replies.push(reply);
    }
    assert_snapshot!(refused(&app, replies, &id).await, @"
    403 Only the operator may do this, not a run of developer. Leave the decision to the operator
    403 Only the operator may do this, not a run of developer. Leave the decision to the operator
    403 Only the operator may do this, not a run of developer. Leave the decision to the operator
    403 Only the operator may do this, not a run of developer. Leave the decision to the operator
    403 Only the operator may move a request out of `needs`. Wait for the approval
    403 Only the operator may do this, not a run of developer. Leave the decision to the operator
    ");
}

#[tokio::test]
async fn a_run_cannot_approve_its_own_requests() {
    let app = app().await;
    task_with_run(&app, "sesame").await;
    let body = json!({ "title": "Look", "body": "", "kind": "fix" });
    let own = app
        .with_token("sesame", Method::POST, "/api/requests", body)
        .await;
    let id = super::id(&own);
    let mut replies = Vec::new();
    for (method, path, body) in operator_actions(&id) {
        let reply = app.with_token("sesame", method, &path, body).await;
        assert_eq!(reply.error(), (403, "FORBIDDEN".to_owned()), "{path}");
        replies.push(reply);
    }
    refused(&app, replies, &id).await;
}

#[tokio::test]
async fn an_unknown_token_cannot_approve() {
    let app = app().await;
    let id = create(&app, "Look").await;
    let mut replies = Vec::new();
    for (method, path, body) in operator_actions(&id) {
        for token in ["guess", "", &OPERATOR_TOKEN[1..]] {
            let reply = app
                .with_token(token, method.clone(), &path, body.clone())
                .await;
            assert_eq!(reply.error(), (401, "UNAUTHORIZED".to_owned()), "{path}");
            replies.push(reply);
        }
    }
    refused(&app, replies, &id).await;
}

#[tokio::test]
async fn the_operator_may_take_every_action() {
    let app = app().await;
    for place in 0..6 {
        let id = create(&app, "Look").await;
        if place == 2 {
            super::approve(&app, &id).await;
        }
        let (method, path, body) = operator_actions(&id)[place].clone();
        let reply = app.with_token(OPERATOR_TOKEN, method, &path, body).await;
        assert_eq!(reply.status, 200, "{path}");
        let state = show(&app, &id).await["state"].clone();
        assert_eq!(
            state,
            ["delegated", "next", "needs", "delegated", "done", "needs"][place]
        );
    }
    assert_eq!(app.get("/api/dispatch/routes").await.data(), json!([]));
}

#[tokio::test]
async fn a_key_of_the_operator_gives_nobody_else_the_answer() {
    let app = app().await;
    let id = create(&app, "Look").await;
    let path = format!("/api/requests/{id}/approve");
    let approved = super::with_key(&app, "k", &path, json!({})).await;
    assert_eq!(approved.status, 200);
    let request = axum::http::Request::post(&path)
        .header("host", "localhost")
        .header("idempotency-key", "k");
    let reply = app.send(request.body("{}".into()).unwrap()).await;
    assert_eq!(reply.error(), (401, "UNAUTHORIZED".to_owned()));
}

#[tokio::test]
async fn several_requests_are_approved_in_the_given_order() {
    let app = app().await;
    let mut ids = Vec::new();
    for title in ["a", "b", "c"] {
        ids.push(create(&app, title).await);
    }
    let [a, b, c] = &ids[..] else { panic!() };
    let approved = app
        .operator()
        .post("/api/requests/approve", json!({ "ids": [c, a, c] }))
        .await
        .data();
    let titles: Vec<_> = approved
        .as_array()
        .unwrap()
        .iter()
        .map(|request| request["title"].clone())
        .collect();
    assert_eq!(titles, ["c", "a"]);
    for (id, state) in [(a, "delegated"), (b, "needs"), (c, "delegated")] {
        assert_eq!(show(&app, id).await["state"], state);
    }
    assert_eq!(
        show(&app, c).await["transitions"].as_array().unwrap().len(),
        2
    );
}

#[tokio::test]
async fn several_requests_are_approved_together_or_not_at_all() {
    let app = app().await;
    let first = create(&app, "first").await;
    let done = super::in_state(&app, "done").await;
    let gone = super::withdrawn(&app, "gone").await;
    let approve = async |ids: Value| {
        app.operator()
            .post("/api/requests/approve", json!({ "ids": ids }))
            .await
            .line()
    };
    assert_snapshot!(approve(json!([first, done, "nope", gone])).await, @r#"409 {"error":{"code":"CONFLICT","message":"No request was approved. Request <id 1> cannot be approved: its state is `done`. Create a new request instead. Request not found: nope. Request <id 2> was withdrawn, because its tag was removed from its file. Restore the tag to reopen it, or close it: withdraw its approval if it has one, then finish it"}}"#);
    assert_snapshot!(approve(json!(["nope"])).await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Request not found: nope"}}"#);
    assert_snapshot!(approve(json!([done])).await, @r#"409 {"error":{"code":"CONFLICT","message":"Request <id 1> cannot be approved: its state is `done`. Create a new request instead"}}"#);
    assert_snapshot!(approve(json!([])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ids: must name 1 to 1000 requests"}}"#);
    assert_snapshot!(approve(json!(vec![&first; 1001])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ids: must name 1 to 1000 requests"}}"#);
    assert_snapshot!(approve(json!([first, "../x"])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ids[1]: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(approve(json!([first, 7])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ids[1]: invalid type: integer `7`, expected a string"}}"#);
    assert_snapshot!(approve(json!([first, null])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ids[1]: invalid type: null, expected a string"}}"#);
    assert_snapshot!(approve(json!(first)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"ids: invalid type: string \"<id 1>\", expected a sequence"}}"#);
    let refused = async |body: Value| {
        app.operator()
            .post("/api/requests/approve", body)
            .await
            .line()
    };
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `ids`"}}"#);
    assert_snapshot!(refused(json!([first])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(json!({ "ids": [first], "all": true })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"all: unknown field `all`, expected `ids`"}}"#);
    assert_eq!(show(&app, &first).await["state"], "needs");
    let more = join_all((1..1000).map(|_| create(&app, "more"))).await;
    let many: Vec<_> = [first].into_iter().chain(more).collect();
    let body = json!({ "ids": many });
    let approved = app
        .operator()
        .post("/api/requests/approve", body)
        .await
        .data();
    assert_eq!(approved.as_array().unwrap().len(), 1000);
    let left = app.get("/api/requests?state=needs").await.data();
    assert_eq!(left, json!([]));
}
