//! The server is killed at any moment, and no acknowledged call is lost.

use std::path::Path;

use chorus::client::{Client, ClientError};
use chorus::domain::{Handoff, Outcome, Task};
use futures_util::future::join_all;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::support::load::{self, Worker};
use crate::support::{Follower, Random, Server, env_number, invariants};

const WORKERS: usize = 12;

fn start(data_dir: &Path) -> Server {
    Server::start_with(data_dir, &["--log", "warn"])
}

/// Starts workers on a server. Each returns when the server is gone.
fn start_workers(
    workers: Vec<Worker>,
    client: &Client,
) -> (Vec<JoinHandle<Worker>>, mpsc::UnboundedReceiver<()>) {
    let (answered, answers) = mpsc::unbounded_channel();
    let running = workers.into_iter().map(|mut worker| {
        let (client, answered) = (client.clone(), answered.clone());
        tokio::spawn(async move {
            worker.work(&client, &answered).await;
            worker
        })
    });
    (running.collect(), answers)
}

async fn join_workers(running: Vec<JoinHandle<Worker>>) -> Vec<Worker> {
    let workers = join_all(running).await;
    workers.into_iter().map(Result::unwrap).collect()
}

fn event_numbers(data_dir: &Path) -> Vec<i64> {
    let connection = invariants::open(&data_dir.join("chorus.db"));
    let mut statement = connection
        .prepare("SELECT number FROM events ORDER BY number")
        .unwrap();
    let numbers = statement.query_map([], |row| row.get(0)).unwrap();
    numbers.map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_has_kept_every_acknowledged_call() {
    let mut random = Random::new();
    let folder = tempfile::tempdir().unwrap();
    let mut workers: Vec<_> = (0..WORKERS)
        .map(|name| Worker::new(name, random.fork()))
        .collect();
    let mut server = start(folder.path());
    let url = watch::Sender::new(server.url.clone());
    let mut follower = Follower::start(url.subscribe());
    for round in 0..env_number("CHORUS_CRASH_ROUNDS", 20) {
        let (running, mut answers) = start_workers(workers, &server.client());
        // Most rounds end in the middle of the work, some before the first answer.
        for _ in 0..random.below(120).saturating_sub(10) {
            answers.recv().await.unwrap();
        }
        server.kill();
        workers = join_workers(running).await;
        load::assert_durable(folder.path(), &workers, "nobody's");
        // The follower has received a prefix of the stored events.
        let numbers = event_numbers(folder.path());
        let seen = follower.seen(0).await;
        assert!(numbers.starts_with(&seen), "round {round}: {seen:?}");
        server = start(folder.path());
        url.send_replace(server.url.clone());
    }
    // Unanswered calls are repeated and answered.
    let (running, mut answers) = start_workers(workers, &server.client());
    for _ in 0..2 * WORKERS {
        answers.recv().await.unwrap();
    }
    assert!(server.stop().success());
    let workers = join_workers(running).await;
    load::assert_durable(folder.path(), &workers, "nobody's");
    let server = start(folder.path());
    url.send_replace(server.url.clone());
    let numbers = event_numbers(folder.path());
    assert_eq!(follower.seen(numbers.len()).await, numbers);
}

/// Creates a task with an open hand-off.
async fn open_task(client: &Client) -> Task {
    let body = json!({ "description": "a task" });
    let task = client.send_json(Method::POST, "/api/tasks", &body).await;
    let task: Task = task.unwrap().data().unwrap();
    let path = format!("/api/tasks/{}/handoff", task.id);
    let body = json!({ "agentName": "developer", "prompt": "do it" });
    let task = client.send_json(Method::POST, &path, &body).await;
    task.unwrap().data().unwrap()
}

/// Sends a long poll to the current server, and to the next one if that is killed.
fn long_poll<T: DeserializeOwned + Send + 'static>(
    path: String,
    parameters: &'static [(&'static str, &'static str)],
    mut url: watch::Receiver<String>,
) -> JoinHandle<T> {
    tokio::spawn(async move {
        loop {
            let client = Client::new(&url.borrow_and_update(), None).unwrap();
            let request = client.request(Method::GET, &path).query(parameters);
            match client.send(request).await {
                Ok(reply) => return reply.data().unwrap(),
                Err(ClientError::Unreachable { .. }) => url.changed().await.unwrap(),
                Err(error) => panic!("{error:?}"),
            }
        }
    })
}

/// Starts a long poll for a task and one for its hand-off, and returns when the server has registered both.
async fn start_waiters(
    client: &Client,
    task: &Task,
    url: &watch::Sender<String>,
) -> (JoinHandle<Task>, JoinHandle<Handoff>) {
    let handoff = &task.open_handoff().unwrap().id;
    let for_task = long_poll(
        format!("/api/tasks/{}", task.id),
        &[("wait", "idle"), ("timeout", "600")],
        url.subscribe(),
    );
    let for_handoff = long_poll(
        format!("/api/handoffs/{handoff}"),
        &[("wait", "600")],
        url.subscribe(),
    );
    loop {
        let metrics = client.request(Method::GET, "/metrics").send().await;
        let metrics = metrics.unwrap().text().await.unwrap();
        if metrics.lines().any(|line| line == "chorus_waiters 2") {
            return (for_task, for_handoff);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_reconnects_after_a_kill_and_gets_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let url = watch::Sender::new(server.url.clone());
    let task = open_task(&server.client()).await;
    let (for_task, for_handoff) = start_waiters(&server.client(), &task, &url).await;
    server.kill();

    let server = start(folder.path());
    url.send_replace(server.url.clone());
    let path = format!("/api/tasks/{}/handoff/complete", task.id);
    let body = json!({ "output": "after all" });
    let done = server.client().send_json(Method::PUT, &path, &body).await;
    let done: Task = done.unwrap().data().unwrap();
    assert_eq!(for_task.await.unwrap(), done);
    let handoff = for_handoff.await.unwrap();
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    assert_eq!(handoff.output.as_str(), "after all");
    server.kill();
    invariants::assert_hold(&folder.path().join("chorus.db"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_answers_all_callers_first() {
    let mut random = Random::new();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let client = server.client();
    let url = watch::Sender::new(server.url.clone());
    let task = open_task(&client).await;
    let mut events = client
        .request(Method::GET, "/api/events")
        .send()
        .await
        .unwrap();
    let (for_task, for_handoff) = start_waiters(&client, &task, &url).await;
    // There is no further server: a call that is cut off fails.
    drop(url);
    let workers = (0..WORKERS).map(|name| Worker::new(name, random.fork()));
    let (running, mut answers) = start_workers(workers.collect(), &client);
    for _ in 0..50 {
        answers.recv().await.unwrap();
    }
    let stopped = tokio::task::spawn_blocking(|| server.stop());
    // Streams end normally, and waiters get the current state.
    while events.chunk().await.unwrap().is_some() {}
    assert_eq!(for_task.await.unwrap(), task);
    assert_eq!(for_handoff.await.unwrap().outcome, None);
    assert_eq!(stopped.await.unwrap().code(), Some(0));
    let workers = join_workers(running).await;
    load::assert_durable(folder.path(), &workers, "a task");
}
