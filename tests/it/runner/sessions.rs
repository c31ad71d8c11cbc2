//! Conversations that move between agents that really run.

use chorus::client::Client;
use chorus::domain::{Outcome, Session, SessionHandoff, Task};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Events, Workshop, ended};

async fn move_to(client: &Client, session: &str, body: &Value) -> String {
    let path = format!("/api/sessions/{session}/handoffs");
    let reply = client.send_json(Method::POST, &path, body).await.unwrap();
    let started: Value = reply.data().unwrap();
    started["id"].as_str().unwrap().to_owned()
}

async fn moves(client: &Client, session: &str) -> Vec<SessionHandoff> {
    let path = format!("/api/sessions/{session}/handoffs");
    client.get(&path, &[]).await.unwrap().data().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_conversation_arrives_at_every_agent_that_it_moves_to() {
    // Each agent keeps what it was told, and answers with its own name.
    let workshop =
        ["dojo", "librarian", "debugger"]
            .iter()
            .fold(Workshop::new(), |workshop, name| {
                workshop.agent(
                    name,
                    "cat >told.$CHORUS_HANDOFF_ID; echo \"$CHORUS_AGENT has answered\"",
                )
            });
    let server = workshop.serve(1);
    let client = server.client();
    let mut history = Vec::new();
    for (place, (from, to)) in [
        ("dojo", "librarian"),
        ("librarian", "dojo"),
        ("dojo", "debugger"),
    ]
    .into_iter()
    .enumerate()
    {
        history.push(json!({ "role": "user", "content": format!("question {place}\n\u{1b}[31m🎶"), "timestamp": place }));
        history.push(
            json!({ "role": "assistant", "content": format!("answer {place}"), "agentId": from }),
        );
        let body = json!({
            "fromAgent": from, "toAgent": to, "reason": format!("reason {place}"), "userIntent": format!("intent {place}"),
            "conversationHistory": history, "harnessTraceId": format!("harness {place}"),
        });
        let id = move_to(&client, "sess_abc", &body).await;
        let handoff = ended(&client, &id).await;
        assert_eq!(handoff.output.as_str(), format!("{to} has answered"));
        assert_eq!(handoff.outcome, Some(Outcome::Completed));
        let path = format!("/api/tasks/{}", handoff.task_id);
        let task: Task = client.get(&path, &[]).await.unwrap().data().unwrap();
        let told = format!("{}/told.{id}", task.agent_workspace);
        let told = std::fs::read_to_string(told).unwrap();
        for message in &history {
            let content = message["content"].as_str().unwrap();
            assert!(told.contains(content), "{content}\nis not in\n{told}");
        }
        for part in [
            format!("assistant ({from}): answer {place}"),
            format!("The agent {from} moved this conversation to you.\nReason: reason {place}\n"),
            format!("User intent:\n\nintent {place}\n"),
        ] {
            assert!(told.contains(&part), "{part}\nis not in\n{told}");
        }
    }
    let moves = moves(&client, "sess_abc").await;
    let agents: Vec<_> = moves
        .iter()
        .map(|moved| format!("{}→{}", moved.from_agent, moved.to_agent))
        .collect();
    assert_eq!(
        agents,
        ["dojo→librarian", "librarian→dojo", "dojo→debugger"]
    );
    for (place, moved) in moves.iter().enumerate() {
        let expected = json!(history[..2 * (place + 1)]);
        assert_eq!(moved.conversation_history.as_json(), expected.to_string());
    }
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_moves_on_closes_the_hand_off_before_and_stops_its_agent() {
    let workshop = Workshop::new()
        .agent("slow", "echo begun; exec sleep 600")
        .agent("quick", "echo done");
    let server = workshop.serve(4);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let body = |from, to| json!({ "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "i", "conversationHistory": [] });
    let slow = move_to(&client, "s", &body("quick", "slow")).await;
    events.until("message_added", "begun").await;
    let quick = move_to(&client, "s", &body("slow", "quick")).await;
    let (slow, quick) = (ended(&client, slow).await, ended(&client, quick).await);
    assert_eq!(
        (slow.outcome, slow.output.as_str()),
        (Some(Outcome::Completed), "Routed to quick")
    );
    assert_eq!(slow.run.unwrap().outcome, Some(Outcome::Cancelled));
    assert_eq!(quick.output.as_str(), "done");
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_moves_its_own_conversation_and_no_other() {
    let script = r#"move() { curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/sessions/$1/handoffs" \
  -d "{\"fromAgent\": \"$2\", \"toAgent\": \"second\", \"reason\": \"r\", \"userIntent\": \"go on\", \"conversationHistory\": []}"; }
move other first >>answers; echo >>answers; move s second >>answers; echo >>answers; move s first >>answers"#;
    let workshop = Workshop::new()
        .agent("first", script)
        .agent("second", "cat answers");
    let server = workshop.serve(1);
    let client = server.client();
    let body = json!({
        "fromAgent": "second", "toAgent": "first", "reason": "r", "userIntent": "i", "conversationHistory": [],
        "invoke": false,
    });
    move_to(&client, "other", &body).await;
    let mut body = body;
    body["invoke"] = json!(true);
    let first = ended(&client, move_to(&client, "s", &body).await).await;
    assert_eq!(first.output.as_str(), "Routed to second");
    assert_eq!(first.run.unwrap().outcome, Some(Outcome::Completed));
    let last = moves(&client, "s").await.pop().unwrap();
    let second = ended(&client, &last.id).await;
    let answers: Vec<Value> = second
        .output
        .as_str()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers[0]["error"]["code"], "FORBIDDEN", "{answers:?}");
    assert_eq!(answers[1]["error"]["code"], "HANDOFF_ERROR", "{answers:?}");
    assert_eq!(answers[1]["error"]["details"]["context"], "second->second");
    assert_eq!(answers[2]["data"]["id"], json!(last.id));
    assert_eq!(second.trace_id, first.trace_id);
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_bounces_too_often_is_refused_and_what_is_only_recorded_does_not_count() {
    let workshop = Workshop::new().agent("a", "echo a").agent("b", "echo b");
    let server = workshop.serve_with(1, &["--port", "0", "--max-bounces", "1"]);
    let client = server.client();
    let body = |from: &str, to: &str, invoke| {
        json!({
            "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "i", "conversationHistory": [], "invoke": invoke,
        })
    };
    for (from, to) in [("a", "b"), ("b", "a")].repeat(20) {
        move_to(&client, "s", &body(from, to, false)).await;
    }
    for (from, to) in [("a", "b"), ("b", "a")] {
        move_to(&client, "s", &body(from, to, true)).await;
    }
    let refused = client
        .send_json(
            Method::POST,
            "/api/sessions/s/handoffs",
            &body("a", "b", true),
        )
        .await;
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("a → b → a → b") && error.contains("1 bounces"),
        "{error}"
    );
    move_to(&client, "s", &body("a", "b", false)).await;
    assert_eq!(moves(&client, "s").await.len(), 43);
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_a_tool_passes_on_stays_in_its_session() {
    let told = "cat >told.$CHORUS_AGENT";
    let workshop = Workshop::new()
        .agent(
            "first",
            r#"curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/tools/to_second" -d '{}' >answer"#,
        )
        .agent(
            "second",
            &format!("{told}; echo $$ >pid; trap '' TERM; echo here; while :; do sleep 0.01; done"),
        )
        .agent(
            "third",
            &format!("{told}; if kill -0 $(cat pid) 2>/dev/null; then echo both are here; else echo alone; fi"),
        );
    let server = workshop.serve(4);
    let client = server.client();
    let tool = json!({ "name": "to_second", "description": "d", "targetAgent": "second" });
    client
        .send_json(Method::POST, "/api/tools", &tool)
        .await
        .unwrap();
    let mut events = Events::listen(&client).await;
    let body = |from: &str, to: &str| {
        json!({
            "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "i",
            "conversationHistory": [{ "role": "user", "content": "what was said" }],
        })
    };
    let first = ended(
        &client,
        move_to(&client, "s", &body("third", "first")).await,
    )
    .await;
    assert_eq!(first.output.as_str(), "Routed to second");
    events.until("message_added", "here").await;
    let session: Session = client
        .get("/api/sessions/s", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    let holder = session.current_agent.as_ref().map(ToString::to_string);
    assert_eq!(
        (session.agent_name.as_str(), holder.as_deref()),
        ("second", Some("second"))
    );
    // Whoever moves it takes it from the one that has it, and the next begins when that one is gone.
    let third = ended(
        &client,
        move_to(&client, "s", &body("second", "third")).await,
    )
    .await;
    assert_eq!(third.output.as_str(), "alone");
    let second = ended(&client, first.transferred_to.unwrap()).await;
    assert_eq!(second.output.as_str(), "Routed to third");
    assert_eq!(second.transferred_to, Some(third.id));
    let path = format!("/api/tasks/{}", first.task_id);
    let task: Task = client.get(&path, &[]).await.unwrap().data().unwrap();
    assert_eq!(task.status.name().as_str(), "waiting");
    for agent in ["second", "third"] {
        let told = std::fs::read_to_string(format!("{}/told.{agent}", task.agent_workspace));
        let told = told.unwrap();
        assert!(told.contains("user: what was said"), "{told}");
    }
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_conversation_waits_for_whoever_has_it_last() {
    // One slot: the run that waits must not occupy it, also when somebody else moves the conversation.
    let workshop = Workshop::new()
        .agent(
            "asker",
            "chorus session handoff s asker slow --reason r --intent i --wait",
        )
        .agent("slow", "echo begun; exec sleep 600")
        .agent("quick", "echo the answer");
    let server = workshop.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let asker = crate::support::begin(&client, "asker").await;
    events.until("message_added", "begun").await;
    let body = json!({
        "fromAgent": "slow", "toAgent": "quick", "reason": "r", "userIntent": "i", "conversationHistory": [],
    });
    move_to(&client, "s", &body).await;
    let asker = ended(&client, crate::support::last_id(&asker)).await;
    assert_eq!(asker.output.as_str(), "the answer");
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}
