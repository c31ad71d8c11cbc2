//! Concurrent callers over HTTP: one wins, and the others are refused.

use std::sync::Arc;

use chorus::client::{Client, ClientError};
use chorus::domain::{Outcome, Task};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Barrier;

use crate::support::{Server, invariants};

const CALLERS: usize = 200;

/// A task, or the status, code and message of a refusal.
type Answer = Result<Task, (u16, String, String)>;

/// A server with an empty ledger, and a client.
struct Fixture {
    server: Server,
    client: Client,
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start_with(folder.path(), &["--log", "warn"]);
        let client = server.client();
        Self {
            server,
            client,
            folder,
        }
    }

    async fn create_task(&self) -> Task {
        let body = json!({ "description": "a task" });
        send(&self.client, Method::POST, "/api/tasks", body, None)
            .await
            .unwrap()
    }

    /// Sends a request from every caller at the same moment. `body` gets the caller's number.
    async fn send_concurrently(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: impl Fn(usize) -> Value,
    ) -> Vec<Answer> {
        let start = Arc::new(Barrier::new(CALLERS));
        let callers = (0..CALLERS).map(|number| {
            let (client, start, body) = (self.client.clone(), start.clone(), body(number));
            let (method, path) = (method.clone(), path.to_owned());
            let key = key.map(str::to_owned);
            tokio::spawn(async move {
                start.wait().await;
                send(&client, method, &path, body, key).await
            })
        });
        let answers = join_all(callers).await;
        answers.into_iter().map(Result::unwrap).collect()
    }

    fn stop_and_assert_invariants(self) {
        assert!(self.server.stop().success());
        let database = self.folder.path().join("chorus.db");
        invariants::assert_hold(&database);
    }
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    body: Value,
    key: Option<String>,
) -> Answer {
    let mut request = client.request(method, path).json(&body);
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    match client.send(request).await {
        Ok(reply) => Ok(reply.data().unwrap()),
        Err(ClientError::Refused { status, error }) => {
            Err((status.as_u16(), error.code, error.message))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns the only success. All others must be conflicts with an expected message.
fn expect_one_winner(answers: Vec<Answer>, is_expected: impl Fn(&str) -> bool) -> Task {
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    for refusal in &lost {
        let (status, code, message) = refusal.as_ref().unwrap_err();
        assert_eq!((*status, code.as_str()), (409, "CONFLICT"));
        assert!(is_expected(message), "{message}");
    }
    assert_eq!((won.len(), lost.len()), (1, CALLERS - 1));
    won.into_iter().next().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_callers_starts_a_handoff_and_one_completes_it() {
    let fixture = Fixture::new();
    let task = fixture.create_task().await;
    let path = format!("/api/tasks/{}/handoff", task.id);
    let agents = ["developer", "qa", "planner"];
    let start = |number: usize| json!({ "agentName": agents[number % 3], "prompt": format!("prompt {number}") });
    let answers = fixture
        .send_concurrently(Method::POST, &path, None, start)
        .await;
    let started = agents.map(|agent| format!("Agent already active on task: {agent}"));
    let mut seen = std::collections::BTreeSet::new();
    for (_, _, message) in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        seen.insert(message.clone());
    }
    let task = expect_one_winner(answers, |message| started.contains(&message.to_owned()));
    let current = task.current_agent().unwrap();
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [format!("Agent already active on task: {current}")],
        "every refusal names the winner"
    );
    assert_eq!(task.agent_chain().len(), 1);

    let path = format!("{path}/complete");
    let complete = |number: usize| json!({ "output": format!("output {number}") });
    let answers = fixture
        .send_concurrently(Method::PUT, &path, None, complete)
        .await;
    let won = expect_one_winner(answers, |message| message.contains("has ended"));
    assert_eq!(
        won.agent_chain()[0].end.as_ref().unwrap().outcome,
        Outcome::Completed
    );
    let path = format!("/api/tasks/{}", task.id);
    let stored: Task = fixture
        .client
        .get(&path, &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(stored, won);
    fixture.stop_and_assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_with_the_same_idempotency_key_get_the_same_answer() {
    let fixture = Fixture::new();
    let create = |_| json!({ "description": "once" });
    let answers = fixture
        .send_concurrently(Method::POST, "/api/tasks", Some("create"), create)
        .await;
    let task = answers[0].clone().unwrap();
    assert!(answers.iter().all(|answer| answer.as_ref() == Ok(&task)));
    let tasks: Vec<Task> = fixture
        .client
        .get("/api/tasks", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(tasks, std::slice::from_ref(&task));

    let path = format!("/api/tasks/{}/handoff", task.id);
    let start = |_| json!({ "agentName": "developer", "prompt": "once" });
    let answers = fixture
        .send_concurrently(Method::POST, &path, Some("start"), start)
        .await;
    let started = answers[0].clone().unwrap();
    assert_eq!(started.agent_chain().len(), 1);
    assert!(answers.iter().all(|answer| answer.as_ref() == Ok(&started)));

    let other = |number| json!({ "agentName": "developer", "prompt": format!("other {number}") });
    let answers = fixture
        .send_concurrently(Method::POST, &path, Some("start"), other)
        .await;
    for refusal in answers {
        let (status, code, message) = refusal.unwrap_err();
        assert_eq!((status, code.as_str()), (409, "CONFLICT"));
        assert!(message.contains("Idempotency-Key"), "{message}");
    }
    fixture.stop_and_assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_on_separate_tasks_do_not_affect_each_other() {
    let fixture = Fixture::new();
    let callers = (0..CALLERS).map(|number| {
        let client = fixture.client.clone();
        tokio::spawn(async move {
            let body = json!({ "description": format!("task {number}") });
            let task = send(&client, Method::POST, "/api/tasks", body, None)
                .await
                .unwrap();
            let path = format!("/api/tasks/{}/handoff", task.id);
            let body = json!({ "agentName": "developer", "prompt": format!("prompt {number}") });
            send(&client, Method::POST, &path, body, None)
                .await
                .unwrap();
            let body = json!({ "output": format!("output {number}") });
            send(
                &client,
                Method::PUT,
                &format!("{path}/complete"),
                body,
                None,
            )
            .await
            .unwrap()
        })
    });
    let mut done: Vec<Task> = join_all(callers)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let limit = [("limit", "1000".to_owned())];
    let mut stored: Vec<Task> = fixture
        .client
        .get("/api/tasks", &limit)
        .await
        .unwrap()
        .data()
        .unwrap();
    done.sort_by(|one, other| one.id.cmp(&other.id));
    stored.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(stored, done);
    for task in &done {
        let number = task.description.as_str().strip_prefix("task ").unwrap();
        let output = &task.agent_chain()[0].end.as_ref().unwrap().output;
        assert_eq!(output.as_str(), format!("output {number}"));
    }
    fixture.stop_and_assert_invariants();
}
