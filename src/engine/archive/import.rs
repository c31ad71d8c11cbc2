//! Takes in a ledger that was written as files.
//!
//! Everything is read and checked first, and every bad file is named. Only then are the files read again and
//! written in one transaction.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::one_file::{self, Planned, check_all, file_of};
use super::reader::{ArchiveDir, BadFile};
use super::{ArchiveError, Progress, ROUTES, VERSION, at};
use crate::config::DataDir;
use crate::domain::{
    Agent, Alert, AlertId, AttachmentId, ChainEntry, Conversation, Filename, HandoffId, History,
    Increment, IncrementId, KindRule, Mail, MailId, MessageId, Mode, Queue, Request, RequestId,
    SessionId, Task, TaskArchive, TaskId, TaskSummary, Tool,
};
use crate::engine::Engine;
use crate::engine::attachments::write_upload;
use crate::ledger;
use crate::ledger::request::{self, kind_rules};
use crate::ledger::{alert, increment, task};
use crate::store::{Import, ImportSource, Imported, StoreError};

/// How an import goes about what is bad or already there.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportOptions {
    /// Bad files are left out instead of ending the import.
    pub skip_bad: bool,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    /// What came in.
    pub imported: Imported,
    /// What was left out, and why.
    pub left_out: Vec<BadFile>,
    /// The attachments whose bytes are not in the archive.
    pub missing_attachments: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Registry {
    version: u32,
    tasks: Vec<TaskSummary>,
}

