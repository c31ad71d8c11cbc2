//! `PUT`, `PATCH` and `DELETE /api/agents/{name}`

use axum::body::Body;
use axum::http::{Request, header};
use chorus::ledger::agent;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::requests::Requests;
use crate::support::{OPERATOR_TOKEN, Reply, TestApp, invariants};

fn reviewer() -> Value {
    json!({
        "name": "reviewer", "specPath": "", "allowedTools": "", "permissionMode": "default", "provider": "command",
        "model": null, "program": "/bin/sh", "arguments": ["-c", "echo \"it's\" fine\n"], "environment": { "LANG": "C" },
        "outputForm": "last_line", "maxSeconds": 60, "idleSeconds": null, "available": true, "roles": ["verification"],
        "skills": ["rust", "c++"], "maxSessionDuration": 30, "responsibilities": "Reads\nchanges", "isolation": null,
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut agent = reviewer();
    agent[key] = value;
    agent
}

async fn patch(app: &TestApp, name: &str, body: Value) -> Reply {
    app.operator()
        .patch(&format!("/api/agents/{name}"), body)
        .await
}

async fn delete(app: &TestApp, name: &str) -> Reply {
    app.operator().delete(&format!("/api/agents/{name}")).await
}

/// Creates an agent with `If-None-Match: *`, and with an idempotency key if one is given.
fn only_new(name: &str, body: &Value, key: Option<&str>) -> Request<Body> {
    let mut request = Request::put(format!("/api/agents/{name}"))
        .header(header::HOST, "localhost")
        .header(header::AUTHORIZATION, format!("Bearer {OPERATOR_TOKEN}"))
        .header(header::IF_NONE_MATCH, "*");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    request.body(body.to_string().into()).unwrap()
}

/// Lists the events about agents: type, name and changed keys.
async fn events(app: &TestApp) -> Vec<String> {
    let events = app.events().await;
    let events = events
        .iter()
        .filter(|event| event.event_type.as_str().starts_with("agent_"));
    let line = |event: &chorus::domain::Event| {
        let data: Vec<_> = event.data.values().map(ToString::to_string).collect();
        format!("{} {}", event.event_type.as_str(), data.join(" | "))
    };
    events.map(line).collect()
}

#[tokio::test]
async fn an_agent_is_created_replaced_edited_and_deleted() {
    let app = TestApp::new().await;
    let made = app.operator().put("/api/agents/reviewer", reviewer()).await;
    assert_eq!((made.status.as_u16(), made.data()), (201, reviewer()));
    assert_eq!(
        app.operator().get("/api/agents/reviewer").await.data(),
        reviewer()
    );
    let again = app.operator().put("/api/agents/reviewer", reviewer()).await;
    assert_eq!((again.status.as_u16(), again.data()), (200, reviewer()));

    let changed = patch(
        &app,
        "reviewer",
        json!({ "roles": [], "maxSessionDuration": null }),
    );
    let mut expected = with("roles", json!([]));
    expected["maxSessionDuration"] = Value::Null;
    assert_eq!(changed.await.data(), expected);
    assert_eq!(patch(&app, "reviewer", json!({})).await.data(), expected);

    // PUT sets absent fields to their defaults.
    let replaced = app.operator().put(
        "/api/agents/reviewer",
        json!({ "provider": "command", "program": "true" }),
    );
    let replaced = replaced.await.data();
    for (key, value) in [
        ("name", json!("reviewer")),
        ("maxSeconds", Value::Null),
        ("arguments", json!([])),
        ("permissionMode", json!("default")),
        ("outputForm", json!("all")),
    ] {
        assert_eq!(replaced[key], value, "{key}");
    }

    assert_eq!(delete(&app, "reviewer").await.data(), replaced);
    assert_snapshot!(delete(&app, "reviewer").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Agent not found: reviewer"}}"#);
    assert_snapshot!(patch(&app, "reviewer", json!({ "available": false })).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Agent not found: reviewer"}}"#);
    // A change without effect records no event.
    assert_eq!(
        events(&app).await,
        [
            "agent_created reviewer",
            "agent_changed roles, maxSessionDuration | reviewer",
            "agent_changed program, arguments, environment, outputForm, maxSeconds, skills, responsibilities | reviewer",
            "agent_deleted reviewer",
        ]
    );
}

#[tokio::test]
async fn agent_names_are_case_insensitive() {
    let app = TestApp::new().await;
    let before = app.get("/api/agents").await.data();
    let reply = app
        .operator()
        .put(
            "/api/agents/Developer",
            json!({ "name": "DEVELOPER", "specPath": "agents/qa.md" }),
        )
        .await;
    assert_eq!(reply.status.as_u16(), 200);
    assert_eq!(reply.data()["name"], "developer");
    assert_eq!(
        patch(&app, "DEVELOPER", json!({ "available": false }))
            .await
            .data()["name"],
        "developer"
    );
    let after = app.get("/api/agents").await.data();
    assert_eq!(
        after.as_array().unwrap().len(),
        before.as_array().unwrap().len()
    );
    // The name matching of hand-offs could not tell the two apart.
    assert_snapshot!(app.operator().put("/api/agents/developer_review", reviewer_named("developer_review")).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent name developer_review is too similar to the existing agent developer-review. Choose a name that differs in more than case and separators"}}"#);
    assert_eq!(delete(&app, "Developer").await.data()["name"], "developer");
}

fn reviewer_named(name: &str) -> Value {
    with("name", json!(name))
}

#[tokio::test]
async fn faults_of_an_agent_are_reported_before_it_runs() {
    let app = TestApp::new().await;
    let put =
        |key: &str, value: Value| app.operator().put("/api/agents/reviewer", with(key, value));
    assert_snapshot!(put("program", Value::Null).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"program: is required for the provider command","details":{"problems":[{"field":"program","message":"is required for the provider command"}]}}}"#);
    assert_snapshot!(put("provider", json!("codex")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: must be a Markdown file below the data directory, such as agents/reviewer.md","details":{"problems":[{"field":"specPath","message":"must be a Markdown file below the data directory, such as agents/reviewer.md"}]}}}"#);
    assert_snapshot!(put("provider", json!("gpt")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"provider: unknown variant `gpt`, expected one of `claude-code`, `codex`, `opencode`, `gemini`, `command`"}}"#);
    assert_snapshot!(put("specPath", json!("../operator.token")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: must be a Markdown file below the data directory, such as agents/reviewer.md; specPath: Spec ../operator.token of agent reviewer must be a path relative to the data directory, without `..`","details":{"problems":[{"field":"specPath","message":"must be a Markdown file below the data directory, such as agents/reviewer.md"},{"field":"specPath","message":"Spec ../operator.token of agent reviewer must be a path relative to the data directory, without `..`"}]}}}"#);
    assert_snapshot!(put("specPath", json!("/etc/passwd")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: must be a Markdown file below the data directory, such as agents/reviewer.md; specPath: Spec /etc/passwd of agent reviewer must be a path relative to the data directory, without `..`","details":{"problems":[{"field":"specPath","message":"must be a Markdown file below the data directory, such as agents/reviewer.md"},{"field":"specPath","message":"Spec /etc/passwd of agent reviewer must be a path relative to the data directory, without `..`"}]}}}"#);
    assert_snapshot!(put("specPath", json!("operator.token")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: must be a Markdown file below the data directory, such as agents/reviewer.md; specPath: Spec operator.token of agent reviewer does not exist; create <tmp>/operator.token","details":{"problems":[{"field":"specPath","message":"must be a Markdown file below the data directory, such as agents/reviewer.md"},{"field":"specPath","message":"Spec operator.token of agent reviewer does not exist; create <tmp>/operator.token"}]}}}"#);
    assert_snapshot!(put("specPath", json!("agents/nobody.md")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: Spec agents/nobody.md of agent reviewer does not exist; create <tmp>/agents/nobody.md","details":{"problems":[{"field":"specPath","message":"Spec agents/nobody.md of agent reviewer does not exist; create <tmp>/agents/nobody.md"}]}}}"#);
    assert_snapshot!(put("maxSeconds", json!(0)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"maxSeconds: must be 1 to 31536000; use null for the server's limit","details":{"problems":[{"field":"maxSeconds","message":"must be 1 to 31536000; use null for the server's limit"}]}}}"#);
    assert_snapshot!(put("maxSeconds", json!(-1)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"maxSeconds: invalid value: integer `-1`, expected u64"}}"#);
    assert_snapshot!(put("maxSessionDuration", json!(0)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"maxSessionDuration: must be a number of minutes, 1 to 525600"}}"#);
    assert_snapshot!(put("environment", json!({ "A=B": "x", "": "y", "PATH": "/bin", "CHORUS_TOKEN": "z" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"environment: \"\" is not a valid variable name; use one word without `=`; environment: \"A=B\" is not a valid variable name; use one word without `=`; environment: CHORUS_TOKEN is reserved: Chorus sets it; environment: PATH is reserved: Chorus sets it","details":{"problems":[{"field":"environment","message":"\"\" is not a valid variable name; use one word without `=`"},{"field":"environment","message":"\"A=B\" is not a valid variable name; use one word without `=`"},{"field":"environment","message":"CHORUS_TOKEN is reserved: Chorus sets it"},{"field":"environment","message":"PATH is reserved: Chorus sets it"}]}}}"#);
    assert_snapshot!(put("arguments", json!(["a\0b"])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"arguments[0]: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    assert_snapshot!(put("roles", json!(["Testing!"])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"roles[0]: must be a role such as `testing`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(put("skills", json!(["a b"])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"skills[0]: must be a skill such as `python`: one word without commas, at most 64 bytes"}}"#);
    assert_snapshot!(put("skills", json!("rust")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"skills: invalid type: string \"rust\", expected a sequence"}}"#);
    assert_snapshot!(put("available", Value::Null).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"available: invalid type: null, expected a boolean"}}"#);
    assert_snapshot!(put("outputForm", json!("xml")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"outputForm: must be `all`, `last_line` or `json:FIELD`"}}"#);
    assert_snapshot!(put("color", json!("red")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"color: unknown field `color`, expected one of `name`, `specPath`, `allowedTools`, `permissionMode`, `provider`, `model`, `program`, `arguments`, `environment`, `outputForm`, `maxSeconds`, `idleSeconds`, `available`, `roles`, `skills`, `maxSessionDuration`, `responsibilities`, `isolation`"}}"#);
    assert_snapshot!(put("name", json!("other")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: must be reviewer, the name in the path; agents cannot be renamed"}}"#);
    let many: Vec<_> = (0..51).map(|number| format!("s{number}")).collect();
    assert_snapshot!(put("skills", json!(many)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"skills: must have at most 50 distinct words"}}"#);
    let many: Vec<_> = (0..1001).map(|number| number.to_string()).collect();
    assert_snapshot!(put("arguments", json!(many)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"arguments: must have at most 1000 entries","details":{"problems":[{"field":"arguments","message":"must have at most 1000 entries"}]}}}"#);
    assert_snapshot!(put("responsibilities", json!("x".repeat(4097))).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"responsibilities: must not be longer than 4096 bytes","details":{"problems":[{"field":"responsibilities","message":"must not be longer than 4096 bytes"}]}}}"#);
    assert_snapshot!(app.operator().put("/api/agents/reviewer", json!([])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    let mut empty = only_new("reviewer", &Value::Null, None);
    *empty.body_mut() = Body::empty();
    assert_snapshot!(app.send(empty).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is empty; send a JSON object"}}"#);
    let huge = "x".repeat(app.engine.limits().body);
    assert_eq!(
        put("responsibilities", json!(huge)).await.error(),
        (413, "TOO_LARGE".to_owned())
    );
    assert_eq!(
        app.operator().get("/api/agents/reviewer").await.error().0,
        404
    );
    assert_eq!(events(&app).await, [""; 0]);
}

#[tokio::test]
async fn taken_or_invalid_names_are_refused() {
    let app = TestApp::new().await;
    for reserved in [
        "operator",
        "router",
        "anonymous",
        "dispatcher",
        "chorus",
        "Operator",
    ] {
        let path = format!("/api/agents/{reserved}");
        let refused = app.operator().put(&path, reviewer_named(reserved)).await;
        assert_eq!(refused.error(), (400, "INVALID_BODY".to_owned()));
    }
    assert_snapshot!(app.operator().put("/api/agents/router", reviewer_named("router")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: router is reserved; choose another name","details":{"problems":[{"field":"name","message":"router is reserved; choose another name"}]}}}"#);
    let nameless = json!({ "provider": "command", "program": "true" });
    for illegal in [
        "..%2Fqa",
        "%22quoted%22",
        "a%0Ab",
        "a%20b",
        ".hidden",
        "%C3%A4",
        &"x".repeat(101),
    ] {
        let path = format!("/api/agents/{illegal}");
        let refused = app.operator().put(&path, nameless.clone()).await;
        assert_eq!(refused.error().0, 400, "{illegal}");
        assert_eq!(delete(&app, illegal).await.error().0, 404, "{illegal}");
    }
    assert_snapshot!(app.operator().put("/api/agents/a%0A%22b", nameless.clone()).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`","details":{"problems":[{"field":"name","message":"may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}]}}}"#);
    assert_eq!(
        app.operator().put("/api/agents/", nameless).await.error().0,
        404
    );
    let names = app.get("/api/agents").await.data();
    assert_eq!(names.as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn concurrent_creations_of_an_agent_have_one_winner() {
    let app = TestApp::new().await;
    let makers: Vec<_> = (0..20)
        .map(|number| {
            let body = with("responsibilities", json!(format!("{number}")));
            app.send(only_new("reviewer", &body, None))
        })
        .collect();
    let replies = futures_util::future::join_all(makers).await;
    let mut codes: Vec<_> = replies.iter().map(|reply| reply.status.as_u16()).collect();
    codes.sort_unstable();
    assert_eq!((codes[0], &codes[1..]), (201, [409; 19].as_slice()));
    let winner = replies.iter().find(|reply| reply.status.is_success());
    assert_eq!(
        app.operator().get("/api/agents/reviewer").await.data(),
        winner.unwrap().data()
    );
    assert_eq!(events(&app).await, ["agent_created reviewer"]);
    assert_snapshot!(app.send(only_new("Reviewer", &json!({ "specPath": "nowhere.md" }), None)).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent already exists: reviewer. Edit it, or choose another name"}}"#);
    let mut odd = only_new("reviewer", &reviewer(), None);
    odd.headers_mut()
        .insert(header::IF_NONE_MATCH, "\"abc\"".parse().unwrap());
    assert_snapshot!(app.send(odd).await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"If-None-Match: must be *, which means: create, but do not replace"}}"#);
}

#[tokio::test]
async fn a_repeated_key_creates_an_agent_once() {
    let app = TestApp::new().await;
    for _ in 0..2 {
        let reply = app
            .send(only_new("reviewer", &reviewer(), Some("k1")))
            .await;
        assert_eq!((reply.status.as_u16(), reply.data()), (201, reviewer()));
    }
    let other = app
        .send(only_new("other", &reviewer_named("other"), Some("k1")))
        .await;
    assert_eq!(other.error(), (409, "CONFLICT".to_owned()));
    let delete = || {
        Request::delete("/api/agents/reviewer")
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {OPERATOR_TOKEN}"))
            .header("idempotency-key", "k2")
            .body(Body::empty())
            .unwrap()
    };
    for _ in 0..2 {
        assert_eq!(app.send(delete()).await.data(), reviewer());
    }
    let patched = || {
        Request::patch("/api/agents/qa")
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {OPERATOR_TOKEN}"))
            .header("idempotency-key", "k3")
            .body(r#"{"available": false}"#.into())
            .unwrap()
    };
    app.send(patched()).await.data();
    patch(&app, "qa", json!({ "available": true })).await.data();
    assert_eq!(app.send(patched()).await.data()["available"], false);
    assert_eq!(app.get("/api/agents/qa").await.data()["available"], true);
}

#[tokio::test]
async fn an_agent_in_use_cannot_be_deleted() {
    let app = TestApp::new().await;
    app.engine
        .seed_kind_rules(chorus::engine::default_kind_rules())
        .await
        .unwrap();
    let tool = json!({ "name": "to_planner", "description": "d", "targetAgent": "planner", "allowedAgents": ["qa"] });
    app.operator().post("/api/tools", tool).await.data();
    let task = app.task("Write it").await;
    let handoff = json!({ "agentName": "Planner", "prompt": "p" });
    app.post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    assert_snapshot!(delete(&app, "PLANNER").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent planner is in use by task <id 1>; tool to_planner; request kinds brainstorm, research. End or change these first"}}"#);
    assert_snapshot!(delete(&app, "qa").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent qa is in use by tool to_planner. End or change these first"}}"#);
    assert_snapshot!(delete(&app, "developer").await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent developer is in use by request kinds fix, implementation, loop, chores, documentation. End or change these first"}}"#);
    assert_eq!(app.get("/api/agents/planner").await.status.as_u16(), 200);
    for number in 1..=12 {
        let task = app.task("Try it").await;
        let handoff = json!({ "agentName": "orchestrator", "prompt": "p" });
        app.post(&format!("/api/tasks/{task}/handoff"), handoff)
            .await
            .data();
        let refused = delete(&app, "orchestrator").await.json();
        let message = refused["error"]["message"].as_str().unwrap();
        let ends = match number {
            11 | 12 => format!(" and {} more. End or change these first", number - 10),
            _ => format!("{task}. End or change these first"),
        };
        assert!(message.ends_with(&ends), "{message}");
    }

    app.put(
        &format!("/api/tasks/{task}/handoff/complete"),
        json!({ "output": "done" }),
    )
    .await
    .data();
    app.operator().delete("/api/tools/to_planner").await.data();
    Requests(&app.db).set_rules(vec![]).await;
    delete(&app, "planner").await.data();
    // Its past hand-offs stay.
    let chain = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(chain["agentChain"][0]["agentName"], "planner");
}

#[tokio::test]
async fn an_old_fault_does_not_block_an_unrelated_edit() {
    let app = TestApp::new().await;
    app.operator()
        .put("/api/agents/reviewer", reviewer())
        .await
        .data();
    invariants::open(&app.data_dir.database())
        .execute(
            r#"UPDATE agents SET environment = '{"PATH": "/bin"}' WHERE name = 'reviewer'"#,
            [],
        )
        .unwrap();
    let changed = patch(&app, "reviewer", json!({ "skills": ["go"] })).await;
    assert_eq!(changed.data()["skills"], json!(["go"]));
    let worse = patch(&app, "reviewer", json!({ "program": null })).await;
    assert_eq!(worse.error(), (400, "INVALID_BODY".to_owned()));
    // A spec is checked when it is set, and when it is first needed.
    assert_snapshot!(patch(&app, "reviewer", json!({ "provider": "claude-code" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: must be a Markdown file below the data directory, such as agents/reviewer.md","details":{"problems":[{"field":"specPath","message":"must be a Markdown file below the data directory, such as agents/reviewer.md"}]}}}"#);
    assert_snapshot!(patch(&app, "reviewer", json!({ "provider": "claude-code", "specPath": "agents/x.md" })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"specPath: Spec agents/x.md of agent reviewer does not exist; create <tmp>/agents/x.md","details":{"problems":[{"field":"specPath","message":"Spec agents/x.md of agent reviewer does not exist; create <tmp>/agents/x.md"}]}}}"#);
    std::fs::create_dir(app.data_dir.path().join("agents")).unwrap();
    std::fs::write(app.data_dir.path().join("agents/x.md"), "# X").unwrap();
    let changed = patch(
        &app,
        "reviewer",
        json!({ "provider": "claude-code", "specPath": "agents/x.md" }),
    );
    assert_eq!(changed.await.data()["provider"], "claude-code");
}

#[tokio::test]
async fn a_changed_agent_makes_the_router_retry_waiting_tasks() {
    let app = TestApp::new().await;
    let task = app.task("Test it").await;
    let unsuited = || {
        let connection = invariants::open(&app.data_dir.database());
        let changed = connection.execute(
            "UPDATE tasks SET waiting_reason = 'nobody suits', is_unsuited = 1, agent_role = 'verification' WHERE id = $1",
            [&task],
        );
        assert_eq!(changed.unwrap(), 1);
    };
    let is_unsuited = || {
        let connection = invariants::open(&app.data_dir.database());
        let read = connection.query_row("SELECT is_unsuited FROM tasks", [], |row| {
            row.get::<_, bool>(0)
        });
        read.unwrap()
    };
    unsuited();
    app.operator()
        .put("/api/agents/reviewer", reviewer())
        .await
        .data();
    assert!(!is_unsuited(), "an agent was made");
    unsuited();
    app.operator()
        .put("/api/agents/reviewer", reviewer())
        .await
        .data();
    patch(&app, "reviewer", json!({ "available": true }))
        .await
        .data();
    assert!(is_unsuited(), "nothing changed");
    patch(&app, "reviewer", json!({ "available": false }))
        .await
        .data();
    assert!(is_unsuited(), "an agent went away");
    let other = json!({ "provider": "command", "program": "/bin/true", "roles": ["testing"] });
    app.operator().put("/api/agents/other", other).await.data();
    assert!(is_unsuited(), "an agent of another role was made");
    patch(&app, "reviewer", json!({ "available": true }))
        .await
        .data();
    assert!(!is_unsuited(), "an agent is back");
    unsuited();
    let offered = json!({ "skills": ["go"] });
    app.operator()
        .post("/api/agents/reviewer/capabilities", offered)
        .await
        .data();
    assert!(!is_unsuited(), "an agent offers something else");
    unsuited();
    delete(&app, "reviewer").await.data();
    assert!(is_unsuited(), "an agent was deleted");
    app.write(|tx| agent::seed_specialists(tx, &chorus::engine::specialists()))
        .await
        .unwrap();
    assert!(!is_unsuited(), "agents were seeded");
}
