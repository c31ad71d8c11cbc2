//! The events of the demo on the screen.

use anstyle::{AnsiColor, Style};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::ui::{Ui, one_line, time};
use crate::domain::Event;
use crate::engine::Engine;
use crate::engine::Published;

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
                if let Some(line) = line(&event) {
                    // The demo continues when the screen is closed.
                    let _ = ui.line(format_args!("{}  {line}", time(event.timestamp)));
                }
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Formats an event; nothing for events without interest.
fn line(event: &Event) -> Option<String> {
    let data = |key: &str| event.data.get(key).map_or("", |value| value.as_str());
    let agent = || format!("{AGENT}{:<16}{AGENT:#}", data("agentName"));
    Some(match event.event_type.as_str() {
        "task_created" => format!("task             {}", one_line(data("description"))),
        "child_task_created" => format!(
            "                 a child task goes to {AGENT}{}{AGENT:#}",
            data("agentName")
        ),
        "agent_handoff_started" => format!("{} is asked", agent()),
        "run_started" => format!("{} works", agent()),
        "message_added" => format!("                 {}", one_line(&said(data("content"))?)),
        "agent_handoff_completed" => format!("{} {GOOD}has finished{GOOD:#}", agent()),
        kind if kind.starts_with("agent_handoff_") => {
            format!(
                "{} {BAD}{}{BAD:#}: {}",
                agent(),
                &kind["agent_handoff_".len()..],
                one_line(data("reason"))
            )
        }
        _ => return None,
    })
}

/// Takes the text out of the JSON line of a scripted agent.
fn said(content: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(content).ok()?;
    let text = line["text"].as_str().map(|text| format!("… {text}"));
    text.or_else(|| line["final"].as_str().map(|text| format!("→ {text}")))
}