impl Engine {
    /// Imports an archive: all of it, or with `skip_bad` all that is good, or nothing.
    pub async fn import(
        &self,
        from: &Path,
        options: ImportOptions,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<ImportReport, ArchiveError> {
        let archive = ArchiveDir::new(from);
        if !archive.path("registry/registry.json").is_file() {
            return Err(ArchiveError::NotAnArchive(from.to_owned()));
        }
        let mut plan = blocking({
            let archive = archive.clone();
            move || Plan::check(&archive, progress)
        })
        .await?;
        self.leave_out_what_is_there(&mut plan).await?;
        if !plan.bad.is_empty() && !options.skip_bad {
            return Err(ArchiveError::Bad(plan.bad));
        }
        let uploads = Uploads::copy(&self.options.data_dir, &archive, &plan.tasks)?;
        let mut ids = uploads.ids.clone();
        let requests = source(&archive, plan.requests);
        let alerts = source(&archive, plan.alerts);
        let increments = source(&archive, plan.increments);
        let mail = source(&archive, plan.mail);
        let tasks = plan.tasks.into_iter().map(move |planned| {
            let mut task = read_task(&archive, &planned.id)?;
            task.attachment_ids = ids.remove(&planned.id).unwrap_or_default();
            Ok(task)
        });
        let import = Import {
            agents: plan.agents,
            tools: plan.tools,
            routes: plan.routes,
            increments,
            tasks: Box::new(tasks),
            requests,
            alerts,
            mail,
        };
        let imported = self.store.import(import).await?;
        let missing_attachments = uploads.keep();
        Ok(ImportReport {
            imported,
            left_out: plan.bad,
            missing_attachments,
        })
    }

    async fn has_increment(&self, id: &IncrementId) -> Result<bool, ArchiveError> {
        let id = id.clone();
        let found = self
            .store
            .db()
            .read(move |view| increment::find_workspace(view, &id))
            .await?;
        Ok(found.is_some())
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        let db = self.store.db();
        db.read(move |view| ledger::session::exists(view, &id))
            .await
    }

    /// Names what would be there twice.
    async fn leave_out_what_is_there(&self, plan: &mut Plan) -> Result<(), ArchiveError> {
        let mut tasks = Vec::new();
        for task in std::mem::take(&mut plan.tasks) {
            let message = if {
                let id = task.id.clone();
                self.store
                    .db()
                    .read(move |view| task::find_workspace(view, &id))
                    .await?
                    .is_some()
            } {
                format!("task {} is already in the database", task.id)
            } else if let Some(session) = &task.session
                && self.has_session(session).await?
            {
                format!("session {session} is already in the database")
            } else {
                tasks.push(task);
                continue;
            };
            plan.bad.push(BadFile {
                file: task_folder(&task.id).join("task.json"),
                line: None,
                message,
            });
        }
        plan.tasks = tasks;
        let mut agents = Vec::new();
        for agent in std::mem::take(&mut plan.agents) {
            match self.store.agent(&agent.name).await? {
                Some(there) if there != agent => plan.bad.push(BadFile {
                    file: agent_file(agent.name.as_str()),
                    line: None,
                    message: format!(
                        "agent {} is already in the database, with another configuration",
                        there.name
                    ),
                }),
                _ => agents.push(agent),
            }
        }
        plan.agents = agents;
        let mut tools = Vec::new();
        for tool in std::mem::take(&mut plan.tools) {
            let target = &tool.target_agent;
            let message = if self
                .store
                .tool(&tool.name)
                .await?
                .is_some_and(|there| there != tool)
            {
                format!(
                    "tool {} is already in the database, and is another one",
                    tool.name
                )
            } else if !plan.agents.iter().any(|agent| agent.name == *target)
                && self.store.agent(target).await?.is_none()
            {
                format!("its target {target} is no agent of the archive or the database")
            } else {
                tools.push(tool);
                continue;
            };
            plan.bad.push(BadFile {
                file: Path::new("tools").join(format!("{}.json", tool.name)),
                line: None,
                message,
            });
        }
        plan.tools = tools;
        self.leave_out_single_files(plan).await?;
        self.leave_out_routes(plan).await
    }

    async fn leave_out_single_files(&self, plan: &mut Plan) -> Result<(), ArchiveError> {
        let is_there = |file: PathBuf, what: &str| BadFile {
            file,
            line: None,
            message: format!("{what} is already in the database"),
        };
        let mut requests = Vec::new();
        for planned in std::mem::take(&mut plan.requests) {
            match RequestId::parse(planned.id.as_str()) {
                Ok(id) if self.has_request(&id).await? => plan.bad.push(is_there(
                    file_of::<Request>(&planned.id),
                    &format!("request {id}"),
                )),
                _ => requests.push(planned),
            }
        }
        plan.requests = requests;
        let mut alerts = Vec::new();
        for planned in std::mem::take(&mut plan.alerts) {
            match AlertId::parse(planned.id.as_str()) {
                Ok(id) if self.has_alert(&id).await? => plan.bad.push(is_there(
                    file_of::<Alert>(&planned.id),
                    &format!("alert {id}"),
                )),
                _ => alerts.push(planned),
            }
        }
        plan.alerts = alerts;
        let mut increments = Vec::new();
        for planned in std::mem::take(&mut plan.increments) {
            match IncrementId::parse(planned.id.as_str()) {
                Ok(id) if self.has_increment(&id).await? => plan.bad.push(is_there(
                    file_of::<Increment>(&planned.id),
                    &format!("increment {id}"),
                )),
                _ => increments.push(planned),
            }
        }
        plan.increments = increments;
        let mut mail = Vec::new();
        for planned in std::mem::take(&mut plan.mail) {
            match MailId::parse(planned.id.as_str()) {
                Ok(id) if self.store.find_mail(&id).await?.is_some() => plan.bad.push(is_there(
                    file_of::<Mail>(&planned.id),
                    &format!("mail {id}"),
                )),
                _ => mail.push(planned),
            }
        }
        plan.mail = mail;
        Ok(())
    }

    async fn has_request(&self, id: &RequestId) -> Result<bool, ArchiveError> {
        let id = id.clone();
        let found = self.store.db().read(move |view| request::exists(view, &id));
        Ok(found.await?)
    }

    async fn has_alert(&self, id: &AlertId) -> Result<bool, ArchiveError> {
        let id = id.clone();
        let found = self.store.db().read(move |view| alert::exists(view, &id));
        Ok(found.await?)
    }

    /// Leaves routes alone that somebody has set. The default ones give way.
    async fn leave_out_routes(&self, plan: &mut Plan) -> Result<(), ArchiveError> {
        if let Some(routes) = &plan.routes
            && self.store.db().read(kind_rules::are_chosen).await?
            && self.store.db().read(kind_rules::list).await? != *routes
        {
            plan.routes = None;
            plan.bad.push(BadFile {
                file: ROUTES.into(),
                line: None,
                message: "somebody has set other routes in the database".to_owned(),
            });
        }
        Ok(())
    }
}

/// Reads what was planned, once more, while it is written.
fn source<T: one_file::OneFile>(archive: &ArchiveDir, planned: Vec<Planned>) -> ImportSource<T> {
    let archive = archive.clone();
    Box::new(
        planned
            .into_iter()
            .map(move |planned| Ok(one_file::read(&archive, &file_of::<T>(&planned.id))?)),
    )
}

async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    tokio::task::spawn_blocking(run)
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// A task that can be imported.
struct PlannedTask {
    id: TaskId,
    /// The session that it is the task of.
    session: Option<SessionId>,
    attachments: Vec<Filename>,
}

/// What an archive holds, good and bad.
struct Plan {
    tasks: Vec<PlannedTask>,
    agents: Vec<Agent>,
    tools: Vec<Tool>,
    requests: Vec<Planned>,
    alerts: Vec<Planned>,
    increments: Vec<Planned>,
    mail: Vec<Planned>,
    routes: Option<Vec<KindRule>>,
    bad: Vec<BadFile>,
}

impl Plan {
    fn check(archive: &ArchiveDir, progress: impl Fn(Progress)) -> Result<Self, ArchiveError> {
        let index = Path::new("registry/registry.json");
        let registry: Registry = archive
            .read(index)
            .map_err(|bad| ArchiveError::Bad(vec![bad]))?;
        if registry.version != VERSION {
            let message = format!(
                "version {} is not known; this is version {VERSION}",
                registry.version
            );
            return Err(ArchiveError::Bad(vec![BadFile {
                file: index.into(),
                line: None,
                message,
            }]));
        }
        let mut plan = Self {
            tasks: Vec::new(),
            agents: Vec::new(),
            tools: Vec::new(),
            requests: Vec::new(),
            alerts: Vec::new(),
            increments: Vec::new(),
            mail: Vec::new(),
            routes: None,
            bad: Vec::new(),
        };
        plan.check_folders(archive, &registry);
        let total = registry.tasks.len() as u64;
        let mut seen = Seen::default();
        for (done, summary) in (1..).zip(registry.tasks) {
            match read_task(archive, &summary.id).and_then(|task| seen.add(task)) {
                Ok(task) => plan.tasks.push(task),
                Err(bad) => plan.bad.push(bad),
            }
            progress(Progress { done, total });
        }
        plan.leave_out_cycles(&seen.waits_for);
        plan.check_agents(archive);
        plan.check_tools(archive);
        plan.requests = check_all(archive, &mut plan.bad, |request: &Request| {
            let id = request.handoff_id.as_ref()?;
            let has_ended = seen.handoffs.get(id) == Some(&false);
            has_ended.then(|| format!("it is claimed by the hand-off {id}, which has ended"))
        });
        plan.alerts = check_all(archive, &mut plan.bad, |_: &Alert| None);
        plan.increments = check_all(archive, &mut plan.bad, |_: &Increment| None);
        plan.mail = check_all(archive, &mut plan.bad, |_: &Mail| None);
        plan.check_routes(archive);
        Ok(plan)
    }

