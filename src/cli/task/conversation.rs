//! `chorus task conversation` and `chorus task say`

use reqwest::Method;
use serde_json::{Value, json};

use crate::api::Answer;
use crate::cli::arguments::ServerArguments;
use crate::cli::server::{segment, text_or_stdin};
use crate::cli::ui::{Failure, Ui, one_line, printable, time};
use crate::domain::{AgentName, Message, MessageType, Move};

/// How many messages are asked for at once.
const PAGE: u32 = 1000;

/// Shows what was said: so many messages, or page after page until the end.
pub(super) async fn show(
    ui: Ui,
    task: &str,
    limit: Option<u32>,
    after: Option<i64>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let client = server.client()?;
    let path = format!("/api/tasks/{}/conversation", segment(task));
    let mut after = after.map(|after| after.to_string());
    let mut pages: Vec<Answer<Vec<Value>>> = Vec::new();
    loop {
        let mut query = vec![("limit", limit.unwrap_or(PAGE).to_string())];
        query.extend(after.map(|after| ("after", after)));
        let reply = client.get(&path, &query).await?;
        let next = if server.json {
            let page = reply.answer::<Vec<Value>>()?;
            let next = page.meta.next.clone();
            if pages.is_empty() && (limit.is_some() || next.is_none()) {
                return ui.text(&reply.text);
            }
            pages.push(page);
            next
        } else {
            let Answer { data, meta } = reply.answer::<Vec<Message>>()?;
            for message in &data {
                ui.line(written(message))?;
            }
            meta.next
        };
        match next {
            Some(next) if limit.is_some() => {
                ui.notice(format_args!("There are more: --after {next}"));
                return Ok(());
            }
            Some(next) => after = Some(next),
            None => return print_merged(ui, pages),
        }
    }
}

/// Prints all pages as one answer.
fn print_merged(ui: Ui, pages: Vec<Answer<Vec<Value>>>) -> Result<(), Failure> {
    let merged = pages.into_iter().reduce(|mut merged, page| {
        merged.data.extend(page.data);
        merged.meta = page.meta;
        merged
    });
    match merged {
        None => Ok(()),
        Some(merged) => {
            let text = serde_json::to_string(&merged).map_err(|error| Failure::caused(&error))?;
            ui.text(&text)
        }
    }
}

/// Writes one message: its number, when, who and what, and where control moved.
fn written(message: &Message) -> String {
    let who = message
        .agent_name
        .as_ref()
        .map_or("user", AgentName::as_str);
    let head = format!("#{} {}  {who}", message.number, time(message.timestamp));
    let content = message.content.as_str();
    match (&message.data, message.message_type) {
        (Some(to), _) => format!("{head}  → {}{}", one_line(content), moved(to)),
        (None, MessageType::UserMessage | MessageType::AssistantMessage) => {
            format!("{head}{}", indented(content))
        }
        (None, kind) => format!("{head} ({}){}", kind.as_str(), indented(content)),
    }
}

/// Writes how control moved, and what was passed.
fn moved(to: &Move) -> String {
    let by = to.tool.as_ref().map_or_else(String::new, |tool| {
        format!("  by {}", one_line(tool.as_str()))
    });
    let because = to.reason.iter().map(|reason| format!("because {reason}"));
    let passed = to.variables.iter().flatten();
    let passed = passed.map(|(name, value)| format!("{name} = {value}"));
    let below: String = because
        .chain(passed)
        .map(|line| indented(&one_line(&line)))
        .collect();
    format!("{by}  on {}{below}", to.task_id)
}

fn indented(text: &str) -> String {
    printable(text)
        .trim_end()
        .lines()
        .map(|line| format!("\n    {line}").trim_end_matches(' ').to_owned())
        .collect()
}

/// Adds a message to a task's conversation, and prints its number.
pub(super) async fn say(
    ui: Ui,
    task: &str,
    text: String,
    message_type: MessageType,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let body = json!({ "type": message_type, "content": text_or_stdin(text)? });
    let path = format!("/api/tasks/{}/messages", segment(task));
    let reply = server
        .client()?
        .send_json(Method::POST, &path, &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    ui.line(reply.data::<Message>()?.number)
}
