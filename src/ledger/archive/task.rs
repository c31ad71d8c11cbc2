//! Importing a task with its hand-offs, messages, events and attachments.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::domain::{
    ArchivedRun, ChainEntry, Door, Event, HandoffId, HandoffLinks, MovedConversation, RunId,
    RunState, Runs, SessionId, Task, TaskArchive,
};
use crate::store::tables::archived_links::{self, Target};
use crate::store::tables::events::{self, EventNumbers};
use crate::store::tables::{
    archived_runs, attachments, handoffs, messages, queue_messages, reports, requests, runs,
    sessions, tasks,
};
use crate::store::{Result, StoreError, Tx, View};

/// The state of an import that all its tasks share.
pub struct Shared<'a> {
    /// The messages of the archive are numbered from here.
    pub messages_before: i64,
    /// The events of the archive are numbered from here; `None` if they have no numbers.
    pub events_before: Option<i64>,
    /// The open hand-offs whose jobs still run elsewhere.
    pub jobs: HashSet<&'a HandoffId>,
}

/// Imports a task without its runs that have not ended, which are returned with the numbers of their hand-offs.
pub fn import_task(
    tx: &Tx<'_>,
    archive: &TaskArchive,
    shared: &Shared<'_>,
) -> Result<(i64, Vec<(i64, ArchivedRun)>)> {
    let TaskArchive {
        task,
        history,
        queue,
        conversation,
        runs,
        links,
        folders,
    } = archive;
    let links_of: HashMap<_, _> = links
        .handoffs
        .iter()
        .map(|links| (&links.handoff_id, links))
        .collect();
    let known = with_known_plan(tx, task)?;
    let number = tasks::insert(tx, known.as_ref())?;
    let mut handoff_numbers: HashMap<&HandoffId, i64> = HashMap::new();
    for (position, entry) in (1..).zip(task.agent_chain()) {
        let request = entry.request.as_ref();
        let moved = request.and_then(|request| request.moved.as_ref());
        let from = request.and_then(|request| request.from_handoff_id.as_ref());
        let links = links_of.get(&entry.id).copied();
        let to = LinkedTo::find(tx, number, links)?;
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
            waiter_number: to.waiter,
            asked_number: to.asked,
            trace_id: request.and_then(|request| request.trace_id.as_ref()),
            parent_span_id: links.and_then(|links| links.parent_span_id.as_ref()),
            is_invoked: moved.is_none_or(|moved| moved.is_invoked),
            takes_control: takes_control(tx, entry)?,
            counted_from: to.counted_from,
            is_chat: links.is_some_and(|links| links.chat),
        };
        let handoff_number = handoffs::insert(tx, &row)?;
        if let Some(report) = request.and_then(|request| request.report.as_ref()) {
            let at = links.and_then(|links| links.reported_at);
            reports::insert(tx, handoff_number, report, at.unwrap_or(tx.now))?;
        }
        if let Some(moved) = moved {
            import_move(tx, (number, task), (handoff_number, entry), moved)?;
        }
        handoff_numbers.insert(&entry.id, handoff_number);
    }
    let unended = import_runs(tx, task, runs.as_ref(), &handoff_numbers, &shared.jobs)?;
    archived_links::update_task(tx, number, links)?;
    if let Some(id) = &links.counted_from_handoff_id {
        archived_links::update_counted_from(tx, number, id)?;
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
        let message_number = shared.messages_before.saturating_add(message.number);
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
        insert_event(tx, shared.events_before, about, event)?;
    }
    for message in &queue.messages {
        queue_messages::insert(tx, number, message)?;
    }
    Ok((number, unended))
}

/// Inserts an event, under its number in the archive if it has one.
pub fn insert_event(
    tx: &Tx<'_>,
    before: Option<i64>,
    about: EventNumbers,
    event: &Event,
) -> Result<()> {
    match before.zip(event.number) {
        Some((before, number)) => {
            events::insert_numbered(tx, before.saturating_add(number), about, event)
        }
        None => events::insert(tx, about, event).map(drop),
    }
}

/// Inserts the ended runs of a task, and returns the others with the numbers of their hand-offs. An open hand-off always has a run,
/// so that a server ends it.
fn import_runs(
    tx: &Tx<'_>,
    task: &Task,
    runs: Option<&Runs>,
    handoff_numbers: &HashMap<&HandoffId, i64>,
    jobs: &HashSet<&HandoffId>,
) -> Result<Vec<(i64, ArchivedRun)>> {
    let mut unended = Vec::new();
    for run in runs.iter().flat_map(|runs| &runs.runs) {
        let Some(number) = handoff_numbers.get(&run.handoff_id).copied() else {
            return Err(StoreError::inconsistent(format!(
                "run {} belongs to another task",
                run.id
            )));
        };
        if run.state == RunState::Ended {
            archived_runs::insert(tx, number, run)?;
        } else {
            unended.push((number, run.clone()));
        }
    }
    let Some(open) = task.open_handoff() else {
        return Ok(unended);
    };
    let number = handoff_numbers[&open.id];
    let has_run = |run: &ArchivedRun| run.handoff_id == open.id;
    if unended.iter().any(|(_, run)| has_run(run)) {
        return Ok(unended);
    }
    let ended = runs.iter().flat_map(|runs| &runs.runs);
    let attempt = ended
        .filter(|run| has_run(run))
        .map(|run| run.attempt)
        .max();
    let attempt = attempt.unwrap_or_default() + 1;
    if !jobs.contains(&open.id) {
        // The run was on another machine. The next server finds no run directory here, and ends the run.
        runs::insert_running(tx, &RunId::new(), number, attempt, open.started_at)?;
    } else if attempt == 1 {
        runs::insert_completed(tx, &RunId::new(), number, open.started_at)?;
    }
    Ok(unended)
}

/// The hand-offs to which an imported one is linked. Links that the ledger does not allow are left out.
#[derive(Default)]
struct LinkedTo {
    waiter: Option<i64>,
    asked: Option<i64>,
    counted_from: Option<i64>,
}

impl LinkedTo {
    fn find(view: &View<'_>, task_number: i64, links: Option<&HandoffLinks>) -> Result<Self> {
        let Some(links) = links else {
            return Ok(Self::default());
        };
        let root = tasks::find_root_number(view, task_number)?;
        let target = |id: &Option<HandoffId>| -> Result<Option<Target>> {
            let found = id.as_ref().map(|id| archived_links::find_target(view, id));
            let found = found.transpose()?.flatten();
            Ok(found.filter(|found| found.root_number == root))
        };
        let waiter = target(&links.waiter_handoff_id)?.map(|waiter| waiter.number);
        let asked = target(&links.asked_handoff_id)?
            .filter(|asked| asked.asked_number.is_none() && asked.waiter_number == waiter);
        let counted_from = target(&links.counted_from_handoff_id)?
            .filter(|start| start.counted_from_number.is_none());
        Ok(Self {
            waiter,
            asked: asked.map(|asked| asked.number),
            counted_from: counted_from.map(|start| start.number),
        })
    }
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
