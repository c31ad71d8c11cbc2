//! Shows what an agent does while somebody waits for it.

use std::convert::Infallible;
use std::io::IsTerminal;

use tokio::sync::watch;

use super::ui::{Ui, one_line};
use crate::client::{Client, Events};
use crate::domain::{Event, HandoffId};

/// How much of what an agent says is shown.
const SHOWN: usize = 200;

/// Lines on standard error, if that is a terminal.
pub(super) struct Progress {
    ui: Ui,
    events: Option<Events>,
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
        let events = client.events().await.ok();
        Self { ui, events }
    }

    /// Shows what happens on the hand-off that is waited for, until whoever waits stops it. Without a stream nothing is
    /// shown.
    pub async fn show(self, current: &watch::Sender<HandoffId>) -> ! {
        if let Some(mut events) = self.events {
            while let Some(event) = events.next().await {
                let line = line(&event, &current.borrow());
                if let Some(line) = line {
                    self.ui.notice(line);
                }
            }
        }
        match std::future::pending::<Infallible>().await {}
    }
}

/// Writes what one event says of a hand-off.
fn line(event: &Event, handoff: &HandoffId) -> Option<String> {
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
