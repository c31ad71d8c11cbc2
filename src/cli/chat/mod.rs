//! `chorus chat`: a conversation with the agent that has control.

mod live;

use std::io::IsTerminal;

use super::arguments::{ChatArguments, ServerArguments};
use super::input::{source, text_or_stdin};
use super::progress::{Followed, Progress};
use super::ui::{Failure, Ui};
use super::wait::{follow, patient, print_end};
use crate::api::{ChatAnswer, ChatInput, TaskInput};
use crate::client::Client;
use crate::domain::{MessageId, QueueMessage, Task, TaskId, Text};

/// The longest wait of one request, in seconds.
const POLL: u64 = 25;

pub(super) async fn run(ui: Ui, arguments: ChatArguments) -> Result<(), Failure> {
    let ChatArguments {
        task,
        agent,
        server,
    } = arguments;
    let client = server.client()?;
    let task = task.map(String::from);
    if std::io::stdin().is_terminal() {
        return live::talk(ui, &client, task, agent).await;
    }
    send_once(ui, &client, task, agent, &server).await
}

/// Sends standard input as one message, and prints the answer.
async fn send_once(
    ui: Ui,
    client: &Client,
    task: Option<String>,
    agent: Option<String>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let content = text_or_stdin("-".to_owned())?;
    if content.is_blank() {
        return Err(Failure::usage("standard input has no message"));
    }
    let progress = Progress::begin(ui, client).await;
    let task = match task {
        Some(task) => task,
        None => create_task(client, &content, agent.as_deref()).await?,
    };
    let answer = send(client, &task, content, agent).await?;
    let followed = match (answer.handoff, answer.queued) {
        (Some(handoff), _) => Followed {
            task: handoff.task_id,
            handoff: handoff.id,
        },
        (None, Some(queued)) => {
            let agent = answer.task.current_agent();
            let agent = agent.map_or("An agent", |agent| agent.as_str());
            ui.notice(format_args!("{agent} is working; the message waits"));
            wait_for_delivery(client, answer.task.id, &queued.id).await?
        }
        (None, None) => return Err(Failure::new("the server answered without a message")),
    };
    let reply = follow(ui, client, progress, followed, None).await?;
    print_end(ui, server, &reply)
}

/// Creates the task of a new conversation. Without an agent, the first message would have no receiver.
async fn create_task(
    client: &Client,
    content: &Text,
    agent: Option<&str>,
) -> Result<String, Failure> {
    if agent.is_none() {
        return Err(
            Failure::usage("a new conversation needs an agent: --agent NAME")
                .with_hint("name a task to continue its conversation"),
        );
    }
    let input = TaskInput {
        description: content.clone(),
        source: Some(source()),
        ..TaskInput::default()
    };
    let task = patient(client, None).tasks().create(&input).await?.data()?;
    Ok(task.id.to_string())
}

async fn send(
    client: &Client,
    task: &str,
    content: Text,
    agent: Option<String>,
) -> Result<ChatAnswer, Failure> {
    let input = ChatInput {
        content: Some(content),
        agent_name: agent.map(Text::lossy),
    };
    let reply = patient(client, None).tasks().chat(task, &input).await?;
    Ok(reply.data()?)
}

/// Waits until a hand-off has a queued message, wherever control moves.
async fn wait_for_delivery(
    client: &Client,
    mut task: TaskId,
    id: &MessageId,
) -> Result<Followed, Failure> {
    let client = patient(client, None);
    loop {
        let found = client.tasks().get(task.as_str()).await?.data()?;
        let queue = queue(&client, &task).await?;
        let message = queue.into_iter().find(|message| message.id == *id);
        if let Some(handoff) = message
            .as_ref()
            .and_then(|message| message.handoff_id.clone())
        {
            return Ok(Followed { task, handoff });
        }
        let last = found.agent_chain().last();
        let last = last.ok_or_else(|| Failure::new("the task was not handed off"))?;
        let seconds = if last.is_open() { POLL } else { 0 };
        let handoff = client
            .handoffs()
            .get(last.id.as_str(), seconds)
            .await?
            .data()?;
        match (handoff.outcome, handoff.transferred_to, message) {
            (Some(_), Some(next), _) => {
                task = client
                    .handoffs()
                    .get(next.as_str(), 0)
                    .await?
                    .data()?
                    .task_id;
            }
            (Some(_), None, None) => {
                return Err(Failure::new(
                    "the message was taken back before an agent got it",
                ));
            }
            (Some(outcome), None, Some(_)) if !last.is_open() => {
                return Err(Failure::new(format!(
                    "the message stays queued: the last hand-off ended as {}",
                    outcome.as_str()
                ))
                .with_hint("the next message sends both"));
            }
            _ => {}
        }
    }
}

/// Returns the messages of a task's queue.
async fn queue(client: &Client, task: &TaskId) -> Result<Vec<QueueMessage>, Failure> {
    let (mut messages, mut after) = (Vec::new(), None);
    loop {
        let reply = client
            .tasks()
            .queue(task.as_str(), after.as_deref())
            .await?;
        let page = reply.answer()?;
        messages.extend(page.data.messages);
        match page.meta.next {
            Some(next) => after = Some(next),
            None => return Ok(messages),
        }
    }
}

/// Returns the task on which the conversation of a task continues.
async fn with_control(client: &Client, task: &str) -> Result<Task, Failure> {
    let mut found = client.tasks().get(task).await?.data()?;
    while let Some(last) = found.agent_chain().last().filter(|last| !last.is_open()) {
        let ended = client.handoffs().get(last.id.as_str(), 0).await?.data()?;
        let Some(next) = ended.transferred_to else {
            break;
        };
        let next = client.handoffs().get(next.as_str(), 0).await?.data()?;
        found = client.tasks().get(next.task_id.as_str()).await?.data()?;
    }
    Ok(found)
}