    /// Names the tasks that would wait for each other for ever.
    fn leave_out_cycles(&mut self, waits_for: &HashMap<TaskId, Vec<TaskId>>) {
        let mut waiters: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
        let mut waiting: HashMap<&TaskId, usize> = HashMap::new();
        for (task, others) in waits_for {
            let others = others.iter().filter(|other| waits_for.contains_key(other));
            let mut count = 0;
            for other in others {
                waiters.entry(other).or_default().push(task);
                count += 1;
            }
            waiting.insert(task, count);
        }
        // Whoever waits for nobody lets those go that wait for it; who is left waits in a circle, or for one.
        let mut free: Vec<_> = waiting
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(task, _)| *task)
            .collect();
        while let Some(task) = free.pop() {
            waiting.remove(task);
            for waiter in waiters.remove(task).unwrap_or_default() {
                if let Some(count) = waiting.get_mut(waiter) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(waiter);
                    }
                }
            }
        }
        let in_cycle = |task: &PlannedTask| waiting.contains_key(&task.id);
        self.bad.extend(
            self.tasks
                .iter()
                .filter(|task| in_cycle(task))
                .map(|task| BadFile {
                    file: task_folder(&task.id).join("task.json"),
                    line: None,
                    message: "waits for tasks that wait for each other (`dependsOn`)".to_owned(),
                }),
        );
        self.tasks.retain(|task| !in_cycle(task));
    }

    fn check_routes(&mut self, archive: &ArchiveDir) {
        let file = Path::new(ROUTES);
        let folder = file.parent().expect("the routes are in a folder");
        match archive.names(&folder.to_string_lossy()) {
            Err(bad) => return self.bad.push(bad),
            Ok(names) if names.is_empty() => return,
            Ok(names) => {
                for name in names {
                    let other = folder.join(name);
                    if other != file {
                        self.bad.push(BadFile {
                            file: other,
                            line: None,
                            message: format!("is not known; only {ROUTES} is"),
                        });
                    }
                }
            }
        }
        let routes = archive.read::<Vec<KindRule>>(file).and_then(|routes| {
            let checked = KindRule::check_all(&routes).map_err(|problems| BadFile {
                file: file.to_owned(),
                line: None,
                message: problems.to_string(),
            });
            checked.map(|()| routes)
        });
        match routes {
            Ok(routes) => self.routes = Some(routes),
            Err(bad) => self.bad.push(bad),
        }
    }

    /// Names the folders that the index does not know: their tasks would be lost.
    fn check_folders(&mut self, archive: &ArchiveDir, registry: &Registry) {
        let indexed: HashSet<&str> = registry
            .tasks
            .iter()
            .map(|summary| summary.id.as_str())
            .collect();
        match archive.names("registry") {
            Err(bad) => self.bad.push(bad),
            Ok(names) => {
                for name in names {
                    if name != "registry.json" && !indexed.contains(name.as_str()) {
                        self.bad.push(BadFile {
                            file: Path::new("registry").join(name),
                            line: None,
                            message: "is not in the index registry/registry.json".to_owned(),
                        });
                    }
                }
            }
        }
    }

    fn check_tools(&mut self, archive: &ArchiveDir) {
        let names = match archive.names("tools") {
            Ok(names) => names,
            Err(bad) => return self.bad.push(bad),
        };
        for name in names {
            let file = Path::new("tools").join(&name);
            match archive.read::<Tool>(&file) {
                Ok(tool) => match problem_of(&tool, &name) {
                    None => self.tools.push(tool),
                    Some(message) => self.bad.push(BadFile {
                        file,
                        line: None,
                        message,
                    }),
                },
                Err(bad) => self.bad.push(bad),
            }
        }
    }

    fn check_agents(&mut self, archive: &ArchiveDir) {
        let names = match archive.names("agents") {
            Ok(names) => names,
            Err(bad) => return self.bad.push(bad),
        };
        let mut seen = HashSet::new();
        for name in names {
            let file = Path::new("agents").join(&name);
            if !seen.insert(name.to_ascii_lowercase()) {
                let message = "differs from another agent only in upper and lower case".to_owned();
                self.bad.push(BadFile {
                    file,
                    line: None,
                    message,
                });
                continue;
            }
            match archive.read::<Agent>(&file) {
                Ok(agent) if !agent.check_new_name().0.is_empty() => self.bad.push(BadFile {
                    message: agent.check_new_name().to_string(),
                    line: None,
                    file,
                }),
                Ok(agent) if name == format!("{}.json", agent.name) => self.agents.push(agent),
                Ok(agent) => self.bad.push(BadFile {
                    message: format!(
                        "holds the agent {}, so it must be called {}.json",
                        agent.name, agent.name
                    ),
                    line: None,
                    file,
                }),
                Err(bad) => self.bad.push(bad),
            }
        }
    }
}

