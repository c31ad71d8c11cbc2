//! `/api/tasks/{id}/chat`, and taking messages back

use axum::http::Method;
use chorus::domain::{Outcome, RunIdentity};
use chorus::ledger::task;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::requests::Requests;
use crate::support::{Reply, TestApp};

async fn chat(app: &TestApp, task: &str, body: Value) -> Reply {
    app.post(&format!("/api/tasks/{task}/chat"), body).await
}

async fn say(app: &TestApp, task: &str, content: &str) -> Reply {
    let reply = chat(app, task, json!({ "content": content })).await;
    reply.data();
    reply
}

async fn take_back(app: &TestApp, task: &str, message: &str) -> Reply {
    let path = format!("/api/tasks/{task}/queue/{message}");
    app.request(Method::DELETE, &path, "").await
}

/// Claims the queued run of a task, as the scheduler does.
async fn claim(app: &TestApp, task: &str) -> RunIdentity {
    let id = task.parse().unwrap();
    let found = app.read(move |view| task::get(view, &id)).await;
    Requests(&app.db).claim_run(&found).await
}

async fn end(app: &TestApp, run: &RunIdentity, outcome: Outcome) {
    Requests(&app.db)
        .end_run(run, outcome, "I have looked")
        .await;
}

/// Creates a task on which an agent works.
async fn working(app: &TestApp) -> (String, RunIdentity) {
    let task = app.task("Write it").await;
    let body = json!({ "content": "Begin", "agentName": "developer" });
    let reply = chat(app, &task, body).await;
    assert_eq!(reply.status, 201);
    let run = claim(app, &task).await;
    (task, run)
}

