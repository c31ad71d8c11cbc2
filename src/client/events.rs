//! The stream of events.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::Method;

use super::{Client, ClientError};
use crate::domain::Event;

/// The events from now on.
pub struct Events {
    pieces: Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>> + Send>>,
    unread: Vec<u8>,
}

impl Client {
    pub async fn events(&self) -> Result<Events, ClientError> {
        let request = self.at(Method::GET, &["events"])?;
        Ok(Events {
            pieces: Box::pin(self.stream(request).await?),
            unread: Vec::new(),
        })
    }
}

impl Events {
    /// Returns nothing once the server has gone.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                if let Some(event) = read(&block) {
                    return Some(event);
                }
            }
            let piece = self.pieces.next().await?.ok()?;
            self.unread.extend_from_slice(&piece);
        }
    }
}

/// Reads one block. A comment that keeps the stream alive is not an event.
fn read(block: &[u8]) -> Option<Event> {
    let text = String::from_utf8_lossy(block);
    let data = text.lines().find_map(|line| line.strip_prefix("data:"))?;
    serde_json::from_str(data.trim()).ok()
}
