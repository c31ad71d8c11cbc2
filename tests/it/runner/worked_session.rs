//! The worked example of a session, step by step: from dojo to librarian and back, to the debugger and back.

use reqwest::Method;
use serde_json::{Value, json};

use super::expect_refusal;
use super::worked_examples::{get, output_of, send};
use crate::support::{Sandbox, Server, wait_for_end};

const SESSION: &str = "sess_abc123";

/// The moves: source, target, reason and intent.
const MOVES: [[&str; 4]; 4] = [
    [
        "dojo",
        "librarian",
        "User explicitly wants to search for similar prompts",
        "Search for similar prompts",
    ],
    [
        "librarian",
        "dojo",
        "Search complete, returning to thinking partnership",
        "Continue exploration with search results",
    ],
    [
        "dojo",
        "debugger",
        "User has conflicting perspectives that need resolution",
        "Resolve logical contradictions",
    ],
    [
        "debugger",
        "dojo",
        "Conflict resolved, return to thinking partnership",
        "Continue thinking",
    ],
];

/// Adds the three agents. Each saves its prompt and answers with its name.
fn sandbox() -> Sandbox {
    ["dojo", "librarian", "debugger"]
        .iter()
        .fold(Sandbox::new(), |sandbox, name| {
            sandbox.with_agent(
                name,
                "cat >prompt.$CHORUS_HANDOFF_ID; echo \"$CHORUS_AGENT has answered\"",
            )
        })
}