/// The ids that were met so far: each stands for one thing.
#[derive(Default)]
struct Seen {
    tasks: HashSet<TaskId>,
    /// The hand-offs, and whether they are open.
    handoffs: HashMap<HandoffId, bool>,
    messages: HashSet<MessageId>,
    sessions: HashSet<SessionId>,
    said: HashSet<i64>,
    /// What tasks wait for.
    waits_for: HashMap<TaskId, Vec<TaskId>>,
    transferred: HashSet<HandoffId>,
}

impl Seen {
    fn add(&mut self, archive: TaskArchive) -> Result<PlannedTask, BadFile> {
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
                format!("task {} stands twice in the index", archive.task.id),
            );
        }
        for entry in archive.task.agent_chain() {
            let before = self.handoffs.insert(entry.id.clone(), entry.is_open());
            if before.is_some() {
                return bad(
                    "task.json",
                    format!("the hand-off id {} is used twice", entry.id),
                );
            }
        }
        for entry in archive.task.agent_chain() {
            let from = entry
                .request
                .as_ref()
                .and_then(|asked| asked.from_handoff_id.as_ref());
            if let Some(from) = from.filter(|_| entry.mode == Mode::Transfer)
                && !self.transferred.insert(from.clone())
            {
                return bad(
                    "task.json",
                    format!("control was passed on from the hand-off {from} twice"),
                );
            }
        }
        for message in &archive.conversation.messages {
            if !self.said.insert(message.number) {
                return bad(
                    "messages.json",
                    format!("the message number {} is used twice", message.number),
                );
            }
        }
        for message in &archive.queue.messages {
            if !self.messages.insert(message.id.clone()) {
                return bad(
                    "queue.json",
                    format!("the message id {} is used twice", message.id),
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
        let attachments = archive
            .task
            .attachments
            .into_iter()
            .map(|attachment| attachment.filename)
            .collect();
        Ok(PlannedTask {
            id: archive.task.id,
            session,
            attachments,
        })
    }
}

/// Finds what is wrong with a tool of the archive.
fn problem_of(tool: &Tool, file: &str) -> Option<String> {
    if file != format!("{}.json", tool.name) {
        let name = &tool.name;
        return Some(format!(
            "holds the tool {name}, so it must be called {name}.json"
        ));
    }
    if let Err(problems) = tool.check() {
        return Some(problems.to_string());
    }
    None
}

fn task_folder(id: &TaskId) -> PathBuf {
    Path::new("registry").join(id.as_str())
}

fn agent_file(name: &str) -> PathBuf {
    Path::new("agents").join(format!("{name}.json"))
}

/// Reads and checks the files of one task.
fn read_task(archive: &ArchiveDir, id: &TaskId) -> Result<TaskArchive, BadFile> {
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
        return bad("task.json", format!("holds the task {}, not {id}", task.id));
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
                "an event has a `number` or `taskId`, which an archive does not keep".into(),
            );
        }
        if let Some(handoff) = &event.handoff_id
            && !task.agent_chain().iter().any(|entry| entry.id == *handoff)
        {
            return bad(
                "history.json",
                format!("an event is about a hand-off {handoff} that the task does not have"),
            );
        }
    }
    let queue: Queue = archive.read(&folder.join("queue.json"))?;
    let file = folder.join("messages.json");
    let conversation: Conversation = if archive.path(&file).exists() {
        archive.read(&file)?
    } else {
        Conversation::default()
    };
    if let Some(handoff) = unknown_handoff(&task, &conversation) {
        return bad(
            "messages.json",
            format!("a message is about a hand-off {handoff} that the task does not have"),
        );
    }
    Ok(TaskArchive {
        task,
        history,
        queue,
        conversation,
        attachment_ids: Vec::new(),
    })
}

