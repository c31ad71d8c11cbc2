//! `chorus handoff` and `chorus cancel`

use std::time::Duration;

use super::arguments::{CancelArguments, HandoffArguments, ServerArguments};
use super::input::text_or_stdin;
use super::progress::{Followed, Progress};
use super::server::is_in_run;
use super::ui::{Failure, Ui, duration};
use super::wait::{final_message, follow, handed, patient, print_end, started};
use crate::api::{CancelInput, HandoffInput};
use crate::client::{Client, ClientError};
use crate::domain::{ChainEntry, Task, TaskId, Text, Timestamp};

pub(super) async fn run(ui: Ui, arguments: HandoffArguments) -> Result<(), Failure> {
    let HandoffArguments {
        task,
        agent,
        prompt,
        reason,
        resume,
        new,
        no_wait,
        timeout,
        server,
    } = arguments;
    let input = HandoffInput {
        agent_name: Text::lossy(agent),
        prompt: text_or_stdin(prompt)?,
        reason: reason.map(Text::lossy),
        resume,
        new,
        detached: no_wait && is_in_run(),
    };
    let client = server.client()?;
    let progress = Progress::begin(ui, &client).await;
    let reply = patient(&client, None)
        .tasks()
        .hand_off(&task, &input)
        .await
        .map_err(|error| busy(&task, error))?;
    let (task, entry) = started(&reply)?;
    if no_wait {
        return server.show(ui, &reply, |_| ui.line(&entry.id));
    }
    let now = reply.answer()?.meta;
    ui.notice(if now.existing {
        again(&task, &entry, now.timestamp)
    } else {
        handed(&task.id, entry.agent_name.as_str(), &entry.id)
    });
    let timeout = timeout.map(Duration::from_secs);
    let followed = Followed {
        task: task.id,
        handoff: entry.id,
    };
    let reply = follow(ui, &client, progress, followed, timeout).await?;
    print_end(ui, &server, &reply)
}

/// Adds the next step to the refusal of a task on which another agent works.
fn busy(task: &str, error: ClientError) -> Failure {
    let failure = Failure::from(error);
    if failure.message.starts_with("Agent already active") {
        return failure.with_hint(format!(
            "`chorus task wait {task}` waits for that agent, `chorus cancel {task}` stops it"
        ));
    }
    failure
}

/// Describes a hand-off that an agent asked for before.
fn again(task: &Task, entry: &ChainEntry, now: Timestamp) -> String {
    let ago = duration(now.as_millis() - entry.started_at.as_millis());
    let end = if entry.is_open() {
        "waiting again"
    } else {
        "its answer was not fetched yet"
    };
    format!(
        "{} was asked the same {ago} ago, on {} (hand-off {}): {end}; `--new` asks again",
        entry.agent_name, task.id, entry.id
    )
}

/// Waits for the last hand-off of a task.
pub(super) async fn wait(
    ui: Ui,
    task: &str,
    timeout: Option<u64>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let client = server.client()?;
    let progress = Progress::begin(ui, &client).await;
    let task = patient(&client, None).tasks().get(task).await?.data()?;
    let Some(entry) = task.agent_chain().last() else {
        return Err(never_handed_off(&task.id, "there is nothing to wait for"));
    };
    let timeout = timeout.map(Duration::from_secs);
    let followed = Followed {
        task: task.id.clone(),
        handoff: entry.id.clone(),
    };
    let reply = follow(ui, &client, progress, followed, timeout).await?;
    print_end(ui, server, &reply)
}

/// The refusal of a command that needs a hand-off of the task.
pub(super) fn never_handed_off(task: &TaskId, consequence: &str) -> Failure {
    Failure::new(format!(
        "Task {task} was never handed off, so {consequence}"
    ))
    .with_hint(format!("`chorus handoff {task} AGENT PROMPT` hands it off"))
}

/// Hands a task to an agent and waits for the final message.
pub(super) async fn hand_off(
    ui: Ui,
    client: &Client,
    task: &str,
    agent: &str,
    prompt: String,
) -> Result<String, Failure> {
    let input = HandoffInput {
        agent_name: Text::lossy(agent.to_owned()),
        prompt: Text::lossy(prompt),
        ..HandoffInput::default()
    };
    let reply = patient(client, None).tasks().hand_off(task, &input).await?;
    let (task, entry) = started(&reply)?;
    let followed = Followed {
        task: task.id,
        handoff: entry.id,
    };
    let reply = follow(ui, client, Progress::none(ui), followed, None).await?;
    final_message(reply.data()?)
}

pub(super) async fn cancel(ui: Ui, arguments: CancelArguments) -> Result<(), Failure> {
    let CancelArguments {
        task,
        reason,
        server,
    } = arguments;
    let reason = reason.map(Text::lossy);
    let client = server.client()?;
    let reply = client
        .tasks()
        .cancel(&task, &CancelInput { reason })
        .await?;
    if let Some(warning) = reply.answer()?.meta.warning {
        ui.notice(format_args!("warning: {warning}"));
    }
    server.show(ui, &reply, |task| {
        let last = task.agent_chain().last();
        let agent = last.map_or("nobody", |entry| entry.agent_name.as_str());
        ui.line(format_args!("{} cancelled: {agent} was stopped", task.id))
    })
}
