//! Many callers at once over HTTP: one wins, and all are told.

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

/// What a caller got: a task, or the status and message of a refusal.
type Got = Result<Task, (u16, String, String)>;

/// A server with an empty ledger, and a client of it.
struct Setting {
    server: Server,
    client: Client,
    folder: TempDir,
}

impl Setting {
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

    async fn task(&self) -> Task {
        let body = json!({ "description": "a task" });
        send(&self.client, Method::POST, "/api/tasks", body, None)
            .await
            .unwrap()
    }

    /// Sends a request from each of many callers at the same moment. The caller's number makes its body.
    async fn all_at_once(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: impl Fn(usize) -> Value,
    ) -> Vec<Got> {
        let begin = Arc::new(Barrier::new(CALLERS));
        let callers = (0..CALLERS).map(|number| {
            let (client, begin, body) = (self.client.clone(), begin.clone(), body(number));
            let (method, path) = (method.clone(), path.to_owned());
            let key = key.map(str::to_owned);
            tokio::spawn(async move {
                begin.wait().await;
                send(&client, method, &path, body, key).await
            })
        });
        let got = join_all(callers).await;
        got.into_iter().map(Result::unwrap).collect()
    }

    /// Stops the server and looks at what it left.
    fn check(self) {
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
) -> Got {
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

/// Takes the one success; the others are refusals with this status and code, and a message that passes the test.
fn the_winner(got: Vec<Got>, is_expected: impl Fn(&str) -> bool) -> Task {
    let (won, lost): (Vec<_>, Vec<_>) = got.into_iter().partition(Result::is_ok);
    for refusal in &lost {
        let (status, code, message) = refusal.as_ref().unwrap_err();
        assert_eq!((*status, code.as_str()), (409, "CONFLICT"));
        assert!(is_expected(message), "{message}");
    }
    assert_eq!((won.len(), lost.len()), (1, CALLERS - 1));
    won.into_iter().next().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_start_a_handoff_one_wins_and_of_many_who_complete_it_one_wins() {
    let setting = Setting::new();
    let task = setting.task().await;
    let path = format!("/api/tasks/{}/handoff", task.id);
    let agents = ["developer", "qa", "planner"];
    let start = |number: usize| json!({ "agentName": agents[number % 3], "prompt": format!("prompt {number}") });
    let got = setting.all_at_once(Method::POST, &path, None, start).await;
    let started = agents.map(|agent| format!("Agent already active on task: {agent}"));
    let mut seen = std::collections::BTreeSet::new();
    for (_, _, message) in got.iter().filter_map(|got| got.as_ref().err()) {
        seen.insert(message.clone());
    }
    let task = the_winner(got, |message| started.contains(&message.to_owned()));
    let current = task.current_agent().unwrap();
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [format!("Agent already active on task: {current}")],
        "all are told who won"
    );
    assert_eq!(task.agent_chain().len(), 1);

    let path = format!("{path}/complete");
    let complete = |number: usize| json!({ "output": format!("output {number}") });
    let got = setting
        .all_at_once(Method::PUT, &path, None, complete)
        .await;
    let won = the_winner(got, |message| message.contains("has already ended"));
    assert_eq!(
        won.agent_chain()[0].end.as_ref().unwrap().outcome,
        Outcome::Completed
    );
    let path = format!("/api/tasks/{}", task.id);
    let there: Task = setting
        .client
        .get(&path, &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(there, won);
    setting.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_with_the_same_key_get_the_same_answer_and_it_happens_once() {
    let setting = Setting::new();
    let create = |_| json!({ "description": "once" });
    let got = setting
        .all_at_once(Method::POST, "/api/tasks", Some("create"), create)
        .await;
    let task = got[0].clone().unwrap();
    assert!(got.iter().all(|got| got.as_ref() == Ok(&task)));
    let tasks: Vec<Task> = setting
        .client
        .get("/api/tasks", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(tasks, std::slice::from_ref(&task));

    let path = format!("/api/tasks/{}/handoff", task.id);
    let start = |_| json!({ "agentName": "developer", "prompt": "once" });
    let got = setting
        .all_at_once(Method::POST, &path, Some("start"), start)
        .await;
    let started = got[0].clone().unwrap();
    assert_eq!(started.agent_chain().len(), 1);
    assert!(got.iter().all(|got| got.as_ref() == Ok(&started)));

    let other = |number| json!({ "agentName": "developer", "prompt": format!("other {number}") });
    let got = setting
        .all_at_once(Method::POST, &path, Some("start"), other)
        .await;
    for refusal in got {
        let (status, code, message) = refusal.unwrap_err();
        assert_eq!((status, code.as_str()), (409, "CONFLICT"));
        assert!(message.contains("Idempotency-Key"), "{message}");
    }
    setting.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_work_on_tasks_of_their_own_do_not_disturb_each_other() {
    let setting = Setting::new();
    let callers = (0..CALLERS).map(|number| {
        let client = setting.client.clone();
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
    let mut there: Vec<Task> = setting
        .client
        .get("/api/tasks", &limit)
        .await
        .unwrap()
        .data()
        .unwrap();
    done.sort_by(|one, other| one.id.cmp(&other.id));
    there.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(there, done);
    for task in &done {
        let number = task.description.as_str().strip_prefix("task ").unwrap();
        let output = &task.agent_chain()[0].end.as_ref().unwrap().output;
        assert_eq!(output.as_str(), format!("output {number}"));
    }
    setting.check();
}
