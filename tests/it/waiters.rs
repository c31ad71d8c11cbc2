//! Waiters cost nothing until their own task changes.

use std::sync::Arc;

use axum::http::StatusCode;
use chorus::config::Limits;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Reads, TestApp, count_reads};

/// Creates a task with an open hand-off, and returns its id.
async fn open_task(app: &TestApp) -> String {
    let task = app.task("a task").await;
    let body = json!({ "agentName": "developer", "prompt": "do it" });
    app.post(&format!("/api/tasks/{task}/handoff"), body)
        .await
        .data();
    task
}

async fn complete(app: &TestApp, task: &str, output: &str) {
    let path = format!("/api/tasks/{task}/handoff/complete");
    app.put(&path, json!({ "output": output })).await.data();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waiters_read_nothing_until_their_own_task_is_idle() {
    const TASKS: usize = 250;
    const WAITERS: usize = 10_000;
    let reads = Reads::default();
    let counted = reads.clone();
    let app = TestApp::with_database(Limits::default(), |database| {
        count_reads(&database, counted)
    })
    .await;
    let app = Arc::new(app);
    let wait = |task: &str| {
        let (app, path) = (
            app.clone(),
            format!("/api/tasks/{task}?wait=idle&timeout=600"),
        );
        tokio::spawn(async move { app.get(&path).await })
    };
    let tasks = join_all((0..TASKS).map(|_| open_task(&app))).await;
    let other = open_task(&app).await;
    let other_waiter = wait(&other);
    let waiters: Vec<_> = (0..WAITERS)
        .map(|number| wait(&tasks[number % TASKS]))
        .collect();
    // Each waiter reads once after it has registered.
    let mut counted = reads.subscribe();
    counted
        .wait_for(|reads| *reads == WAITERS + 1)
        .await
        .unwrap();
    assert_eq!(app.engine.feed().watched(), TASKS + 1);

    for _ in 0..20 {
        let unrelated = open_task(&app).await;
        complete(&app, &unrelated, "nobody waits for this").await;
    }
    assert_eq!(*reads.borrow(), WAITERS + 1);

    join_all(tasks.iter().map(|task| complete(&app, task, task))).await;
    for (number, waiter) in waiters.into_iter().enumerate() {
        let reply = waiter.await.unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        let task = reply.data();
        assert_eq!(task["currentAgent"], Value::Null);
        assert_eq!(task["agentChain"][0]["output"], tasks[number % TASKS]);
    }
    // Each waiter has read once more. A spurious wake-up would have caused a further read.
    assert_eq!(*reads.borrow(), 2 * WAITERS + 1);
    assert!(!other_waiter.is_finished());
    assert_eq!(app.engine.feed().watched(), 1);
    complete(&app, &other, "at last").await;
    let task = other_waiter.await.unwrap().data();
    assert_eq!(task["agentChain"][0]["output"], "at last");
    assert_eq!(app.engine.feed().watched(), 0);
}
