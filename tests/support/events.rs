//! The event stream of a server.

use chorus::client::Client;
use reqwest::Method;
use serde_json::Value;

use super::sandbox::TIMEOUT;

/// The stream of all events, read as they arrive.
pub struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Events {
    /// Starts with the first event of the ledger.
    pub async fn listen(client: &Client) -> Self {
        let request = client.request(Method::GET, "/api/events");
        let response = request.query(&[("after", 0)]).send().await.unwrap();
        Self {
            response,
            buffer: Vec::new(),
        }
    }

    /// Waits for the next event. `None` means that the server is gone.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                let block = String::from_utf8(block).unwrap();
                let data = block.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data {
                    return Some(serde_json::from_str(data).unwrap());
                }
                continue;
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await;
            let chunk = chunk.expect("no event arrived in time").ok()??;
            self.buffer.extend_from_slice(&chunk);
        }
    }

    /// Waits for an event of a type whose data contain a text.
    pub async fn wait_for(&mut self, event_type: &str, text: &str) -> Value {
        let matches = |event: &Value| event["data"].to_string().contains(text);
        self.wait_for_match(event_type, text, matches).await
    }

    /// Waits for an event of a task.
    pub async fn wait_for_on(&mut self, task: &str, event_type: &str, text: &str) -> Value {
        let matches =
            |event: &Value| event["taskId"] == task && event["data"].to_string().contains(text);
        self.wait_for_match(event_type, text, matches).await
    }

    async fn wait_for_match(
        &mut self,
        event_type: &str,
        text: &str,
        matches: impl Fn(&Value) -> bool,
    ) -> Value {
        let found = async {
            loop {
                let event = self.next().await.expect("the server is gone");
                if event["eventType"] == event_type && matches(&event) {
                    return event;
                }
            }
        };
        // The stream has keep-alive comments, so the timeout of a chunk is not enough.
        let found = tokio::time::timeout(TIMEOUT, found).await;
        found.unwrap_or_else(|_| panic!("no event {event_type} with {text:?} arrived in time"))
    }
}
