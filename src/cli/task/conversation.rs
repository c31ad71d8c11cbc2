//! `chorus task conversation` and `chorus task say`

use serde_json::Value;

use crate::api::{Answer, ConversationInput};
use crate::cli::arguments::ServerArguments;
use crate::cli::input::text_or_stdin;
use crate::cli::server::print_answer;
use crate::cli::ui::{Failure, Ui, one_line, printable, time};
use crate::domain::{AgentName, Message, MessageType, Move};

/// The size of a page.
const PAGE: u32 = 1000;

/// Shows the conversation: up to the limit, or all pages without one.
pub(super) async fn show(
    ui: Ui,
    task: &str,
    limit: Option<u32>,
    after: Option<i64>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let client = server.client()?;
    let mut after = after.map(|after| after.to_string());
    let mut merged: Option<Answer<Vec<Value>>> = None;
    loop {
        let page = limit.unwrap_or(PAGE);
        let reply = client
            .tasks()
            .conversation(task, page, after.as_deref())
            .await?;
        let next = if server.json {
            let page = reply.read::<Vec<Value>>()?;
            let next = page.meta.next.clone();
            if merged.is_none() && (limit.is_some() || next.is_none()) {
                return ui.text(&reply.text);
            }
            let before = merged.take().map_or_else(Vec::new, |merged| merged.data);
            merged = Some(Answer {
                data: [before, page.data].concat(),
                meta: page.meta,
            });
            next
        } else {
            let Answer { data, meta } = reply.answer()?;
            for message in &data {
                ui.line(written(message))?;
            }
            meta.next
        };
        match next {
            Some(next) if limit.is_some() => {
                ui.notice(format_args!("More messages: --after {next}"));
                return Ok(());
            }
            Some(next) => after = Some(next),
            None => return merged.map_or(Ok(()), |merged| print_answer(ui, &merged)),
        }
    }
}

/// Formats one message.
pub(in crate::cli) fn written(message: &Message) -> String {
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

/// Formats a move of control, with the variables that were passed.
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

/// Adds a message to the conversation, and prints its number.
pub(super) async fn say(
    ui: Ui,
    task: &str,
    text: String,
    message_type: MessageType,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let input = ConversationInput {
        message_type,
        content: text_or_stdin(text)?,
    };
    let reply = server.client()?.tasks().say(task, &input).await?;
    server.show(ui, &reply, |message| ui.line(message.number))
}
