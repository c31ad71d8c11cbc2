//! `chorus handoff` and `chorus cancel`

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::time::Instant;

use super::arguments::{CancelArguments, HandoffArguments};
use super::progress::Progress;
use super::server::{segment, text_or_stdin};
use super::ui::{Failure, Ui};
use crate::client::{Client, ClientError, Reply};
use crate::domain::{ChainEntry, Handoff, HandoffId, Outcome, Task};

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
    let progress = Progress::begin(ui, &client).await;
    let reply = start(&client, &task, &body).await?;
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
    let reply = tokio::select! {
        reply = wait(&client, entry.id.as_str(), timeout.map(Duration::from_secs)) => reply?,
        never = progress.show(&entry.id) => never,
    };
    let handoff: Handoff = reply.data()?;
    if server.print_json(ui, &reply)? && handoff.outcome == Some(Outcome::Completed) {
        return Ok(());
    }
    if handoff.outcome.is_none() {
        return Err(Failure::new(format!(
            "{} has not finished in time; the hand-off goes on",
            handoff.agent_name
        ))
        .with_hint(format!(
            "wait again: curl '{}/api/handoffs/{}?wait=25'",
            client.url(),
            handoff.id
        )));
    }
    ui.text(&final_message(handoff)?)
}

/// Hands a task to an agent and waits for its final message.
pub(super) async fn hand_off(
    client: &Client,
    task: &str,
    agent: &str,
    prompt: &str,
) -> Result<String, Failure> {
    let reply = start(
        client,
        task,
        &json!({ "agentName": agent, "prompt": prompt }),
    )
    .await?;
    let (_, entry) = started(&reply)?;
    let reply = wait(client, entry.id.as_str(), None).await?;
    final_message(reply.data()?)
}

/// Starts a hand-off. With a key, so that it can be sent again if the answer is lost.
async fn start(client: &Client, task: &str, body: &serde_json::Value) -> Result<Reply, Failure> {
    let path = format!("/api/tasks/{}/handoff", segment(task));
    let key = HandoffId::new();
    let mut away_since = None;
    loop {
        let request = client
            .request(Method::POST, &path)
            .header("Idempotency-Key", key.as_str())
            .json(body);
        match client.send(request).await {
            Err(error @ ClientError::Unreachable { .. }) => {
                be_patient(&mut away_since, error).await?;
            }
            result => return Ok(result?),
        }
    }
}

/// Returns the task that is worked on, a child if an agent hands on its own, and the hand-off.
fn started(reply: &Reply) -> Result<(Task, ChainEntry), Failure> {
    let task: Task = reply.data()?;
    let entry = task.agent_chain().last().cloned();
    let entry = entry.ok_or_else(|| Failure::new("the server answered without a hand-off"))?;
    Ok((task, entry))
}

fn final_message(handoff: Handoff) -> Result<String, Failure> {
    match handoff.outcome {
        Some(Outcome::Completed) => Ok(handoff.output.into_string()),
        Some(outcome) => Err(Failure::new(format!(
            "{}: {}",
            outcome.as_str(),
            handoff.output
        ))),
        None => Err(Failure::new("the hand-off has not ended")),
    }
}

/// Waits a little for a server that is away, unless it has been away for too long.
async fn be_patient(away_since: &mut Option<Instant>, error: ClientError) -> Result<(), Failure> {
    if away_since.get_or_insert_with(Instant::now).elapsed() > AWAY {
        return Err(error.into());
    }
    tokio::time::sleep(RETRY).await;
    Ok(())
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
                be_patient(&mut away_since, error).await?;
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
