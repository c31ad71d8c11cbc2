//! `chorus handoff` and `chorus cancel`

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::time::Instant;

use super::arguments::{CancelArguments, HandoffArguments};
use super::server::{segment, text_or_stdin};
use super::ui::{Failure, Ui};
use crate::client::{Client, ClientError, Reply};
use crate::domain::{Handoff, Outcome, Task};

/// How many seconds one question to the server waits.
const POLL: u64 = 25;

/// How long the server may be away, for a restart, before waiting is given up.
const AWAY: Duration = Duration::from_mins(1);

/// How long to wait before a server that is away is asked again.
const RETRY: Duration = Duration::from_millis(250);

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
    let path = format!("/api/tasks/{}/handoff", segment(&task));
    let reply = client.send_json(Method::POST, &path, &body).await?;
    let started: Task = reply.data()?;
    let entry = started
        .agent_chain()
        .last()
        .ok_or_else(|| Failure::new("the server answered without a hand-off"))?;
    if no_wait {
        return if server.print_json(ui, &reply)? {
            Ok(())
        } else {
            ui.line(&entry.id)
        };
    }
    ui.notice(format_args!(
        "{} works on {} (hand-off {})",
        entry.agent_name, started.id, entry.id
    ));
    let reply = wait(&client, entry.id.as_str(), timeout.map(Duration::from_secs)).await?;
    let handoff: Handoff = reply.data()?;
    server.print_json(ui, &reply)?;
    match handoff.outcome {
        Some(Outcome::Completed) if server.json => Ok(()),
        Some(Outcome::Completed) => ui.text(handoff.output.as_str()),
        Some(outcome) => Err(Failure::new(format!(
            "{}: {}",
            outcome.as_str(),
            handoff.output
        ))),
        None => Err(Failure::new(format!(
            "{} has not finished in time; the hand-off goes on",
            handoff.agent_name
        ))
        .with_hint(format!(
            "wait again: curl '{}/api/handoffs/{}?wait=25'",
            client.url(),
            handoff.id
        ))),
    }
}

/// Waits until a hand-off has ended, also over a restart of the server.
async fn wait(client: &Client, handoff: &str, timeout: Option<Duration>) -> Result<Reply, Failure> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut away_since = None;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let seconds = left.map_or(POLL, |left| {
            POLL.min(left.as_secs() + u64::from(left.subsec_nanos() > 0))
        });
        match client
            .get(
                &format!("/api/handoffs/{handoff}"),
                &[("wait", seconds.to_string())],
            )
            .await
        {
            Ok(reply) => {
                away_since = None;
                let has_ended = reply.data::<Handoff>()?.outcome.is_some();
                if has_ended || left.is_some_and(|left| left.is_zero()) {
                    return Ok(reply);
                }
            }
            Err(error @ ClientError::Unreachable { .. }) => {
                if away_since.get_or_insert_with(Instant::now).elapsed() > AWAY {
                    return Err(error.into());
                }
                tokio::time::sleep(RETRY).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
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