/// Finds the session that a task is the task of: one of its hand-offs moved a conversation.
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
            "hand-off {} of a session needs `fromAgent`",
            entry.id
        ));
    }
    let id = task.session_id.as_ref().map_or("", |id| id.as_str());
    match SessionId::parse(id) {
        Ok(id) => Ok(Some(id)),
        Err(error) => Err(format!(
            "`sessionId` of a task whose conversation moved {error}"
        )),
    }
}

/// Finds a message that is about a hand-off of another task.
fn unknown_handoff<'a>(task: &Task, conversation: &'a Conversation) -> Option<&'a HandoffId> {
    let known: HashSet<_> = task.agent_chain().iter().map(|entry| &entry.id).collect();
    let mut named = conversation
        .messages
        .iter()
        .filter_map(|message| message.handoff_id.as_ref());
    named.find(|id| !known.contains(id))
}

impl std::error::Error for BadFile {}

/// Attachments that were copied, and are removed again unless they are kept.
struct Uploads {
    ids: HashMap<TaskId, Vec<AttachmentId>>,
    folders: Vec<PathBuf>,
    missing: Vec<PathBuf>,
}

impl Uploads {
    fn copy(
        data_dir: &DataDir,
        archive: &ArchiveDir,
        tasks: &[PlannedTask],
    ) -> Result<Self, ArchiveError> {
        let mut uploads = Self {
            ids: HashMap::new(),
            folders: Vec::new(),
            missing: Vec::new(),
        };
        for task in tasks {
            for filename in &task.attachments {
                let id = AttachmentId::new();
                let folder = data_dir.upload(&task.id, &id);
                let file = task_folder(&task.id)
                    .join("attachments")
                    .join(filename.as_str());
                let path = archive.path(&file);
                if path.symlink_metadata().is_ok_and(|file| file.is_file()) {
                    let bytes = std::fs::read(&path).map_err(at(&path))?;
                    uploads.folders.push(folder.clone());
                    write_upload(&folder, filename, &bytes).map_err(at(&folder))?;
                } else {
                    uploads.missing.push(file);
                }
                uploads.ids.entry(task.id.clone()).or_default().push(id);
            }
        }
        Ok(uploads)
    }

    /// Keeps what was copied, and returns what could not be.
    fn keep(mut self) -> Vec<PathBuf> {
        self.folders.clear();
        std::mem::take(&mut self.missing)
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        for folder in &self.folders {
            if let Err(error) = std::fs::remove_dir_all(folder) {
                tracing::warn!(%error, folder = %folder.display(), "an attachment of a failed import stays on disk");
            }
        }
    }
}
