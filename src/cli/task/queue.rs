//! `chorus task queue`

use crate::api::MessageInput;
use crate::cli::arguments::ServerArguments;
use crate::cli::input::text_or_stdin;
use crate::cli::ui::{Failure, Ui, printable, time};
use crate::domain::QueueMessage;

/// Shows all messages of a queue, oldest first.
pub(super) async fn show(ui: Ui, task: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let mut reply = client.tasks().queue(task, None).await?;
    let mut answer = reply.answer()?;
    if server.json && answer.meta.next.is_none() {
        return ui.text(&reply.text);
    }
    while let Some(next) = answer.meta.next.take() {
        reply = client.tasks().queue(task, Some(&next)).await?;
        let page = reply.answer()?;
        answer.data.messages.extend(page.data.messages);
        answer.meta = page.meta;
    }
    if server.json {
        let whole = serde_json::to_string(&answer).map_err(|error| Failure::caused(&error))?;
        return ui.text(&whole);
    }
    for message in &answer.data.messages {
        ui.line(written(message))?;
    }
    Ok(())
}

fn written(message: &QueueMessage) -> String {
    let state = match message.delivered_at {
        Some(at) => format!("delivered {}", time(at)),
        None => "waits".to_owned(),
    };
    let text = printable(message.content.as_str());
    let lines = text.trim_end().lines();
    let lines: Vec<_> = lines
        .map(|line| format!("\n    {line}").trim_end_matches(' ').to_owned())
        .collect();
    format!("{}  {state}{}", time(message.received_at), lines.concat())
}

/// Queues a message, and prints its id.
pub(super) async fn add(
    ui: Ui,
    task: &str,
    text: String,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let input = MessageInput {
        content: text_or_stdin(text)?,
    };
    let reply = server.client()?.tasks().queue_message(task, &input).await?;
    server.show(ui, &reply, |message| ui.line(&message.id))
}
