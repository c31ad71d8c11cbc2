//! A client that follows all events across restarts of the server.

use std::time::Duration;

use chorus::client::Client;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a test waits for an event before it fails instead of hanging.
const TIMEOUT: Duration = Duration::from_mins(2);

/// A client that follows all events and reconnects when its stream is cut.
pub struct Follower {
    seen: watch::Receiver<Vec<i64>>,
    task: JoinHandle<()>,
}

impl Follower {
    /// Follows all events from the first one. `url` is the address of the current server.
    pub fn start(mut url: watch::Receiver<String>) -> Self {
        let (sender, seen) = watch::channel(Vec::new());
        let task = tokio::spawn(async move {
            loop {
                let client = Client::new(&url.borrow_and_update(), None).unwrap();
                follow(&client, &sender).await;
                if url.changed().await.is_err() {
                    return;
                }
            }
        });
        Self { seen, task }
    }

    /// Waits for at least `count` events, and returns the numbers of all received events in order.
    pub async fn seen(&mut self, count: usize) -> Vec<i64> {
        let seen = self.seen.wait_for(|seen| seen.len() >= count);
        let seen = tokio::time::timeout(TIMEOUT, seen).await;
        let seen = seen.expect("an event was lost");
        seen.expect("the follower runs until it is dropped").clone()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(client: &Client, seen: &watch::Sender<Vec<i64>>) {
    let last = seen.borrow().last().copied();
    let request = client.request(Method::GET, "/api/events");
    let request = match last {
        None => request.query(&[("after", 0)]),
        Some(last) => request.header("last-event-id", last),
    };
    // The server is gone. The next one has another address.
    let Ok(mut response) = request.send().await else {
        return;
    };
    assert!(response.status().is_success(), "{}", response.status());
    let mut buffer = String::new();
    let mut is_first = true;
    while let Some(block) = next_block(&mut response, &mut buffer).await {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        // A block without an id is a comment that keeps the connection alive.
        let Some(id) = field("id: ").map(|id| id.parse::<i64>().unwrap()) else {
            continue;
        };
        let Some(data) = field("data: ") else {
            assert!(is_first, "only the first block has an id and no event");
            assert_eq!(
                id,
                last.unwrap_or(0),
                "the stream resumes after the last event"
            );
            is_first = false;
            continue;
        };
        let event: Value = serde_json::from_str(data).unwrap();
        assert_eq!(event["number"], id);
        assert!(event["taskId"].is_string());
        seen.send_modify(|seen| seen.push(id));
    }
}

/// Reads a block of a stream; `None` if the stream was cut or has ended.
async fn next_block(response: &mut Response, buffer: &mut String) -> Option<String> {
    loop {
        if let Some((block, rest)) = buffer.split_once("\n\n") {
            let (block, rest) = (block.to_owned(), rest.to_owned());
            *buffer = rest;
            return Some(block);
        }
        let chunk = response.chunk().await.ok()??;
        buffer.push_str(std::str::from_utf8(&chunk).expect("these events are ASCII"));
    }
}
