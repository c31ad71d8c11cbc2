//! The events of the demo on the screen.

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::agent::STEP;
use crate::cli::ui::{Ui, one_line, time};
use crate::domain::{Event, HandoffId};
use crate::engine::{Engine, Published};

const AGENT: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Prints events in the background.
pub(super) struct Show {
    lines: JoinHandle<()>,
    over: CancellationToken,
}

impl Show {
    pub fn begin(ui: Ui, engine: &Engine) -> Self {
        let over = CancellationToken::new();
        let events = engine.feed().follow();
        let lines = tokio::spawn(show(ui, events, over.clone()));
        Self { lines, over }
    }

    /// Prints the remaining events, and ends.
    pub async fn end(self) {
        self.over.cancel();
        // A panic in the printing must not fail the demo.
        let _ = self.lines.await;
    }
}

async fn show(ui: Ui, mut events: Receiver<Published>, over: CancellationToken) {
    let mut screen = Screen::default();
    loop {
        let published = tokio::select! {
            biased;
            published = events.recv() => published,
            () = over.cancelled() => return,
        };
        match published {
            Ok(Published {
                event: Some(event), ..
            }) => {
                if let Some(line) = screen.line(&event) {
                    let now = time(event.timestamp);
                    let clock = now.rsplit(' ').next().unwrap_or_default();
                    // The demo continues when the screen is closed.
                    let _ = ui.line(format_args!("{clock}  {line}"));
                }
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

#[derive(Default)]
struct Screen {
    agents: HashMap<HandoffId, String>,
}

impl Screen {
    /// Formats an event; nothing for events without interest.
    fn line(&mut self, event: &Event) -> Option<String> {
        let data = |key: &str| event.data.get(key).map_or("", |value| value.as_str());
        let row = |agent: &str, text: &str| format!("{AGENT}{agent:<16}{AGENT:#} {text}");
        Some(match event.event_type.as_str() {
            // Child tasks repeat the description of the first task.
            "task_created" if self.agents.is_empty() => row("task", &one_line(data("description"))),
            "agent_handoff_started" => {
                let agent = data("agentName").to_owned();
                let line = row(&agent, "starts");
                self.agents.insert(event.handoff_id.clone()?, agent);
                line
            }
            "message_added" => {
                let content = data("content");
                if let Some(step) = content.strip_prefix(STEP) {
                    row("", &format!("{STEP}{}", one_line(step)))
                } else {
                    let agent = self.agents.get(event.handoff_id.as_ref()?)?;
                    let result = one_line(&content.trim().replace('\n', " / "));
                    row(agent, &format!("{GOOD}→{GOOD:#} {result}"))
                }
            }
            "agent_handoff_completed" => return None,
            kind => {
                let outcome = kind.strip_prefix("agent_handoff_")?;
                let reason = one_line(data("reason"));
                row(
                    data("agentName"),
                    &format!("{BAD}{outcome}{BAD:#}: {reason}"),
                )
            }
        })
    }
}
