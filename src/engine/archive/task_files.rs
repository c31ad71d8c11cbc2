//! Reads the files of one task.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::reader::{ArchiveDir, BadFile};
use crate::domain::{
    ArchivedRun, ChainEntry, Conversation, Filename, HandoffId, History, MOST_NUMBER, Outcome,
    Queue, RunId, RunState, Runs, SessionId, Task, TaskArchive, TaskId, TaskLinks,
};

/// A task that passed the check.
pub(super) struct PlannedTask {
    pub id: TaskId,
    /// The session that the task belongs to.
    pub session: Option<SessionId>,
    pub handoffs: Vec<HandoffId>,
    pub runs: Vec<RunId>,
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
    let task: Task = archive.read_timed(&folder.join("task.json"))?;
    if task.id != *id {
        return bad(
            "task.json",
            format!("contains the task {}, not {id}", task.id),
        );
    }
    let ends_early = |entry: &&ChainEntry| {
        let end = entry.end.as_ref();
        end.is_some_and(|end| end.at < entry.started_at)
    };
    if let Some(entry) = task.agent_chain().iter().find(ends_early) {
        return bad(
            "task.json",
            format!("hand-off {} completed before it started", entry.id),
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
    let history: History = archive.read_timed(&folder.join("history.json"))?;
    for event in &history.events {
        if event.task_id.is_some() {
            return bad(
                "history.json",
                "an event has a `taskId`, which an archive does not contain".into(),
            );
        }
        if let Some(problem) = number_problem(event.number) {
            return bad("history.json", problem);
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
    if let Some(problem) = problem_of_ends(&task, &history) {
        return bad("history.json", problem);
    }
    let queue: Queue = archive.read_timed(&folder.join("queue.json"))?;
    let mut conversation: Conversation = archive
        .read_if_present(&folder.join("messages.json"))?
        .unwrap_or_default();
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
    let runs: Option<Runs> = archive.read_if_present(&folder.join("runs.json"))?;
    if let Some(problem) = runs.as_ref().and_then(|runs| problem_of_runs(&task, runs)) {
        return bad("runs.json", problem);
    }
    let links: Option<TaskLinks> = archive.read_if_present(&folder.join("links.json"))?;
    if let Some(problem) = links
        .as_ref()
        .and_then(|links| problem_of_links(&task, links))
    {
        return bad("links.json", problem);
    }
    Ok(TaskArchive {
        task,
        history,
        queue,
        conversation,
        runs,
        links: links.unwrap_or_default(),
        folders: Vec::new(),
    })
}

/// Describes why an event cannot have its number.
pub(super) fn number_problem(number: Option<i64>) -> Option<String> {
    let number = number.filter(|number| !(1..=MOST_NUMBER).contains(number))?;
    Some(format!(
        "event number {number} is not between 1 and {MOST_NUMBER}"
    ))
}

/// Describes a hand-off that ends while it is open, or twice.
fn problem_of_ends(task: &Task, history: &History) -> Option<String> {
    let mut ended = HashSet::new();
    let ends = history
        .events
        .iter()
        .filter(|event| event.event_type.ends_handoff());
    for id in ends.filter_map(|event| event.handoff_id.as_ref()) {
        let mut chain = task.agent_chain().iter();
        if chain.any(|entry| entry.id == *id && entry.is_open()) {
            return Some(format!("an event ends hand-off {id}, which is open"));
        }
        if !ended.insert(id) {
            return Some(format!("a second event ends hand-off {id}"));
        }
    }
    None
}

fn problem_of_runs(task: &Task, Runs { runs }: &Runs) -> Option<String> {
    let (mut ids, mut attempts) = (HashSet::new(), HashSet::new());
    let mut completed = HashSet::new();
    let (mut last, mut unended) = (HashMap::new(), None::<&ArchivedRun>);
    for run in runs {
        let id = &run.id;
        if let Err(problem) = run.check() {
            return Some(format!("run {id}: {problem}"));
        }
        let mut chain = task.agent_chain().iter();
        let Some(entry) = chain.find(|entry| entry.id == run.handoff_id) else {
            let handoff = &run.handoff_id;
            return Some(format!(
                "run {id} names hand-off {handoff}, which is not a hand-off of the task"
            ));
        };
        if !ids.insert(id) {
            return Some(format!("run id {id} is used twice"));
        }
        if !attempts.insert((&entry.id, run.attempt)) {
            let attempt = run.attempt;
            return Some(format!("run {id}: attempt {attempt} is used twice"));
        }
        if run.outcome == Some(Outcome::Completed) && !completed.insert(&entry.id) {
            let handoff = &entry.id;
            return Some(format!(
                "run {id} is the second one that completed hand-off {handoff}"
            ));
        }
        if run.state != RunState::Ended {
            if !entry.is_open() {
                return Some(format!("run {id} has not ended, but its hand-off has"));
            }
            if unended.replace(run).is_some() {
                return Some(format!("run {id} is the second one that has not ended"));
            }
        }
        let last = last.entry(&entry.id).or_insert(run.attempt);
        *last = run.attempt.max(*last);
    }
    let run = unended.filter(|run| last[&run.handoff_id] > run.attempt)?;
    Some(format!(
        "run {} has not ended, but a later attempt has",
        run.id
    ))
}

fn problem_of_links(task: &Task, links: &TaskLinks) -> Option<String> {
    if links.unsuited && task.routing.waiting_reason.is_none() {
        return Some("`unsuited` requires a `waitingReason` of the task".to_owned());
    }
    let mut ids = HashSet::new();
    for links in &links.handoffs {
        let id = &links.handoff_id;
        let mut chain = task.agent_chain().iter();
        let Some(entry) = chain.find(|entry| entry.id == *id) else {
            return Some(format!("names {id}, which is not a hand-off of the task"));
        };
        if !ids.insert(id) {
            return Some(format!("hand-off {id} is listed twice"));
        }
        let delivered = links
            .delegation
            .as_ref()
            .and_then(|asked| asked.delivered_at);
        if delivered.is_some() && entry.is_open() {
            return Some(format!("the answer of {id} was delivered before its end"));
        }
    }
    None
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
