//! Checks that the ids of an archive are unique.

use std::collections::{HashMap, HashSet};

use super::reader::BadFile;
use super::task_files::{PlannedTask, task_folder};
use crate::domain::{
    ChainEntry, Door, Event, HandoffId, MessageId, RunId, SessionId, Task, TaskArchive, TaskId,
};

#[derive(Default)]
pub(super) struct Seen {
    tasks: HashSet<TaskId>,
    /// The value is true if the hand-off is open.
    pub handoffs: HashMap<HandoffId, bool>,
    runs: HashSet<RunId>,
    messages: HashSet<MessageId>,
    sessions: HashSet<SessionId>,
    message_numbers: HashSet<i64>,
    event_numbers: HashSet<i64>,
    /// Whether an event has no number, as in archives of earlier versions.
    pub has_unnumbered: bool,
    /// The dependencies of each task that has any.
    pub waits_for: HashMap<TaskId, Vec<TaskId>>,
    transferred: HashSet<HandoffId>,
}

impl Seen {
    /// Adds the ids of a task. A duplicate id is an error.
    pub fn add(&mut self, archive: TaskArchive) -> Result<PlannedTask, BadFile> {
        let bad = |file: &str, message: String| {
            Err(BadFile {
                file: task_folder(&archive.task.id).join(file),
                line: None,
                message,
            })
        };
        if !self.tasks.insert(archive.task.id.clone()) {
            return bad(
                "task.json",
                format!("task {} is listed twice in the index", archive.task.id),
            );
        }
        for entry in archive.task.agent_chain() {
            let before = self.handoffs.insert(entry.id.clone(), entry.is_open());
            if before.is_some() {
                return bad(
                    "task.json",
                    format!("hand-off id {} is used twice", entry.id),
                );
            }
        }
        for entry in archive.task.agent_chain() {
            let from = entry
                .request
                .as_ref()
                .and_then(|asked| asked.from_handoff_id.as_ref());
            if let Some(from) = from.filter(|_| entry.mode == Door::Transfer)
                && !self.transferred.insert(from.clone())
            {
                return bad(
                    "task.json",
                    format!("control was transferred twice from hand-off {from}"),
                );
            }
        }
        for message in &archive.conversation.messages {
            if !self.message_numbers.insert(message.number) {
                return bad(
                    "messages.json",
                    format!("message number {} is used twice", message.number),
                );
            }
        }
        for event in &archive.history.events {
            if let Err(problem) = self.add_event(event) {
                return bad("history.json", problem);
            }
        }
        for run in archive.runs.iter().flat_map(|runs| &runs.runs) {
            if !self.runs.insert(run.id.clone()) {
                return bad("runs.json", format!("run id {} is used twice", run.id));
            }
        }
        for message in &archive.queue.messages {
            if !self.messages.insert(message.id.clone()) {
                return bad(
                    "queue.json",
                    format!("message id {} is used twice", message.id),
                );
            }
        }
        let session = match session_of(&archive.task) {
            Ok(session) => session,
            Err(message) => return bad("task.json", message),
        };
        if let Some(session) = &session
            && !self.sessions.insert(session.clone())
        {
            return bad("task.json", format!("session {session} has two tasks"));
        }
        let depends_on = &archive.task.needs.depends_on;
        if !depends_on.is_empty() {
            let others = depends_on.iter().map(|other| other.task_id.clone());
            self.waits_for
                .insert(archive.task.id.clone(), others.collect());
        }
        let handoffs = archive.task.agent_chain().iter();
        let handoffs = handoffs.map(|entry| entry.id.clone()).collect();
        let runs = archive.runs.into_iter().flat_map(|runs| runs.runs);
        let runs = runs.map(|run| run.id).collect();
        let attachments = archive
            .task
            .attachments
            .into_iter()
            .map(|attachment| attachment.filename)
            .collect();
        Ok(PlannedTask {
            id: archive.task.id,
            session,
            handoffs,
            runs,
            attachments,
        })
    }

    /// Adds the number of an event. A duplicate number is an error.
    pub fn add_event(&mut self, event: &Event) -> Result<(), String> {
        match event.number {
            None => self.has_unnumbered = true,
            Some(number) if !self.event_numbers.insert(number) => {
                return Err(format!("event number {number} is used twice"));
            }
            Some(_) => {}
        }
        Ok(())
    }
}

/// Finds the session of a task. A task belongs to a session if one of its hand-offs moved the session.
fn session_of(task: &Task) -> Result<Option<SessionId>, String> {
    let moves = |entry: &ChainEntry| {
        entry
            .request
            .as_ref()
            .is_some_and(|asked| asked.moved.is_some())
    };
    let mut moves = task
        .agent_chain()
        .iter()
        .filter(|entry| moves(entry))
        .peekable();
    if moves.peek().is_none() {
        return Ok(None);
    }
    if let Some(entry) = moves.find(|entry| entry.from_agent.is_none()) {
        return Err(format!(
            "hand-off {} moved a session, so it needs `fromAgent`",
            entry.id
        ));
    }
    let id = task.session_id.as_ref().map_or("", |id| id.as_str());
    match SessionId::parse(id) {
        Ok(id) => Ok(Some(id)),
        Err(error) => Err(format!(
            "`sessionId` of a task with a moved session {error}"
        )),
    }
}
