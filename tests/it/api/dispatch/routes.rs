//! `/api/dispatch/routes`

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{ROUTES, put_routes, seeded};
use crate::api::pick;
use crate::support::{OPERATOR_TOKEN, Server, TestApp};

/// Lists the kinds of the routes in their order.
async fn kinds(app: &TestApp) -> Vec<String> {
    let routes = app.get(ROUTES).await.data();
    let routes = routes.as_array().unwrap().iter();
    routes
        .map(|route| route["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_default_routes_are_listed_in_dispatch_order() {
    let app = seeded().await;
    assert_eq!(
        kinds(&app).await,
        [
            "brainstorm",
            "research",
            "fix",
            "implementation",
            "loop",
            "chores",
            "documentation"
        ]
    );
    let routes = app.get(ROUTES).await.data();
    assert_snapshot!(routes[4].to_string(), @r#"{"kind":"loop","agent":"developer","mode":"agent","rank":4.5,"batch":false,"retry":false,"maxAttempts":2,"startCommand":null,"pollCommand":null,"pollSeconds":10}"#);
    let rows = routes.as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|route| {
            (
                route["rank"].as_f64().unwrap(),
                route["agent"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (1.0, "planner"),
            (2.0, "planner"),
            (3.0, "developer"),
            (4.0, "developer"),
            (4.5, "developer"),
            (5.0, "developer"),
            (6.0, "developer")
        ]
    );
    // A new installation has all agents that the routes name.
    assert_eq!(put_routes(&app, routes.clone()).await.data(), routes);
}

#[tokio::test]
async fn default_routes_are_seeded_once_and_deleted_ones_stay_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let routes = async |server: &Server| {
        let routes: Value = server
            .client()
            .get(ROUTES, &[])
            .await
            .unwrap()
            .data()
            .unwrap();
        routes
    };
    let server = Server::start(folder.path());
    let seeded = routes(&server).await;
    assert_eq!(seeded.as_array().unwrap().len(), 7);
    let token = std::fs::read_to_string(folder.path().join("operator.token")).unwrap();
    let change = async |server: &Server, routes: Value| {
        let request = server
            .client()
            .request(Method::PUT, ROUTES)
            .bearer_auth(token.trim());
        let response = request.json(&routes).send().await.unwrap();
        assert_eq!(response.status(), 200);
    };
    change(&server, json!([seeded[2]])).await;
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(routes(&server).await, json!([seeded[2]]));
    change(&server, json!([])).await;
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(routes(&server).await, json!([]));
}

#[tokio::test]
async fn routes_are_replaced_by_a_list_or_an_object() {
    let app = seeded().await;
    let list = json!([
        { "kind": "later", "agent": "QA", "rank": 2.5, "mode": "interactive" },
        { "kind": "first", "agent": "developer", "rank": -1, "batch": true, "retry": true, "maxAttempts": 100 },
        { "kind": "elsewhere", "agent": "developer", "rank": 2, "mode": "async", "startCommand": ["start", "it"],
          "pollCommand": ["ask", "{job}"], "pollSeconds": 86_400 },
    ]);
    let answer = put_routes(&app, list.clone()).await;
    let routes = answer.data();
    assert_eq!(
        pick(
            &routes[0],
            &["kind", "agent", "mode", "batch", "retry", "maxAttempts"]
        ),
        json!({ "kind": "first", "agent": "developer", "mode": "agent", "batch": true, "retry": true, "maxAttempts": 100 })
    );
    assert_eq!(
        pick(&routes[1], &["startCommand", "pollCommand", "pollSeconds"]),
        json!({ "startCommand": ["start", "it"], "pollCommand": ["ask", "{job}"], "pollSeconds": 86_400 })
    );
    assert_eq!(
        pick(&routes[2], &["agent", "mode", "maxAttempts", "pollSeconds"]),
        json!({ "agent": "qa", "mode": "interactive", "maxAttempts": 2, "pollSeconds": 10 })
    );
    assert_eq!(kinds(&app).await, ["first", "elsewhere", "later"]);
    let stored = app.get(ROUTES).await.data();
    assert_eq!(stored, answer.data());
    let object = json!({ "routes": stored });
    assert_eq!(put_routes(&app, object).await.status, 200);
    assert_eq!(app.get(ROUTES).await.data(), stored);
    assert_eq!(
        put_routes(&app, json!({ "routes": [] })).await.data(),
        json!([])
    );
    assert_eq!(kinds(&app).await, [""; 0]);
    let spaced = format!(" \n {list}\n");
    let request = axum::http::Request::put(ROUTES)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {OPERATOR_TOKEN}"));
    assert_eq!(
        app.send(request.body(spaced.into()).unwrap()).await.status,
        200
    );
    let events = app.events().await;
    let changed = events.last().unwrap();
    assert_snapshot!(serde_json::to_string(changed).unwrap(), @r#"{"timestamp":1767225600000,"eventType":"dispatch_routes_changed","data":{"kinds":"first, elsewhere, later"},"number":4}"#);
}

#[tokio::test]
async fn all_faults_of_routes_are_reported_and_nothing_changes() {
    let app = seeded().await;
    let before = app.get(ROUTES).await.data();
    let route = |change: Value| {
        let mut route = json!({ "kind": "fix", "agent": "developer", "rank": 1 });
        route
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        route
    };
    let several = json!([
        route(json!({ "maxAttempts": 0, "pollSeconds": 0 })),
        route(json!({ "mode": "async", "batch": true, "pollCommand": [" "] })),
        route(json!({ "kind": "loop", "startCommand": ["x"] })),
    ]);
    let page = put_routes(&app, several).await;
    assert_snapshot!(page.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].maxAttempts: must be 1 to 100; routes[0].pollSeconds: must be 1 to 86400; routes[1].kind: fix is listed twice; a kind has one route; routes[1].startCommand: is required for mode `async`: a list of the program and its arguments; routes[1].pollCommand: must start with a program; routes[1].batch: is allowed only for mode `agent`; routes[2].startCommand: is allowed only for mode `async`","details":{"problems":[{"field":"routes[0].maxAttempts","message":"must be 1 to 100"},{"field":"routes[0].pollSeconds","message":"must be 1 to 86400"},{"field":"routes[1].kind","message":"fix is listed twice; a kind has one route"},{"field":"routes[1].startCommand","message":"is required for mode `async`: a list of the program and its arguments"},{"field":"routes[1].pollCommand","message":"must start with a program"},{"field":"routes[1].batch","message":"is allowed only for mode `agent`"},{"field":"routes[2].startCommand","message":"is allowed only for mode `async`"}]}}}"#);
    let refused = async |routes: Value| put_routes(&app, routes).await.line();
    let nobody = json!([
        route(json!({ "agent": "nobody" })),
        route(json!({ "kind": "x", "agent": "somebody" }))
    ]);
    assert_snapshot!(refused(nobody).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].agent: unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa; routes[1].agent: unknown agent somebody; the agents are: developer, developer-review, orchestrator, planner, qa","details":{"problems":[{"field":"routes[0].agent","message":"unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa"},{"field":"routes[1].agent","message":"unknown agent somebody; the agents are: developer, developer-review, orchestrator, planner, qa"}]}}}"#);
    assert_snapshot!(refused(json!([route(json!({ "mode": "async" }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].startCommand: is required for mode `async`: a list of the program and its arguments; routes[0].pollCommand: is required for mode `async`: a list of the program and its arguments","details":{"problems":[{"field":"routes[0].startCommand","message":"is required for mode `async`: a list of the program and its arguments"},{"field":"routes[0].pollCommand","message":"is required for mode `async`: a list of the program and its arguments"}]}}}"#);
    assert_snapshot!(refused(json!([route(json!({ "mode": "async", "startCommand": [], "pollCommand": ["x"] }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].startCommand: must start with a program","details":{"problems":[{"field":"routes[0].startCommand","message":"must start with a program"}]}}}"#);
    assert_snapshot!(refused(json!([route(json!({ "mode": "interactive", "batch": true }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].batch: is allowed only for mode `agent`","details":{"problems":[{"field":"routes[0].batch","message":"is allowed only for mode `agent`"}]}}}"#);
    assert_snapshot!(refused(json!([route(json!({ "maxAttempts": 101, "pollSeconds": 86_401 }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].maxAttempts: must be 1 to 100; routes[0].pollSeconds: must be 1 to 86400","details":{"problems":[{"field":"routes[0].maxAttempts","message":"must be 1 to 100"},{"field":"routes[0].pollSeconds","message":"must be 1 to 86400"}]}}}"#);
    assert_snapshot!(refused(json!([route(json!({ "kind": "Fix" }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].kind: must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(refused(json!([route(json!({ "mode": "magic" }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].mode: unknown variant `magic`, expected one of `agent`, `interactive`, `async`"}}"#);
    assert_snapshot!(refused(json!([route(json!({ "rank": "first" }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].rank: invalid type: string \"first\", expected f64"}}"#);
    assert_snapshot!(refused(json!([route(json!({ "priority": "P0" }))])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0].priority: unknown field `priority`, expected one of `kind`, `agent`, `mode`, `rank`, `batch`, `retry`, `maxAttempts`, `startCommand`, `pollCommand`, `pollSeconds`"}}"#);
    assert_snapshot!(refused(json!([{ "kind": "fix", "agent": "developer" }])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0]: missing field `rank`"}}"#);
    assert_snapshot!(refused(json!(["fix"])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"routes[0]: invalid type: string \"fix\", expected a route"}}"#);
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `routes`"}}"#);
    assert_snapshot!(refused(json!(null)).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    assert_snapshot!(refused(json!({ "routes": [], "more": [] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"more: unknown field `more`, expected `routes`"}}"#);
    let raw = async |body: &str| {
        let request = axum::http::Request::put(ROUTES)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {OPERATOR_TOKEN}"));
        app.send(request.body(body.to_owned().into()).unwrap())
            .await
            .error()
    };
    for body in [
        "",
        "[",
        "[]]",
        "[]}",
        "[],\"routes\":[]",
        "[],\"x\":1",
        "[]} {",
        "[{\"kind\":\"x\",\"agent\":\"qa\",\"rank\":1e999}]",
    ] {
        assert_eq!(raw(body).await, (400, "INVALID_BODY".to_owned()), "{body}");
    }
    assert_eq!(app.get(ROUTES).await.data(), before);
    assert!(app.events().await.is_empty());
}

#[tokio::test]
async fn a_repeated_key_sets_routes_once() {
    let app = seeded().await;
    let put = async |routes: Value| {
        let request = axum::http::Request::put(ROUTES)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {OPERATOR_TOKEN}"))
            .header("idempotency-key", "k");
        app.send(request.body(routes.to_string().into()).unwrap())
            .await
    };
    let one = json!([{ "kind": "fix", "agent": "qa", "rank": 1 }]);
    let first = put(one.clone()).await.data();
    put_routes(&app, json!([])).await.data();
    assert_eq!(put(one).await.data(), first);
    assert_eq!(kinds(&app).await, [""; 0]);
    assert_eq!(put(json!([])).await.error(), (409, "CONFLICT".to_owned()));
}
