//! `/api/sessions`

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::TestApp;

fn body(from: &str, to: &str) -> Value {
    json!({
        "fromAgent": from, "toAgent": to, "reason": "The user wants to search", "userIntent": "Find prompts",
        "conversationHistory": [{ "role": "user", "content": "Hi" }], "invoke": false,
    })
}

async fn hand_off(app: &TestApp, session: &str, body: Value) -> String {
    let reply = app
        .post(&format!("/api/sessions/{session}/handoffs"), body)
        .await;
    assert_eq!(reply.status, 201);
    reply.data()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_has_a_list_a_last_and_a_count_of_handoffs() {
    let app = TestApp::new().await;
    assert_eq!(app.get("/api/sessions/s/handoffs").await.data(), json!([]));
    assert_eq!(
        app.get("/api/sessions/s/handoffs/last").await.data(),
        json!(null)
    );
    assert_eq!(
        app.get("/api/sessions/s/handoffs/count").await.data(),
        json!({ "count": 0 })
    );
    assert_eq!(
        app.get("/api/sessions/s").await.error(),
        (404, "NOT_FOUND".to_owned())
    );
    for (from, to) in [
        ("planner", "qa"),
        ("qa", "planner"),
        ("planner", "developer"),
    ] {
        app.clock.advance(1000);
        hand_off(&app, "s", body(from, to)).await;
    }
    hand_off(&app, "other", body("qa", "developer")).await;
    let history = app.get("/api/sessions/s/handoffs").await.data();
    let moves: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|moved| format!("{} {}", moved["fromAgent"], moved["toAgent"]))
        .collect();
    assert_eq!(
        moves,
        [
            "\"planner\" \"qa\"",
            "\"qa\" \"planner\"",
            "\"planner\" \"developer\""
        ]
    );
    let last = app.get("/api/sessions/s/handoffs/last").await.data();
    assert_eq!(last, history[2]);
    assert_eq!(
        pick(&last, &["invoked", "createdAt", "completedAt", "outcome"]),
        json!({
            "invoked": false, "createdAt": 1_767_225_603_000_i64, "completedAt": 1_767_225_603_000_i64,
            "outcome": "completed",
        })
    );
    for (query, count) in [
        ("", 3),
        ("?from=planner", 2),
        ("?to=PLANNER", 1),
        ("?from=planner&to=qa", 1),
        ("?from=nobody", 0),
    ] {
        let path = format!("/api/sessions/s/handoffs/count{query}");
        assert_eq!(
            app.get(&path).await.data(),
            json!({ "count": count }),
            "{query}"
        );
    }
    let sessions = app.get("/api/sessions").await.data();
    let fields = ["id", "updatedAt", "handoffs", "agentName", "currentAgent"];
    assert_eq!(
        [0, 1].map(|place| pick(&sessions[place], &fields)),
        [("s", 3), ("other", 1)].map(|(id, handoffs)| json!({
            "id": id, "updatedAt": 1_767_225_603_000_i64, "handoffs": handoffs, "agentName": "developer",
            "currentAgent": null,
        }))
    );
    let task = app.get("/api/sessions/s").await.data()["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    let task = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(
        (&task["sessionId"], &task["status"]["type"]),
        (&json!("s"), &json!("waiting"))
    );
    assert_eq!(task["agentChain"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn every_fault_has_its_own_message_and_all_are_reported_together() {
    let app = TestApp::new().await;
    assert_snapshot!(app.post("/api/sessions/%20/handoffs", json!({})).await.line(), @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"sessionId: must not be empty; fromAgent: is required and must not be empty; toAgent: is required and must not be empty; reason: is required and must not be empty; userIntent: is required and must not be empty; conversationHistory: must be an array of messages","details":{"context":"->","problems":[{"field":"sessionId","message":"must not be empty"},{"field":"fromAgent","message":"is required and must not be empty"},{"field":"toAgent","message":"is required and must not be empty"},{"field":"reason","message":"is required and must not be empty"},{"field":"userIntent","message":"is required and must not be empty"},{"field":"conversationHistory","message":"must be an array of messages"}]}}}"#);
    let refused = async |key: &str, value: Value| {
        let mut body = body("planner", "qa");
        body[key] = value;
        app.post("/api/sessions/s/handoffs", body).await.line()
    };
    assert_snapshot!(refused("fromAgent", json!("nobody")).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"fromAgent: unknown agent \"nobody\"; the agents are: developer, developer-review, orchestrator, planner, qa","details":{"context":"nobody->qa","problems":[{"field":"fromAgent","message":"unknown agent \"nobody\"; the agents are: developer, developer-review, orchestrator, planner, qa"}]}}}"#);
    assert_snapshot!(refused("toAgent", json!("planner")).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"toAgent: must differ from fromAgent","details":{"context":"planner->planner","problems":[{"field":"toAgent","message":"must differ from fromAgent"}]}}}"#);
    assert_snapshot!(refused("reason", json!(" \n")).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"reason: must not be empty","details":{"context":"planner->qa","problems":[{"field":"reason","message":"must not be empty"}]}}}"#);
    assert_snapshot!(refused("userIntent", json!("a\u{0}b")).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"userIntent: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it","details":{"context":"planner->qa","problems":[{"field":"userIntent","message":"has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}]}}}"#);
    assert_snapshot!(refused("conversationHistory", json!([{ "role": "wizard", "content": 3 }])).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"conversationHistory[0].role: unknown role \"wizard\"; the roles are: system, user, assistant, tool; conversationHistory[0].content: must be a string, an array of parts, or null","details":{"context":"planner->qa","problems":[{"field":"conversationHistory[0].role","message":"unknown role \"wizard\"; the roles are: system, user, assistant, tool"},{"field":"conversationHistory[0].content","message":"must be a string, an array of parts, or null"}]}}}"#);
    assert_snapshot!(refused("conversationHistory", json!("none")).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"conversationHistory: must be an array of messages","details":{"context":"planner->qa","problems":[{"field":"conversationHistory","message":"must be an array of messages"}]}}}"#);
    assert_snapshot!(refused("harnessTraceId", json!(1)).await, @r#"400 {"error":{"code":"HANDOFF_ERROR","message":"harnessTraceId: must be a string","details":{"context":"planner->qa","problems":[{"field":"harnessTraceId","message":"must be a string"}]}}}"#);
    let garbage = app
        .request(Method::POST, "/api/sessions/s/handoffs", "[1")
        .await;
    assert_snapshot!(garbage.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    let long = "x".repeat(201);
    let reply = app
        .post(
            &format!("/api/sessions/{long}/handoffs"),
            body("planner", "qa"),
        )
        .await;
    assert_eq!(reply.error(), (400, "HANDOFF_ERROR".to_owned()));
    assert_eq!(app.get("/api/sessions").await.data(), json!([]));
    assert_eq!(app.get("/api/tasks").await.data(), json!([]));
}

#[tokio::test]
async fn text_is_stored_exactly_except_for_lone_surrogates() {
    let app = TestApp::new().await;
    let raw = r#"{"fromAgent":"planner","toAgent":"qa","reason":"r","userIntent":"u","invoke":false,
        "conversationHistory":[{"role":"user","content":"a\u0000b\u0001\u001b\ud83d|\udc00|\ud83c\udfb6 \\ud800 \u202e\r\n","z":1,"a":2},
                               {"role":"assistant","content":"","agentId":null,"timestamp":1767225600000}]}"#;
    let made = app
        .request(Method::POST, "/api/sessions/s/handoffs", raw)
        .await;
    assert_eq!(made.status, 201, "{}", made.line());
    let last = app.get("/api/sessions/s/handoffs/last").await;
    let said = &last.data()["conversationHistory"];
    assert_eq!(
        said[0]["content"],
        "a\0b\u{1}\u{1b}\u{fffd}|\u{fffd}|🎶 \\ud800 \u{202e}\r\n"
    );
    assert_eq!(
        said.to_string(),
        serde_json::to_string(&json!([
            { "role": "user", "content": said[0]["content"], "z": 1, "a": 2 },
            { "role": "assistant", "content": "", "agentId": null, "timestamp": 1_767_225_600_000_i64 },
        ]))
        .unwrap(),
        "keys stay in their order"
    );
    // SQLite's JSON functions can read it, too.
    let database = rusqlite::Connection::open(app.data_dir.database()).unwrap();
    let role: String = database
        .query_row(
            "SELECT history ->> '$[1].role' FROM session_handoffs",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(role, "assistant");
}

#[tokio::test]
async fn handoffs_are_found_by_trace() {
    let app = TestApp::new().await;
    let mut first = body("planner", "qa");
    first["harnessTraceId"] = json!("harness ' \" 1");
    let first = hand_off(&app, "s", first).await;
    let mut second = body("qa", "planner");
    second["harnessTraceId"] = json!("harness-2");
    hand_off(&app, "s", second).await;
    let found = async |trace: &str| {
        let trace =
            percent_encoding::utf8_percent_encode(trace, percent_encoding::NON_ALPHANUMERIC);
        let found = app
            .get(&format!("/api/handoffs?trace={trace}"))
            .await
            .data();
        let found = found.as_array().unwrap().iter();
        found
            .map(|handoff| handoff["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("harness ' \" 1").await, [first.as_str()]);
    assert_eq!(found("nothing").await, [""; 0]);
    // A trace that starts in Chorus has the digits of its first hand-off.
    assert_eq!(found(&first.replace('-', "")).await, [first]);
    assert_snapshot!(app.get("/api/handoffs").await.line(), @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: missing field `trace`"}}"#);
    let task = app.task("traced").await;
    let request = axum::http::Request::post(format!("/api/tasks/{task}/handoff"))
        .header("host", "localhost")
        .header(
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        );
    let handoff = json!({ "agentName": "qa", "prompt": "p" });
    let started = app
        .send(request.body(handoff.to_string().into()).unwrap())
        .await
        .data();
    let id = started["agentChain"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        found("4BF92F3577B34DA6A3CE929D0E0E4736").await,
        [id.as_str()]
    );
    let handoff = app.get(&format!("/api/handoffs/{id}")).await.data();
    assert_eq!(handoff["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(handoff["parentSpanId"], "00f067aa0ba902b7");
}

#[tokio::test]
async fn sessions_and_their_handoffs_are_paged() {
    let app = TestApp::new().await;
    for session in 0..5 {
        hand_off(&app, &format!("s{session}"), body("planner", "qa")).await;
    }
    for _ in 0..4 {
        hand_off(&app, "s0", body("planner", "qa")).await;
    }
    for (path, key) in [("/api/sessions", "id"), ("/api/sessions/s0/handoffs", "id")] {
        let (mut after, mut seen) = (String::new(), Vec::new());
        loop {
            let page = app.get(&format!("{path}?limit=2{after}")).await.json();
            seen.extend(
                page["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item[key].to_string()),
            );
            let Some(next) = page["meta"]["next"].as_str() else {
                break;
            };
            after = format!("&after={next}");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 5, "{path}");
    }
    assert_eq!(app.get("/api/sessions?after=none").await.error().0, 404);
    assert_eq!(app.get("/api/sessions?limit=1001").await.error().0, 400);
}

#[tokio::test]
async fn a_repeated_key_hands_the_session_off_once() {
    let app = TestApp::new().await;
    let call = || {
        let request = axum::http::Request::post("/api/sessions/s/handoffs")
            .header("host", "localhost")
            .header("idempotency-key", "once");
        app.send(
            request
                .body(body("planner", "qa").to_string().into())
                .unwrap(),
        )
    };
    let (first, second) = (call().await, call().await);
    assert_eq!((first.data(), first.status), (second.data(), second.status));
    assert_eq!(
        app.get("/api/sessions/s/handoffs/count").await.data()["count"],
        1
    );
}

#[tokio::test]
async fn a_repeated_key_returns_the_first_answer_even_if_the_call_would_fail_now() {
    let app = TestApp::new().await;
    let call = || {
        let request = axum::http::Request::post("/api/sessions/s/handoffs")
            .header("host", "localhost")
            .header("idempotency-key", "once");
        let body = body("planner", "qa").to_string();
        app.send(request.body(body.into()).unwrap())
    };
    let first = call().await.data();
    rusqlite::Connection::open(app.data_dir.database())
        .unwrap()
        .execute("UPDATE agents SET available = 0 WHERE name = 'qa'", [])
        .unwrap();
    assert_eq!(call().await.data(), first);
    let other = app
        .post("/api/sessions/s/handoffs", body("planner", "qa"))
        .await;
    assert_eq!(other.error(), (400, "HANDOFF_ERROR".to_owned()));
}

#[tokio::test]
async fn large_records_make_a_page_shorter() {
    let app = TestApp::new().await;
    let large = "x".repeat(3 * 1024 * 1024);
    for _ in 0..8 {
        let mut moved = body("planner", "qa");
        moved["conversationHistory"] = json!([{ "role": "user", "content": large }]);
        moved["harnessTraceId"] = json!("h");
        hand_off(&app, "s", moved).await;
    }
    let task = app.get("/api/sessions/s").await.data()["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    for _ in 0..8 {
        let message = json!({ "type": "user_message", "content": large });
        app.post(&format!("/api/tasks/{task}/messages"), message)
            .await
            .data();
    }
    for path in [
        "/api/sessions/s/handoffs".to_owned(),
        format!("/api/tasks/{task}/conversation"),
    ] {
        let page = app.get(&path).await.json();
        assert!(page["data"].as_array().unwrap().len() < 24, "{path}");
        let next = page["meta"]["next"].as_str().unwrap();
        let rest = app.get(&format!("{path}?after={next}")).await.json();
        assert!(!rest["data"].as_array().unwrap().is_empty(), "{path}");
    }
    for garbage in ["x", "00000000-0000-0000-0000-000000000000"] {
        for path in ["/api/sessions/s/handoffs?", "/api/handoffs?trace=h&"] {
            let refused = app.get(&format!("{path}after={garbage}")).await;
            assert_eq!(refused.error(), (404, "NOT_FOUND".to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn invalid_utf_8_in_a_path_is_not_found() {
    let app = TestApp::new().await;
    for path in [
        "/api/sessions/%ff",
        "/api/sessions/%ff/handoffs",
        "/api/tools/%ff",
        "/api/agents/%ff",
        "/api/agents/%ff/tools",
        "/api/agents/%ff/usage",
    ] {
        assert_eq!(
            app.get(path).await.error(),
            (404, "NOT_FOUND".to_owned()),
            "{path}"
        );
    }
    for id in [".", ".."] {
        let id = id.replace('.', "%2E");
        let refused = app
            .post(
                &format!("/api/sessions/{id}/handoffs"),
                body("planner", "qa"),
            )
            .await;
        assert_eq!(refused.error(), (400, "HANDOFF_ERROR".to_owned()));
    }
}
