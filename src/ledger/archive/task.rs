//! Importing a task with its hand-offs, messages, events and attachments.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::domain::{
    ChainEntry, Door, HandoffId, MovedConversation, RunId, SessionId, Task, TaskArchive,
};
use crate::store::tables::events::{self, EventNumbers};
use crate::store::tables::{
    attachments, handoffs, messages, queue_messages, reports, requests, runs, sessions, tasks,
};
use crate::store::{Result, StoreError, Tx, View};

/// Imports a task. Its messages are numbered from `messages_before`; `jobs` are the open hand-offs whose jobs still run
/// elsewhere.
pub fn import_task(
    tx: &Tx<'_>,
    archive: &TaskArchive,
    messages_before: i64,
    jobs: &HashSet<&HandoffId>,
) -> Result<i64> {
    let TaskArchive {
        task,
        history,
        queue,
        conversation,
        folders,
    } = archive;
    let known = with_known_plan(tx, task)?;
    let number = tasks::insert(tx, known.as_ref())?;
    let mut handoff_numbers: HashMap<&HandoffId, i64> = HashMap::new();
    for (position, entry) in (1..).zip(task.agent_chain()) {
        let request = entry.request.as_ref();
        let moved = request.and_then(|request| request.moved.as_ref());
        let from = request.and_then(|request| request.from_handoff_id.as_ref());
        let row = handoffs::NewHandoff {
            task_number: number,
            position,
            entry,
            prompt: request.map_or("", |request| request.prompt.as_str()),
            reason: request.and_then(|request| request.reason.as_ref()),
            from_number: from
                .map(|id| handoffs::find_number(tx, id))
                .transpose()?
                .flatten(),
            waiter_number: None,
            asked_number: None,
            trace_id: request.and_then(|request| request.trace_id.as_ref()),
            parent_span_id: None,
            is_invoked: moved.is_none_or(|moved| moved.is_invoked),
            takes_control: takes_control(tx, entry)?,
            // An import is made by a person.
            counted_from: None,
            is_chat: false,
        };
        let handoff_number = handoffs::insert(tx, &row)?;
        if let Some(report) = request.and_then(|request| request.report.as_ref()) {
            reports::insert(tx, handoff_number, report)?;
        }
        if let Some(moved) = moved {
            import_move(tx, (number, task), (handoff_number, entry), moved)?;
        }
        if entry.is_open() && jobs.contains(&entry.id) {
            runs::insert_completed(tx, &RunId::new(), handoff_number, entry.started_at)?;
        } else if entry.is_open() {
            // The run was on another machine. The next server finds no run directory here, and ends the run.
            runs::insert_running(tx, &RunId::new(), handoff_number, entry.started_at)?;
        }
        handoff_numbers.insert(&entry.id, handoff_number);
    }
    for (folder, attachment) in folders.iter().zip(&task.attachments) {
        attachments::insert(tx, number, &folder.id, attachment, None)?;
    }
    let find = |id: Option<&HandoffId>| match id {
        None => Ok(None),
        Some(id) => handoff_numbers.get(id).copied().map(Some).ok_or_else(|| {
            StoreError::inconsistent(format!(
                "task {} has an event or a message of an unknown hand-off, {id}",
                task.id
            ))
        }),
    };
    for message in &conversation.messages {
        let handoff_number = find(message.handoff_id.as_ref())?;
        let message_number = messages_before.saturating_add(message.number);
        messages::insert_archived(tx, message_number, number, handoff_number, message)?;
    }
    for event in &history.events {
        let handoff_number = find(event.handoff_id.as_ref())?;
        let request_id = event.request_id.as_ref();
        let request_number = request_id
            .map(|id| requests::find_number(tx, id))
            .transpose()?;
        let about = EventNumbers {
            task: Some(number),
            handoff: handoff_number,
            request: request_number.flatten(),
        };
        events::insert(tx, about, event)?;
    }
    for message in &queue.messages {
        queue_messages::insert(tx, number, message)?;
    }
    Ok(number)
}

/// Gives a task a plan of its own if the task that holds its plan is not in the ledger.
fn with_known_plan<'a>(view: &View<'_>, task: &'a Task) -> Result<Cow<'a, Task>> {
    match &task.plan.shared {
        Some(shared) if tasks::find_number(view, &shared.task_id)?.is_none() => {
            let mut task = task.clone();
            task.plan.shared = None;
            Ok(Cow::Owned(task))
        }
        _ => Ok(Cow::Borrowed(task)),
    }
}

/// Whether a hand-off took control from an earlier one. Archives of earlier versions do not record that for sessions; there,
/// the earlier hand-off ended at the same time with the note `Routed to <agent>`.
fn takes_control(view: &View<'_>, entry: &ChainEntry) -> Result<bool> {
    let Some(request) = &entry.request else {
        return Ok(entry.mode == Door::Transfer);
    };
    let said = request.moved.as_ref().and_then(|moved| moved.takes_control);
    match (entry.mode, said, &request.from_handoff_id) {
        (Door::Transfer, ..) => Ok(true),
        (_, Some(said), _) => Ok(said),
        (Door::Session, None, Some(from)) => {
            let from = handoffs::find(view, from)?;
            let note = format!("Routed to {}", entry.agent_name);
            Ok(from.is_some_and(|from| {
                from.completed_at == Some(entry.started_at) && from.output.as_str() == note
            }))
        }
        _ => Ok(false),
    }
}

/// Imports the conversation that moved with a hand-off of a session. The first hand-off creates the session.
fn import_move(
    tx: &Tx<'_>,
    (task_number, task): (i64, &Task),
    (handoff_number, entry): (i64, &ChainEntry),
    moved: &MovedConversation,
) -> Result<()> {
    let contradictory = |what: &str| {
        StoreError::inconsistent(format!("hand-off {} of a session has no {what}", entry.id))
    };
    let session_id = task.session_id.as_ref().map(ToString::to_string);
    let session_id = SessionId::parse(session_id.unwrap_or_default())
        .map_err(|_| contradictory("session id"))?;
    let session_number = match sessions::find_number_of_task(tx, task_number)? {
        Some(number) => number,
        None => sessions::insert(tx, &session_id, task_number, task.created_at)?,
    };
    let row = sessions::NewSessionHandoff {
        session_number,
        handoff_number,
        from_agent: entry
            .from_agent
            .as_ref()
            .ok_or_else(|| contradictory("source agent"))?,
        to_agent: &entry.agent_name,
        harness_trace_id: moved.harness_trace_id.as_ref(),
        history: &moved.history,
    };
    sessions::insert_handoff(tx, &row)
}
