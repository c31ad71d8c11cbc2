//! Reads the files of one task.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::reader::{ArchiveDir, BadFile};
use crate::domain::{
    Conversation, Filename, HandoffId, History, Queue, SessionId, Task, TaskArchive, TaskId,
};

/// A task that passed the check.
pub(super) struct PlannedTask {
    pub id: TaskId,
    /// The session that the task belongs to.
    pub session: Option<SessionId>,
    pub attachments: Vec<Filename>,
}

pub(super) fn task_folder(id: &TaskId) -> PathBuf {
    Path::new("registry").join(id.as_str())
}

pub(super) fn read_task(archive: &ArchiveDir, id: &TaskId) -> Result<TaskArchive, BadFile> {
    let folder = task_folder(id);
    let bad = |file: &str, message: String| {
        Err(BadFile {
            file: folder.join(file),
            line: None,
            message,
        })
    };
    let task: Task = archive.read(&folder.join("task.json"))?;
    if task.id != *id {
        return bad(
            "task.json",
            format!("contains the task {}, not {id}", task.id),
        );
    }
    let mut filenames = HashSet::new();
    for attachment in &task.attachments {
        if !filenames.insert(&attachment.filename) {
            return bad(
                "task.json",
                format!("has two attachments called {}", attachment.filename),
            );
        }
        if i64::try_from(attachment.size).is_err() {
            return bad(
                "task.json",
                format!("has an attachment of {} bytes", attachment.size),
            );
        }
    }
    let history: History = archive.read(&folder.join("history.json"))?;
    for event in &history.events {
        if event.number.is_some() || event.task_id.is_some() {
            return bad(
                "history.json",
                "an event has a `number` or `taskId`, which an archive does not contain".into(),
            );
        }
        if let Some(handoff) = &event.handoff_id
            && !task.agent_chain().iter().any(|entry| entry.id == *handoff)
        {
            return bad(
                "history.json",
                format!("an event names hand-off {handoff}, which is not a hand-off of the task"),
            );
        }
    }
    let queue: Queue = archive.read(&folder.join("queue.json"))?;
    let file = folder.join("messages.json");
    let has_messages = archive.path(&file).symlink_metadata().is_ok();
    let mut conversation: Conversation = if has_messages {
        archive.read(&file)?
    } else {
        Conversation::default()
    };
    conversation.mark_prompts();
    let mut messages = conversation.messages.iter();
    if let Some(problem) = messages.find_map(|message| message.check().err()) {
        return bad("messages.json", problem);
    }
    if let Some(handoff) = unknown_handoff(&task, &conversation) {
        return bad(
            "messages.json",
            format!("a message names hand-off {handoff}, which is not a hand-off of the task"),
        );
    }
    Ok(TaskArchive {
        task,
        history,
        queue,
        conversation,
        folders: Vec::new(),
    })
}

/// Finds a message that names a hand-off of another task.
fn unknown_handoff<'a>(task: &Task, conversation: &'a Conversation) -> Option<&'a HandoffId> {
    let known: HashSet<_> = task.agent_chain().iter().map(|entry| &entry.id).collect();
    let mut named = conversation
        .messages
        .iter()
        .filter_map(|message| message.handoff_id.as_ref());
    named.find(|id| !known.contains(id))
}