/// Returns the prompts of a task's hand-offs, oldest first.
async fn prompts(app: &TestApp, task: &str) -> Vec<String> {
    let handoffs = app.get(&format!("/api/tasks/{task}/handoffs")).await.data();
    let handoffs = handoffs.as_array().unwrap().iter();
    handoffs
        .map(|one| one["prompt"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the contents of the messages that wait on a task.
async fn waiting(app: &TestApp, task: &str) -> Vec<String> {
    let queue = app.get(&format!("/api/tasks/{task}/queue")).await.data();
    let messages = queue["messages"].as_array().unwrap().iter();
    let waiting = messages.filter(|message| message["deliveredAt"].is_null());
    waiting
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

async fn conversation(app: &TestApp, task: &str) -> Vec<String> {
    let messages = app
        .get(&format!("/api/tasks/{task}/conversation"))
        .await
        .data();
    let messages = messages.as_array().unwrap().iter();
    messages
        .map(|one| {
            format!(
                "{}: {}",
                one["type"].as_str().unwrap(),
                one["content"].as_str().unwrap()
            )
        })
        .collect()
}

#[tokio::test]
async fn the_first_message_starts_a_handoff_to_the_named_agent() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let reply = chat(
        &app,
        &task,
        json!({ "content": "Hello", "agentName": "Developer" }),
    )
    .await;
    assert_eq!(reply.status, 201);
    let data = reply.data();
    assert_eq!(
        pick(
            &data["handoff"],
            &[
                "taskId",
                "agentName",
                "fromAgent",
                "mode",
                "prompt",
                "outcome"
            ]
        ),
        json!({ "taskId": task, "agentName": "developer", "fromAgent": null, "mode": "delegate", "prompt": "Hello", "outcome": null })
    );
    assert_eq!(
        pick(&data["task"], &["id", "currentAgent"]),
        json!({ "id": task, "currentAgent": "developer" })
    );
    assert_eq!(data.get("queued"), None);
    assert_eq!(conversation(&app, &task).await, ["user_message: Hello"]);
    assert_eq!(waiting(&app, &task).await, [""; 0]);
    app.assert_invariants();
}

#[tokio::test]
async fn messages_wait_while_an_agent_works_and_are_sent_as_one_prompt() {
    let app = TestApp::new().await;
    let (task, run) = working(&app).await;
    let reply = say(&app, &task, "one").await;
    assert_eq!(reply.status, 202);
    assert_eq!(
        pick(
            &reply.data()["queued"],
            &["content", "deliveredAt", "startsHandoff"]
        ),
        json!({ "content": "one", "deliveredAt": null, "startsHandoff": true })
    );
    assert_eq!(reply.data()["task"]["id"], task);
    assert_eq!(reply.data().get("handoff"), None);
    app.clock.advance(5);
    say(&app, &task, " two\nlines ").await;
    // A note for the next agent is no chat.
    app.post(
        &format!("/api/tasks/{task}/queue"),
        json!({ "content": "a note" }),
    )
    .await
    .data();
    assert_eq!(
        waiting(&app, &task).await,
        ["one", " two\nlines ", "a note"]
    );
    end(&app, &run, Outcome::Completed).await;
    assert_eq!(prompts(&app, &task).await, ["Begin", "one\n\ntwo\nlines"]);
    assert_eq!(waiting(&app, &task).await, ["a note"]);
    let shown = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(shown["currentAgent"], "developer");
    let run = claim(&app, &task).await;
    end(&app, &run, Outcome::Completed).await;
    assert_eq!(
        prompts(&app, &task).await.len(),
        2,
        "each message is sent once, and a note starts nothing"
    );
    app.assert_invariants();
}

#[tokio::test]
async fn after_a_failure_messages_wait_for_the_person() {
    for (outcome, why) in [
        (Outcome::Failed, "has failed"),
        (Outcome::TimedOut, "has timed out"),
        (Outcome::Cancelled, "was cancelled"),
        (Outcome::Interrupted, "was interrupted"),
    ] {
        let app = TestApp::new().await;
        let (task, run) = working(&app).await;
        say(&app, &task, "one").await;
        say(&app, &task, "two").await;
        app.clock.advance(5);
        end(&app, &run, outcome).await;
        assert_eq!(waiting(&app, &task).await, ["one", "two"]);
        assert_eq!(
            conversation(&app, &task).await.last().unwrap(),
            &format!(
                "status_change: 2 messages stay queued: the hand-off {why}. Send a message to continue, or take the queued ones back"
            )
        );
        app.clock.advance(5);
        let reply = say(&app, &task, "three").await;
        assert_eq!(reply.status, 201);
        assert_eq!(prompts(&app, &task).await, ["Begin", "one\n\ntwo\n\nthree"]);
        app.assert_invariants();
    }
}

#[tokio::test]
async fn waiting_messages_are_sent_without_a_new_one() {
    let app = TestApp::new().await;
    let (task, run) = working(&app).await;
    assert_snapshot!(chat(&app, &task, json!({})).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"content: must not be empty, because no message waits"}}"#);
    say(&app, &task, "one").await;
    end(&app, &run, Outcome::Failed).await;
    assert_eq!(
        chat(&app, &task, json!({ "agentName": "qa" })).await.status,
        201
    );
    assert_eq!(prompts(&app, &task).await, ["Begin", "one"]);
    let shown = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(shown["currentAgent"], "qa");
}

#[tokio::test]
async fn messages_wait_if_the_agent_is_not_available_any_more() {
    let app = TestApp::new().await;
    let (task, run) = working(&app).await;
    say(&app, &task, "one").await;
    app.operator()
        .patch("/api/agents/developer", json!({ "available": false }))
        .await
        .data();
    end(&app, &run, Outcome::Completed).await;
    assert_eq!(waiting(&app, &task).await, ["one"]);
    let said = conversation(&app, &task).await;
    assert!(
        said.last()
            .unwrap()
            .starts_with("status_change: 1 message stays queued: Agent"),
        "{said:?}"
    );
    assert_snapshot!(say_refused(&app, &task).await, @r#"409 {"error":{"code":"CONFLICT","message":"Agent not available: developer. Make it available with `chorus agent edit developer --available true`, or choose another agent"}}"#);
    app.assert_invariants();
}

async fn say_refused(app: &TestApp, task: &str) -> String {
    chat(app, task, json!({ "content": "Hello" })).await.line()
}

#[tokio::test]
async fn a_message_follows_control_to_the_task_of_a_transfer() {
    let app = TestApp::new().await;
    Requests(&app.db).create_tool("to_qa", "qa").await;
    let (task, run) = working(&app).await;
    say(&app, &task, "before").await;
    let id = task.parse().unwrap();
    let child = Requests(&app.db)
        .transfer(&id, "to_qa", Some(run))
        .await
        .id
        .to_string();
    assert_eq!(waiting(&app, &task).await, [""; 0]);
    assert_eq!(waiting(&app, &child).await, ["before"]);
    let reply = say(&app, &task, "after").await;
    assert_eq!(
        (reply.status.as_u16(), &reply.data()["task"]["id"]),
        (202, &json!(child))
    );
    assert_eq!(waiting(&app, &child).await, ["before", "after"]);
    app.assert_invariants();
    // The message is found under the task from which it moved, too.
    let queue = app.get(&format!("/api/tasks/{child}/queue")).await.data();
    let message = queue["messages"][0]["id"].as_str().unwrap();
    assert_eq!(take_back(&app, &task, message).await.status, 200);
    let run = claim(&app, &child).await;
    end(&app, &run, Outcome::Completed).await;
    assert_eq!(prompts(&app, &child).await.last().unwrap(), "after");
    let run = claim(&app, &child).await;
    end(&app, &run, Outcome::Completed).await;
    let reply = say(&app, &task, "again").await;
    assert_eq!(
        (reply.status.as_u16(), &reply.data()["handoff"]["taskId"]),
        (201, &json!(child))
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_message_is_taken_back_until_an_agent_has_it() {
    let app = TestApp::new().await;
    let (task, run) = working(&app).await;
    let queued = |reply: Reply| reply.data()["queued"]["id"].as_str().unwrap().to_owned();
    let (one, two) = (
        queued(say(&app, &task, "one").await),
        queued(say(&app, &task, "two").await),
    );
    let taken = take_back(&app, &task, &one).await;
    assert_eq!(
        (taken.status.as_u16(), &taken.data()["content"]),
        (200, &json!("one"))
    );
    assert_snapshot!(take_back(&app, &task, &one).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Queued message not found: <id 1>"}}"#);
    let other = app.task("Another").await;
    assert_eq!(
        take_back(&app, &other, &two).await.status,
        404,
        "a message of another family"
    );
    assert_eq!(take_back(&app, &task, "../x").await.status, 404);
    let note = app
        .post(
            &format!("/api/tasks/{task}/queue"),
            json!({ "content": "a note" }),
        )
        .await
        .data();
    assert_eq!(
        take_back(&app, &task, note["id"].as_str().unwrap())
            .await
            .status,
        200
    );
    end(&app, &run, Outcome::Completed).await;
    assert_eq!(prompts(&app, &task).await, ["Begin", "two"]);
    assert_snapshot!(take_back(&app, &task, &two).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Message <id 1> cannot be taken back: an agent has it already. Send another message instead"}}"#);
    app.assert_invariants();
}

#[tokio::test]
async fn a_repeated_message_with_a_key_is_sent_once() {
    let app = TestApp::new().await;
    let (task, run) = working(&app).await;
    let send = async || {
        let request = axum::http::Request::post(format!("/api/tasks/{task}/chat"))
            .header("host", "localhost")
            .header("idempotency-key", "k1");
        app.send(
            request
                .body(json!({ "content": "once" }).to_string().into())
                .unwrap(),
        )
        .await
    };
    let first = send().await;
    assert_eq!(
        (first.status.as_u16(), send().await.data()),
        (202, first.data())
    );
    assert_eq!(waiting(&app, &task).await, ["once"]);
    end(&app, &run, Outcome::Completed).await;
    assert_eq!(
        send().await.data(),
        first.data(),
        "the answer stays as it was"
    );
    assert_eq!(prompts(&app, &task).await, ["Begin", "once"]);
}

#[tokio::test]
async fn bad_messages_are_refused_and_leave_nothing() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let before = app.last_event().await;
    let refused = async |task: &str, body: Value| chat(&app, task, body).await.line();
    assert_snapshot!(refused(&task, json!({ "content": "Hello" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentName: no agent has worked on task <id 1> yet; name the agent for the first message"}}"#);
    assert_snapshot!(refused(&task, json!({ "content": " \n", "agentName": "developer" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"content: must not be empty, because no message waits"}}"#);
    assert_snapshot!(refused(&task, json!({ "content": "Hello", "agentName": "nobody" })).await, @r#"400 {"error":{"code":"UNKNOWN_AGENT","message":"Unknown agent: nobody","details":{"agents":["developer","developer-review","orchestrator","planner","qa"]}}}"#);
    assert_snapshot!(refused(&task, json!({ "content": ["Hello"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"content: invalid type: sequence, expected a string"}}"#);
    assert_snapshot!(refused(&task, json!({ "content": "Hello", "to": "qa" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"to: unknown field `to`, expected `content` or `agentName`"}}"#);
    assert_snapshot!(refused("nope", json!({ "content": "Hello" })).await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: nope"}}"#);
    let huge = chat(
        &app,
        &task,
        json!({ "content": "x".repeat(1_048_577), "agentName": "qa" }),
    )
    .await;
    assert_eq!(huge.status, 413);
    assert_eq!(app.last_event().await, before);
    let (task, _) = working(&app).await;
    assert_snapshot!(refused(&task, json!({ "content": "Hello", "agentName": "qa" })).await, @r#"409 {"error":{"code":"CONFLICT","message":"Agent already active on task: developer"}}"#);
    assert_eq!(
        chat(
            &app,
            &task,
            json!({ "content": "Hello", "agentName": "developer" })
        )
        .await
        .status,
        202
    );
}
