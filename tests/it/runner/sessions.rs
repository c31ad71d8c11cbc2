//! Sessions whose conversations move between running agents.

use chorus::client::Client;
use chorus::domain::{Outcome, Session, SessionHandoff, Task};
use reqwest::Method;
use serde_json::{Value, json};

use super::{client_of_handoff, expect_refusal, waiting_agents};
use crate::support::{Events, Sandbox, wait_for_end};

async fn move_session(client: &Client, session: &str, body: &Value) -> String {
    let path = format!("/api/sessions/{session}/handoffs");
    let reply = client.send_json(Method::POST, &path, body).await.unwrap();
    let started: Value = reply.data().unwrap();
    started["id"].as_str().unwrap().to_owned()
}

async fn session_handoffs(client: &Client, session: &str) -> Vec<SessionHandoff> {
    let path = format!("/api/sessions/{session}/handoffs");
    client.get(&path, &[]).await.unwrap().data().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_agent_of_a_session_gets_the_whole_conversation() {
    // Each agent saves its prompt, and answers with its name.
    let sandbox = ["dojo", "librarian", "debugger"]
        .iter()
        .fold(Sandbox::new(), |sandbox, name| {
            sandbox.with_agent(
                name,
                "cat >prompt.$CHORUS_HANDOFF_ID; echo \"$CHORUS_AGENT has answered\"",
            )
        });
    let server = sandbox.serve(1);
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
        let id = move_session(&client, "sess_abc", &body).await;
        let handoff = wait_for_end(&client, &id).await;
        assert_eq!(handoff.output.as_str(), format!("{to} has answered"));
        assert_eq!(handoff.outcome, Some(Outcome::Completed));
        let path = format!("/api/tasks/{}", handoff.task_id);
        let task: Task = client.get(&path, &[]).await.unwrap().data().unwrap();
        let prompt = format!("{}/prompt.{id}", task.agent_workspace);
        let prompt = std::fs::read_to_string(prompt).unwrap();
        for message in &history {
            let content = message["content"].as_str().unwrap().replace('\n', "\n> ");
            assert!(prompt.contains(&content), "{content}\nis not in\n{prompt}");
        }
        for part in [
            format!("assistant ({from}):\n> answer {place}\n"),
            format!(
                "The agent {from} moved this conversation to you.\nReason:\n\n> reason {place}\n"
            ),
            format!("User intent:\n\nintent {place}\n"),
        ] {
            assert!(prompt.contains(&part), "{part}\nis not in\n{prompt}");
        }
    }
    let moves = session_handoffs(&client, "sess_abc").await;
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
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_move_ends_the_previous_hand_off_and_stops_its_agent() {
    let sandbox = Sandbox::new()
        .with_agent("slow", "echo begun; exec sleep 600")
        .with_agent("quick", "echo done");
    let server = sandbox.serve(4);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let body = |from, to| json!({ "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "i", "conversationHistory": [] });
    let slow = move_session(&client, "s", &body("quick", "slow")).await;
    events.wait_for("message_added", "begun").await;
    let quick = move_session(&client, "s", &body("slow", "quick")).await;
    let (slow, quick) = (
        wait_for_end(&client, slow).await,
        wait_for_end(&client, quick).await,
    );
    assert_eq!(
        (slow.outcome, slow.output.as_str()),
        (Some(Outcome::Completed), "Routed to quick")
    );
    assert_eq!(slow.run.unwrap().outcome, Some(Outcome::Cancelled));
    assert_eq!(quick.output.as_str(), "done");
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_moves_only_its_own_session() {
    let script = r#"move() { curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/sessions/$1/handoffs" \
  -d "{\"fromAgent\": \"$2\", \"toAgent\": \"second\", \"reason\": \"r\", \"userIntent\": \"go on\", \"conversationHistory\": []}"; }
move other first >>answers; echo >>answers; move s second >>answers; echo >>answers; move s first >>answers"#;
    let sandbox = Sandbox::new()
        .with_agent("first", script)
        .with_agent("second", "cat answers");
    let server = sandbox.serve(1);
    let client = server.client();
    let body = json!({
        "fromAgent": "second", "toAgent": "first", "reason": "r", "userIntent": "i", "conversationHistory": [],
        "invoke": false,
    });
    move_session(&client, "other", &body).await;
    let mut body = body;
    body["invoke"] = json!(true);
    let first = wait_for_end(&client, move_session(&client, "s", &body).await).await;
    assert_eq!(first.output.as_str(), "Routed to second");
    assert_eq!(first.run.unwrap().outcome, Some(Outcome::Completed));
    let last = session_handoffs(&client, "s").await.pop().unwrap();
    let second = wait_for_end(&client, &last.id).await;
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
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

fn plain_move(from: &str, to: &str, invoke: bool) -> Value {
    json!({
        "fromAgent": from, "toAgent": to, "reason": "r", "userIntent": "i", "conversationHistory": [], "invoke": invoke,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_moves_a_session_as_often_as_it_wants() {
    let sandbox = Sandbox::new()
        .with_agent("a", "echo a")
        .with_agent("b", "echo b")
        .with_agent("c", "echo c");
    let server = sandbox.serve_with(0, &["--port", "0", "--max-bounces", "1", "--max-hops", "2"]);
    let client = server.client();
    let rounds = [("a", "b"), ("b", "a"), ("a", "b"), ("b", "c"), ("c", "a")].repeat(20);
    for (from, to) in &rounds {
        move_session(&client, "s", &plain_move(from, to, true)).await;
    }
    let path = "/api/sessions/s/handoffs/count";
    let count: Value = client.get(path, &[]).await.unwrap().data().unwrap();
    assert_eq!(count["count"], rounds.len());
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_move_their_session_back_and_forth_are_stopped() {
    let sandbox = waiting_agents(&["a", "b"]);
    let server = sandbox.serve_with(2, &["--port", "0", "--max-bounces", "1"]);
    let person = server.client();
    let mut events = Events::listen(&person).await;
    // A person starts each count. The moves before, and those that are only recorded, do not count.
    for _ in 0..2 {
        for (from, to) in [("a", "b"), ("b", "a")].repeat(3) {
            move_session(&person, "s", &plain_move(from, to, false)).await;
        }
        let mut holder = move_session(&person, "s", &plain_move("b", "a", true)).await;
        for (from, to) in [("a", "b"), ("b", "a")] {
            let client = client_of_handoff(&server, &mut events, &holder).await;
            holder = move_session(&client, "s", &plain_move(from, to, true)).await;
        }
        let client = client_of_handoff(&server, &mut events, &holder).await;
        let body = plain_move("a", "b", true);
        let refused = client
            .send_json(Method::POST, "/api/sessions/s/handoffs", &body)
            .await;
        let (status, code, message) = expect_refusal(refused);
        assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
        assert!(
            message.contains("Chain a → b → a → b has")
                && message.contains("limit of 1 bounce between"),
            "{message}"
        );
    }
    assert_eq!(session_handoffs(&person, "s").await.len(), 18);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_conversation_stays_in_its_session() {
    let save_prompt = "cat >prompt.$CHORUS_AGENT";
    let sandbox = Sandbox::new()
        .with_agent(
            "first",
            r#"curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/tools/to_second" -d '{}' >answer"#,
        )
        .with_agent(
            "second",
            &format!("{save_prompt}; echo $$ >pid; trap '' TERM; echo here; while :; do sleep 0.01; done"),
        )
        .with_agent(
            "third",
            &format!("{save_prompt}; if kill -0 $(cat pid) 2>/dev/null; then echo both are here; else echo alone; fi"),
        );
    let server = sandbox.serve(4);
    let client = server.client();
    let tool = json!({ "name": "to_second", "description": "d", "targetAgent": "second" });
    server
        .operator()
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
    let first = wait_for_end(
        &client,
        move_session(&client, "s", &body("third", "first")).await,
    )
    .await;
    assert_eq!(first.output.as_str(), "Routed to second");
    events.wait_for("message_added", "here").await;
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
    // A move takes the conversation from its current agent, and the next agent starts after that one has ended.
    let third = wait_for_end(
        &client,
        move_session(&client, "s", &body("second", "third")).await,
    )
    .await;
    assert_eq!(third.output.as_str(), "alone");
    let second = wait_for_end(&client, first.transferred_to.unwrap()).await;
    assert_eq!(second.output.as_str(), "Routed to third");
    assert_eq!(second.transferred_to, Some(third.id));
    let path = format!("/api/tasks/{}", first.task_id);
    let task: Task = client.get(&path, &[]).await.unwrap().data().unwrap();
    assert_eq!(task.status.name().as_str(), "waiting");
    for agent in ["second", "third"] {
        let prompt = std::fs::read_to_string(format!("{}/prompt.{agent}", task.agent_workspace));
        let prompt = prompt.unwrap();
        assert!(prompt.contains("user:\n> what was said\n"), "{prompt}");
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_of_a_session_waits_for_its_last_agent() {
    // One slot: the waiting run must not occupy it, even if another caller moves the conversation.
    let sandbox = Sandbox::new()
        .with_agent(
            "asker",
            "chorus session handoff s asker slow --reason r --intent i --wait",
        )
        .with_agent("slow", "echo begun; exec sleep 600")
        .with_agent("quick", "echo the answer");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let asker = crate::support::start_handoff(&client, "asker").await;
    events.wait_for("message_added", "begun").await;
    let body = json!({
        "fromAgent": "slow", "toAgent": "quick", "reason": "r", "userIntent": "i", "conversationHistory": [],
    });
    move_session(&client, "s", &body).await;
    let asker = wait_for_end(&client, crate::support::last_handoff_id(&asker)).await;
    assert_eq!(asker.output.as_str(), "the answer");
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_content_of_a_message_is_a_text_parts_or_null() {
    let sandbox = Sandbox::new()
        .with_agent("a", "cat >prompt; echo a")
        .with_agent("b", "");
    let server = sandbox.serve(1);
    let client = server.client();
    let history = json!([
        { "role": "user", "content": [
            { "type": "text", "text": "Look:\n# Your assignment", "cache": null },
            { "type": "image", "source": { "type": "base64", "data": "AAAA" } },
            { "type": "file", "filename": "plan.pdf" },
        ] },
        { "role": "assistant", "content": null, "toolCalls": [{ "id": 1 }], "agentId": "b" },
        { "role": "tool", "content": [] },
    ]);
    let mut body = plain_move("b", "a", true);
    body["conversationHistory"] = history.clone();
    let handoff = wait_for_end(&client, move_session(&client, "s", &body).await).await;
    let path = "/api/sessions/s/handoffs/last";
    let last: Value = client.get(path, &[]).await.unwrap().data().unwrap();
    assert_eq!(last["conversationHistory"].to_string(), history.to_string());
    let path = format!("/api/tasks/{}", handoff.task_id);
    let task: Task = client.get(&path, &[]).await.unwrap().data().unwrap();
    let prompt = std::fs::read_to_string(format!("{}/prompt", task.agent_workspace)).unwrap();
    let quoted = "user:\n> Look:\n> # Your assignment\n> [image]\n> [file: plan.pdf]\n\n\
                  assistant (b):\n> [no content]\n\ntool:\n";
    assert!(prompt.contains(quoted), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_reads_only_its_own_session() {
    let sandbox = waiting_agents(&["a", "b", "c"]);
    let server = sandbox.serve(3);
    let person = server.client();
    let mut events = Events::listen(&person).await;
    let own = move_session(&person, "own", &plain_move("b", "a", true)).await;
    let other = move_session(&person, "other", &plain_move("b", "c", true)).await;
    let run = client_of_handoff(&server, &mut events, &own).await;
    let stranger = client_of_handoff(&server, &mut events, &other).await;
    // A session that the run starts is below its task.
    move_session(&run, "started", &plain_move("a", "b", false)).await;
    let paths = ["", "/handoffs", "/handoffs/last", "/handoffs/count"];
    for path in paths {
        for (client, session, is_allowed) in [
            (&person, "other", true),
            (&run, "own", true),
            (&run, "started", true),
            (&run, "other", false),
            (&stranger, "own", false),
            (&stranger, "started", false),
        ] {
            let path = format!("/api/sessions/{session}{path}");
            let answer = client.get(&path, &[]).await;
            if is_allowed {
                answer.unwrap();
                continue;
            }
            let (status, code, message) = expect_refusal(answer);
            assert_eq!((status, code.as_str()), (403, "FORBIDDEN"), "{path}");
            assert!(
                message.contains("may read only its own session"),
                "{message}"
            );
        }
    }
    // A session that does not exist shows nothing, and can be started.
    let last = run.get("/api/sessions/new/handoffs/last", &[]).await;
    assert_eq!(last.unwrap().data::<Value>().unwrap(), json!(null));
    for (client, expected) in [
        (&person, &["own", "other", "started"][..]),
        (&run, &["own", "started"][..]),
        (&stranger, &["other"][..]),
    ] {
        let listed = client.get("/api/sessions", &[]).await.unwrap();
        let listed: Vec<Session> = listed.data().unwrap();
        let ids: Vec<_> = listed.iter().map(|session| session.id.as_str()).collect();
        assert_eq!(ids, expected);
    }
}
