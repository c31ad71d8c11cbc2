//! The stream of events, read as they come.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::Method;

use crate::client::{Client, ClientError};
use crate::domain::Event;

/// What happens from now on.
pub(super) struct Events {
    pieces: Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>>>>,
    unread: Vec<u8>,
}

impl Events {
    /// Begins to listen.
    pub async fn listen(client: &Client) -> Result<Self, ClientError> {
        let request = client.request(Method::GET, "/api/events");
        Ok(Self {
            pieces: Box::pin(client.stream(request).await?),
            unread: Vec::new(),
        })
    }

    /// Waits for the next event; none if the server has gone.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                if let Some(event) = event(&block) {
                    return Some(event);
                }
            }
            let piece = self.pieces.next().await?.ok()?;
            self.unread.extend_from_slice(&piece);
        }
    }
}

/// Reads one block; what only shows that the stream lives is no event.
fn event(block: &[u8]) -> Option<Event> {
    let text = String::from_utf8_lossy(block);
    let data = text.lines().find_map(|line| line.strip_prefix("data:"))?;
    serde_json::from_str(data.trim()).ok()
}
