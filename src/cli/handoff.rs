//! `chorus handoff` and `chorus cancel`

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::arguments::{CancelArguments, HandoffArguments};
use super::progress::Progress;
use super::server::{segment, text_or_stdin};
use super::ui::{Failure, Ui};
use super::wait::{final_message, follow, post_once, print_end, started};
use crate::client::Client;
use crate::domain::Task;

pub(super) async fn run(ui: Ui, arguments: HandoffArguments) -> Result<(), Failure> {
    let HandoffArguments {
        task,
        agent,
        prompt,
        reason,
        resume,
        no_wait,
        timeout,
        server,
    } = arguments;
    let client = server.client()?;
    let mut body =
        json!({ "agentName": agent, "prompt": text_or_stdin(prompt)?, "resume": resume });
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    let progress = Progress::begin(ui, &client).await;
    let reply = post_once(&client, &path(&task), &body).await?;
    let (task, entry) = started(&reply)?;
    if no_wait {
        return if server.print_json(ui, &reply)? {
            Ok(())
        } else {
            ui.line(&entry.id)
        };
    }
    ui.notice(format_args!(
        "{} works on {} (hand-off {})",
        entry.agent_name, task.id, entry.id
    ));
    let timeout = timeout.map(Duration::from_secs);
    let reply = follow(ui, &client, progress, entry.id, timeout).await?;
    print_end(ui, &server, &client, &reply)
}

fn path(task: &str) -> String {
    format!("/api/tasks/{}/handoff", segment(task))
}

/// Hands a task to an agent and waits for the final message.
pub(super) async fn hand_off(
    ui: Ui,
    client: &Client,
    task: &str,
    agent: &str,
    prompt: &str,
) -> Result<String, Failure> {
    let body = json!({ "agentName": agent, "prompt": prompt });
    let reply = post_once(client, &path(task), &body).await?;
    let (_, entry) = started(&reply)?;
    let reply = follow(ui, client, Progress::none(ui), entry.id, None).await?;
    final_message(reply.data()?)
}

pub(super) async fn cancel(ui: Ui, arguments: CancelArguments) -> Result<(), Failure> {
    let CancelArguments {
        task,
        reason,
        server,
    } = arguments;
    let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
    let path = format!("/api/tasks/{}/handoff/cancel", segment(&task));
    let reply = server
        .client()?
        .send_json(Method::POST, &path, &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let task: Task = reply.data()?;
    let agent = task
        .agent_chain()
        .last()
        .map_or("nobody", |entry| entry.agent_name.as_str());
    ui.line(format_args!(
        "{} cancelled: {agent} no longer works on it",
        task.id
    ))
}
