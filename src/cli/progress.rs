//! Shows what an agent does while somebody waits for it.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::Method;
use tokio::sync::watch;

use super::ui::{Ui, one_line};
use crate::client::{Client, ClientError};
use crate::domain::{Event, HandoffId};

/// How much of what an agent says is shown.
const SHOWN: usize = 200;

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>>>>;

/// Lines on standard error, if that is a terminal.
pub(super) struct Progress {
    ui: Ui,
    events: Option<Pieces>,
}

impl Progress {
    /// Shows nothing.
    pub const fn none(ui: Ui) -> Self {
        Self { ui, events: None }
    }

    /// Begins to listen, before anything has happened.
    pub async fn begin(ui: Ui, client: &Client) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::none(ui);
        }
        let events = client
            .stream(client.request(Method::GET, "/api/events"))
            .await;
        Self {
            ui,
            events: events.ok().map(|events| Box::pin(events) as Pieces),
        }
    }

    /// Shows what happens on the hand-off that is waited for, until whoever waits stops it. Without a stream nothing is
    /// shown.
    pub async fn show(self, current: &watch::Sender<HandoffId>) -> ! {
        if let Some(mut events) = self.events {
            let mut unread = Vec::new();
            while let Some(Ok(piece)) = events.next().await {
                unread.extend_from_slice(&piece);
                while let Some(end) = unread.windows(2).position(|two| two == b"\n\n") {
                    let block: Vec<u8> = unread.drain(..end + 2).collect();
                    let line = line(&block, &current.borrow());
                    if let Some(line) = line {
                        self.ui.notice(line);
                    }
                }
            }
        }
        match std::future::pending::<Infallible>().await {}
    }
}

/// Writes what one event says of a hand-off.
fn line(block: &[u8], handoff: &HandoffId) -> Option<String> {
    let text = String::from_utf8_lossy(block);
    let data = text.lines().find_map(|line| line.strip_prefix("data:"))?;
    let event: Event = serde_json::from_str(data.trim()).ok()?;
    if event.handoff_id.as_ref() != Some(handoff) || event.event_type.as_str() != "message_added" {
        return None;
    }
    let content = event.data.get("content")?.beginning(SHOWN);
    let kind = event.data.get("type")?;
    Some(format!(
        "  {:<18} {}",
        kind.as_str(),
        one_line(content.as_str())
    ))
}