/// Moves the session with the command line, and returns the final message of the target.
fn move_by_command(server: &Server, step: [&str; 4], history: &std::path::Path) -> String {
    let [from, to, reason, intent] = step;
    let file = history.to_str().unwrap();
    let arguments = [
        "session",
        "handoff",
        SESSION,
        from,
        to,
        "--reason",
        reason,
        "--intent",
        intent,
        "--history",
        file,
        "--wait",
    ];
    output_of(server.chorus(arguments))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_from_agent_to_agent_and_back() {
    let sandbox = sandbox();
    let server = sandbox.serve(1);
    let client = server.client();
    let file = sandbox.path("history.json");
    let mut history = vec![json!({
        "role": "user", "content": "What did others ask?", "agentId": null, "timestamp": "2025-01-01T10:00:00Z",
    })];
    for step in MOVES {
        std::fs::write(&file, serde_json::to_vec(&history).unwrap()).unwrap();
        let answer = move_by_command(&server, step, &file);
        assert_eq!(answer, format!("{} has answered\n", step[1]));
        history.push(json!({ "role": "assistant", "content": answer.trim(), "agentId": step[1], "timestamp": 1 }));
    }
    // The history of the session, in chronological order.
    let shown = output_of(server.chorus(["session", "show", SESSION, "--json"]));
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let handoffs = shown["data"].as_array().unwrap();
    assert_eq!(handoffs.len(), MOVES.len());
    for (place, (handoff, [from, to, reason, intent])) in handoffs.iter().zip(MOVES).enumerate() {
        let said = ["sessionId", "fromAgent", "toAgent", "reason", "userIntent"]
            .map(|key| handoff[key].clone());
        assert_eq!(said, [SESSION, from, to, reason, intent].map(Value::from));
        assert_eq!(handoff["conversationHistory"], json!(history[..=place]));
        assert_eq!(handoff["harnessTraceId"], json!(null));
        // The target had the whole conversation, and knew who handed off, why, and to what end.
        let task = get(
            &client,
            &format!("/api/tasks/{}", handoff["taskId"].as_str().unwrap()),
        )
        .await;
        let prompt = format!(
            "{}/prompt.{}",
            task["agentWorkspace"].as_str().unwrap(),
            handoff["id"].as_str().unwrap()
        );
        let prompt = std::fs::read_to_string(prompt).unwrap();
        let messages = history[..=place]
            .iter()
            .map(|message| format!("> {}\n", message["content"].as_str().unwrap()));
        for part in messages.chain([
            format!("The agent {from} moved this conversation to you.\n"),
            format!("> {reason}\n"),
            format!("User intent:\n\n{intent}\n"),
        ]) {
            assert!(prompt.contains(&part), "{part}\nis not in\n{prompt}");
        }
    }
    let last = get(&client, &format!("/api/sessions/{SESSION}/handoffs/last")).await;
    assert_eq!(last, handoffs[3]);
    // Counts: all, from an agent, to an agent.
    for (filter, expected) in [
        (&[][..], "4\n"),
        (&["--from", "dojo"], "2\n"),
        (&["--to", "librarian"], "1\n"),
    ] {
        let arguments = ["session", "count", SESSION]
            .into_iter()
            .chain(filter.iter().copied());
        assert_eq!(output_of(server.chorus(arguments)), expected, "{filter:?}");
    }
    // Another session has nothing of this one.
    let path = "/api/sessions/sess_other/handoffs";
    assert_eq!(get(&client, path).await, json!([]));
    assert_eq!(
        get(&client, "/api/sessions/sess_other/handoffs/last").await,
        json!(null)
    );
    // The multi-step chain is in the analytics.
    let analytics = get(&client, "/api/analytics/handoffs").await;
    let paths: Vec<_> = analytics["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path["agents"].clone())
        .collect();
    assert!(
        paths.contains(&json!(["dojo", "librarian", "dojo", "debugger"])),
        "{paths:?}"
    );
    // The table, with the columns and the order of the example.
    let columns = "id, session_id, from_agent, to_agent, reason, conversation_history, harness_trace_id, user_intent, created_at";
    let row = format!(
        "SELECT session_id || '|' || from_agent || '|' || to_agent || '|' || json_array_length(conversation_history) || '|' || user_intent
           FROM (SELECT {columns} FROM agent_handoffs WHERE session_id = '{SESSION}' ORDER BY created_at LIMIT 1)"
    );
    assert_eq!(
        sandbox.query(&row),
        "sess_abc123|dojo|librarian|1|Search for similar prompts"
    );
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_not_valid_is_an_error_with_its_context_and_records_nothing() {
    let sandbox = sandbox();
    let server = sandbox.serve(0);
    let client = server.client();
    let path = format!("/api/sessions/{SESSION}/handoffs");
    let valid = json!({
        "fromAgent": "dojo", "toAgent": "librarian", "reason": "Search", "userIntent": "Search project memory",
        "conversationHistory": [], "harnessTraceId": null,
    });
    let unavailable = json!({ "available": false });
    send(
        &server.operator(),
        Method::PATCH,
        "/api/agents/debugger",
        unavailable,
    )
    .await
    .unwrap();
    for (field, value, names) in [
        ("fromAgent", json!(""), "fromAgent: must not be empty"),
        (
            "fromAgent",
            json!("sensei"),
            "fromAgent: unknown agent \"sensei\"",
        ),
        ("toAgent", json!(null), "toAgent: is required"),
        (
            "toAgent",
            json!("dojo"),
            "toAgent: must differ from fromAgent",
        ),
        (
            "toAgent",
            json!("debugger"),
            "toAgent: debugger is not available",
        ),
        ("reason", json!(" "), "reason: must not be empty"),
        ("userIntent", json!(""), "userIntent: must not be empty"),
        (
            "conversationHistory",
            json!({}),
            "conversationHistory: must be an array",
        ),
    ] {
        let mut body = valid.clone();
        body[field] = value;
        let (status, code, message) =
            expect_refusal(send(&client, Method::POST, &path, body).await);
        assert_eq!((status, code.as_str()), (400, "HANDOFF_ERROR"), "{message}");
        assert!(message.starts_with(names), "{message}");
    }
    let mut body = valid.clone();
    body["reason"] = json!("");
    let refused = reqwest::Client::new()
        .post(format!("{}{path}", server.url))
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["error"]["details"]["context"], "dojo->librarian");
    let blank = server.chorus([
        "session",
        "handoff",
        " ",
        "dojo",
        "librarian",
        "--reason",
        "r",
        "--intent",
        "i",
    ]);
    assert!(!blank.output().status.success());
    assert_eq!(get(&client, "/api/sessions").await, json!([]));
    let started = send(&client, Method::POST, &path, valid).await.unwrap();
    assert_eq!(started["sessionId"], SESSION);
    // Without slots nobody works; the program that leads the conversation says what came out.
    let task = started["taskId"].as_str().unwrap();
    let path = format!("/api/tasks/{task}/handoff/complete");
    let body = json!({ "output": "Found three prompts" });
    send(&client, Method::PUT, &path, body).await.unwrap();
    let handoff = wait_for_end(&client, started["id"].as_str().unwrap()).await;
    assert_eq!(handoff.output.as_str(), "Found three prompts");
    let said = get(&client, &format!("/api/tasks/{task}/conversation")).await;
    assert_eq!(
        said.as_array().unwrap().last().unwrap()["content"],
        "Found three prompts"
    );
}
