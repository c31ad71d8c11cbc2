//! Chat: a person talks to the agent that has control.
//!
//! # How it works
//! A message waits in the queue of its task while an agent works there. The transaction that ends the hand-off also sends the waiting
//! messages, as the prompt of the next hand-off to the same agent: whatever happens to the server, a message waits or is sent, and is
//! sent once. After a hand-off that did not complete, the messages wait for the person, because the next hand-off may fail the same way.
//! If control moves to another task, the messages move with it (`begin`).

use serde::{Deserialize, Serialize};

use crate::domain::{
    AgentName, Door, Handoff, MessageType, NewMessage, Outcome, ProviderSession, QueueMessage,
    Refusal, Status, Task, TaskId, Text, TraceParent,
};
use crate::ledger::{agent, increment, message, task};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::tables::{handoffs, queue_messages, runs};
use crate::store::{Result, StoreError, Tx, View};
use crate::words;

use super::begin::{Begin, Begun, begin};
use super::calling_run;
use super::close::Ending;
use super::find::get;

/// The most bytes of waiting messages in one prompt. The others follow in the next one.
const LONGEST_PROMPT: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat {
    pub task_id: TaskId,
    /// The message. Without one, the waiting messages are sent.
    pub content: Option<Text>,
    /// The agent's name as the caller wrote it; otherwise the last agent of the chain.
    pub agent_name: Option<String>,
    /// The trace named by the caller.
    pub trace: Option<TraceParent>,
}

/// The result of a chat message: it waits, or it has started a hand-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chatted {
    /// The task that has control.
    pub task: Task,
    pub queued: Option<QueueMessage>,
    pub handoff: Option<Handoff>,
}

/// Sends a message to the agent that has control, or queues it while an agent works.
pub fn chat(tx: &mut Tx<'_>, asked: &Chat) -> Result<Chatted> {
    let on = load_with_control(tx, &asked.task_id)?;
    let named = asked.agent_name.as_deref();
    let named = named.map(|name| agent::resolve(tx, name)).transpose()?;
    if let Some(current) = on.task.current_agent() {
        if named.is_some_and(|named| named != *current) {
            return Err(Refusal::AgentActive(current.clone()).into());
        }
        let content = asked.content.as_ref().ok_or(Refusal::NothingToSend)?;
        let (_, queued) = task::queue_chat(tx, on.on(), content)?;
        return Ok(Chatted {
            task: task::get(tx, &on.task.id)?,
            queued: Some(queued),
            handoff: None,
        });
    }
    let agent_name = match named {
        Some(name) => name,
        None => last_agent(tx, &on)?,
    };
    increment::check_round(tx, &on)?;
    let mut messages = queue_messages::waiting_chat(tx, on.number, LONGEST_PROMPT)?;
    match &asked.content {
        Some(content) => messages.push(task::queue_chat(tx, on.on(), content)?),
        None if messages.is_empty() => return Err(Refusal::NothingToSend.into()),
        None => {}
    }
    let task = send(tx, on, agent_name, &messages, asked.trace.as_ref())?.task;
    let last = task.agent_chain().last();
    let handoff = last.map(|entry| get(tx, &entry.id)).transpose()?;
    Ok(Chatted {
        task,
        queued: None,
        handoff,
    })
}

/// Loads the task on which the conversation of a task continues.
fn load_with_control(view: &View<'_>, id: &TaskId) -> Result<StoredTask> {
    let mut number = task::number(view, id)?;
    // Every step leads to a later hand-off.
    while let Some(last) = handoffs::find_last_number(view, number)?
        && let Some(next) = handoffs::find_task_after(view, last)?
    {
        number = next;
    }
    tasks::find_by_number(view, number)?
        .ok_or_else(|| StoreError::inconsistent(format!("control of task {id} moved to no task")))
}

fn last_agent(view: &View<'_>, on: &StoredTask) -> Result<AgentName> {
    let last = on.task.agent_chain().last();
    let last = last.ok_or_else(|| Refusal::NoAgentToChatWith(on.task.id.clone()))?;
    agent::resolve(view, last.agent_name.as_str())
}

/// Starts a hand-off with messages as its prompt, in the agent's last session if there is one.
fn send(
    tx: &mut Tx<'_>,
    on: StoredTask,
    agent_name: AgentName,
    messages: &[(i64, QueueMessage)],
    trace: Option<&TraceParent>,
) -> Result<StoredTask> {
    let session = runs::find_last_session(tx, on.number, &agent_name)?;
    let session = session.and_then(|id| ProviderSession::parse(id).ok());
    let prompt = QueueMessage::join(messages.iter().map(|(_, message)| message));
    let next = Begin {
        trace: calling_run::trace(trace, None),
        resumes: session.as_ref(),
        is_chat: true,
        ..Begin::new(Door::Delegate, agent_name, prompt.as_str())
    };
    let Begun { on, handoff_number } = begin(tx, on, next)?;
    if let Some(open) = on.task.open_handoff() {
        task::record_sent(tx, on.on(), (&open.id, handoff_number), messages)?;
    }
    Ok(on)
}

/// Sends the messages that waited for the end of a hand-off, or says in the conversation why they still wait.
pub fn send_waiting(tx: &mut Tx<'_>, on: StoredTask, ending: &Ending<'_>) -> Result<StoredTask> {
    let waiting = queue_messages::waiting_chat(tx, on.number, LONGEST_PROMPT)?;
    // An agent that was asked for its report, or that the router chooses now, gets them with its prompt.
    let is_routed_again = on.task.status == Status::Pending && on.task.needs.agent_role.is_some();
    if waiting.is_empty() || on.task.open_handoff().is_some() || is_routed_again {
        return Ok(on);
    }
    match find_receiver(tx, &on, ending.outcome)? {
        Ok(agent_name) => send(tx, on, agent_name, &waiting, None),
        Err(why) => {
            let count = queue_messages::count_waiting_chat(tx, on.number)?;
            let held = NewMessage {
                message_type: MessageType::StatusChange,
                content: Text::lossy(words::messages_held(count, &why)),
                data: None,
            };
            message::record_on_task(tx, &on, &held)?;
            Ok(on)
        }
    }
}

/// Returns the agent that gets the waiting messages after a hand-off, or the reason why none does.
fn find_receiver(
    view: &View<'_>,
    on: &StoredTask,
    outcome: Outcome,
) -> Result<std::result::Result<AgentName, String>> {
    if outcome != Outcome::Completed {
        return Ok(Err(words::not_completed(outcome).to_owned()));
    }
    if on.task.part.is_some() && on.task.status.is_ended() {
        return Ok(Err("the stage has ended".to_owned()));
    }
    let found = last_agent(view, on).and_then(|name| {
        increment::check_round(view, on)?;
        Ok(name)
    });
    match found {
        Ok(name) => Ok(Ok(name)),
        Err(StoreError::Refused(refusal)) => Ok(Err(words::refusal(&refusal))),
        Err(error) => Err(error),
    }
}
