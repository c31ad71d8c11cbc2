//! The messages of an agent, on standard error while a command waits for the agent.

use std::convert::Infallible;
use std::io::IsTerminal;

use tokio::sync::watch;

use super::ui::{Ui, one_line};
use crate::client::{Client, Events};
use crate::domain::{Event, HandoffId, TaskId};

/// The limit for a message, in bytes.
const SHOWN: usize = 200;

/// The hand-off that a command waits for now.
#[derive(Debug, Clone)]
pub(super) struct Followed {
    pub task: TaskId,
    pub handoff: HandoffId,
}

/// Prints only if standard error is a terminal.
pub(super) struct Progress {
    ui: Ui,
    events: Option<Events>,
}

impl Progress {
    pub const fn none(ui: Ui) -> Self {
        Self { ui, events: None }
    }

    /// Subscribes to events. Must come before the hand-off, to miss none.
    pub async fn begin(ui: Ui, client: &Client) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::none(ui);
        }
        let events = client.events().await.ok();
        Self { ui, events }
    }

    /// Prints the messages of the current hand-off until the future is dropped.
    pub async fn show(self, current: &watch::Sender<Followed>) -> ! {
        if let Some(mut events) = self.events {
            while let Some(event) = events.next().await {
                let line = line(&event, &current.borrow().handoff);
                if let Some(line) = line {
                    self.ui.notice(line);
                }
            }
        }
        match std::future::pending::<Infallible>().await {}
    }
}

/// Formats a message event of the hand-off; nothing for other events.
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
