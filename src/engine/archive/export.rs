//! Exports the ledger to files.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq};
use tokio::sync::mpsc;

use super::one_file::{OneFile, file_of};
use super::reader::LEDGER;
use super::{ArchiveError, EVENTS, Progress, ROUTES, VERSION, at, places};
use crate::config::DataDir;
use crate::domain::{
    Agent, Alert, Event, Increment, KindRule, LedgerArchive, Mail, Request, TaskArchive, TaskLinks,
    TaskSummary, Text, Tool,
};
use crate::engine::Engine;
use crate::ledger;
use crate::ledger::archive::{self, Numbered};
use crate::store::{Snapshot, View};

/// The number of rows that may be read ahead of the files, per channel.
const AHEAD: usize = 10;

/// An archive has the conversations of agents, and on request their secrets, so that only its owner may open it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Rows for the thread that writes files. An `Err` means that reading failed and the rows are incomplete.
type Rows<T> = mpsc::Receiver<Result<T, ()>>;

#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// The environment variables of agents whose values the archive gets.
    pub with_environment: BTreeSet<String>,
}

/// The numbers of exported items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub tasks: u64,
    pub agents: u64,
    pub tools: u64,
    pub requests: u64,
    pub alerts: u64,
    pub increments: u64,
    pub mail: u64,
    /// The attachments that are missing on disk.
    pub missing_attachments: Vec<PathBuf>,
}

impl Engine {
    /// Exports one snapshot of the ledger to a directory. The directory appears under its name only when it is complete.
    pub async fn export(
        &self,
        to: &Path,
        options: ExportOptions,
        progress: impl Fn(Progress) + Send + 'static,
    ) -> Result<Exported, ArchiveError> {
        if to.exists() && to.read_dir().map_err(at(to))?.next().is_some() {
            return Err(ArchiveError::NotEmpty(to.to_owned()));
        }
        let snapshot = self.db.snapshot().await?;
        let (total, mut few) = snapshot
            .read(|view| {
                let few = Few {
                    agents: ledger::agent::list(view)?,
                    tools: ledger::tool::list(view)?,
                    routes: ledger::request::kind_rules::list(view)?,
                    ledger: archive::ledger(view)?,
                };
                Ok((archive::count_tasks(view)?, few))
            })
            .await?;
        few.hide_values(&options.with_environment)?;
        let (senders, tasks, singles) = Senders::new();
        let files = Files {
            to: to.to_owned(),
            data_dir: self.options.data_dir.clone(),
            tasks: RefCell::new(tasks),
            written: Cell::default(),
            missing_attachments: RefCell::default(),
            failure: RefCell::default(),
            progress: Box::new(move |done| progress(Progress { done, total })),
        };
        let writing = tokio::task::spawn_blocking(move || files.write(&few, singles));
        let read = senders.read(&snapshot).await;
        let written = writing
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        read.and(written)
    }
}

/// The small tables, which are read completely before the first file is written.
struct Few {
    agents: Vec<Agent>,
    tools: Vec<Tool>,
    routes: Vec<KindRule>,
    ledger: LedgerArchive,
}

impl Few {
    /// Removes the values of environment variables, except of those that were named.
    fn hide_values(&mut self, named: &BTreeSet<String>) -> Result<(), ArchiveError> {
        let variables = self
            .agents
            .iter()
            .flat_map(|agent| agent.environment.0.keys());
        let known: BTreeSet<_> = variables.map(Text::as_str).collect();
        if let Some(unknown) = named.iter().find(|name| !known.contains(name.as_str())) {
            return Err(ArchiveError::UnknownVariable(unknown.clone()));
        }
        for agent in &mut self.agents {
            *agent = agent.clone().with_values_named(named);
        }
        Ok(())
    }
}

struct Senders {
    tasks: mpsc::Sender<Result<TaskArchive, ()>>,
    requests: mpsc::Sender<Result<Request, ()>>,
    alerts: mpsc::Sender<Result<Alert, ()>>,
    increments: mpsc::Sender<Result<Increment, ()>>,
    mail: mpsc::Sender<Result<Mail, ()>>,
    events: mpsc::Sender<Result<Event, ()>>,
}

/// The receivers of the tables that are read after the tasks.
struct Singles {
    requests: Rows<Request>,
    alerts: Rows<Alert>,
    increments: Rows<Increment>,
    mail: Rows<Mail>,
    events: Rows<Event>,
}

impl Senders {
    fn new() -> (Self, Rows<TaskArchive>, Singles) {
        let (tasks, task_rows) = mpsc::channel(AHEAD);
        let (requests, request_rows) = mpsc::channel(AHEAD);
        let (alerts, alert_rows) = mpsc::channel(AHEAD);
        let (increments, increment_rows) = mpsc::channel(AHEAD);
        let (mail, mail_rows) = mpsc::channel(AHEAD);
        let (events, event_rows) = mpsc::channel(AHEAD);
        let senders = Self {
            tasks,
            requests,
            alerts,
            increments,
            mail,
            events,
        };
        let singles = Singles {
            requests: request_rows,
            alerts: alert_rows,
            increments: increment_rows,
            mail: mail_rows,
            events: event_rows,
        };
        (senders, task_rows, singles)
    }

    /// Reads the tables one after the other, and closes each channel after its last row.
    async fn read(self, snapshot: &Snapshot) -> Result<(), ArchiveError> {
        send_all(snapshot, self.tasks, archive::tasks).await?;
        send_all(snapshot, self.requests, archive::requests).await?;
        send_all(snapshot, self.alerts, archive::alerts).await?;
        send_all(snapshot, self.increments, archive::increments).await?;
        send_all(snapshot, self.mail, archive::mail).await?;
        send_all(snapshot, self.events, archive::events).await
    }
}

/// Sends all pages, or stops when the receiver is gone.
async fn send_all<T: Send + 'static>(
    snapshot: &Snapshot,
    sender: mpsc::Sender<Result<T, ()>>,
    page_after: fn(&View<'_>, i64) -> crate::store::Result<Numbered<T>>,
) -> Result<(), ArchiveError> {
    let mut last = 0;
    loop {
        let page = match snapshot.read(move |view| page_after(view, last)).await {
            Ok(page) => page,
            Err(error) => {
                // The writing thread must learn that its files are incomplete.
                let _ = sender.send(Err(())).await;
                return Err(error.into());
            }
        };
        if page.is_empty() {
            return Ok(());
        }
        for (number, item) in page {
            last = number;
            if sender.send(Ok(item)).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// The state of the thread that writes the files while the rows are read.
struct Files {
    to: PathBuf,
    data_dir: DataDir,
    tasks: RefCell<Rows<TaskArchive>>,
    written: Cell<u64>,
    missing_attachments: RefCell<Vec<PathBuf>>,
    failure: RefCell<Option<ArchiveError>>,
    progress: Box<dyn Fn(u64) + Send>,
}

/// The index file, serialised as tasks arrive because its list is as long as the ledger.
#[derive(Serialize)]
struct Registry<'a> {
    version: u32,
    tasks: Summaries<'a>,
}

struct Summaries<'a> {
    files: &'a Files,
    folder: &'a Path,
}

impl Serialize for Summaries<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        while let Some(task) = self.files.tasks.borrow_mut().blocking_recv() {
            let mut task = task.map_err(|()| S::Error::custom("the rows are incomplete"))?;
            task.task.agent_workspace = self.files.archived(&task.task.agent_workspace);
            if let Err(error) = self.files.write_task(self.folder, &task) {
                self.files.failure.replace(Some(error));
                return Err(S::Error::custom("a task cannot be written"));
            }
            list.serialize_element(&TaskSummary::from(&task.task))?;
        }
        list.end()
    }
}

/// A file with a list that is serialised as its rows arrive.
#[derive(Serialize)]
struct EventFile {
    events: EventRows,
}

struct EventRows {
    first: Event,
    others: RefCell<Rows<Event>>,
}

impl Serialize for EventRows {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.first)?;
        while let Some(event) = self.others.borrow_mut().blocking_recv() {
            let event = event.map_err(|()| S::Error::custom("the rows are incomplete"))?;
            list.serialize_element(&event)?;
        }
        list.end()
    }
}

impl Files {
    fn archived(&self, workspace: &Text) -> Text {
        places::archived(&self.data_dir.workspaces(), workspace)
    }

    fn write(self, few: &Few, singles: Singles) -> Result<Exported, ArchiveError> {
        let Few {
            agents,
            tools,
            routes,
            ledger,
        } = few;
        let beside = match self.to.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        std::fs::create_dir_all(&beside).map_err(at(&beside))?;
        let unfinished = tempfile::Builder::new()
            .prefix(".chorus-export-")
            .permissions(Permissions::from_mode(FOLDER_MODE))
            .tempdir_in(&beside)
            .map_err(at(&beside))?;
        let registry = new_folder(unfinished.path(), "registry")?;
        let index = registry.join("registry.json");
        let tasks = Summaries {
            files: &self,
            folder: &registry,
        };
        let indexed = write_json(
            &index,
            &Registry {
                version: VERSION,
                tasks,
            },
        );
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        indexed?;
        let folder = new_folder(unfinished.path(), "agents")?;
        for agent in agents {
            write_json(&folder.join(format!("{}.json", agent.name)), agent)?;
        }
        if !tools.is_empty() {
            let folder = new_folder(unfinished.path(), "tools")?;
            for tool in tools {
                write_json(&folder.join(format!("{}.json", tool.name)), tool)?;
            }
        }
        let to = unfinished.path();
        let requests = write_rows(to, singles.requests, |request: &mut Request| {
            let workspace = request.agent_workspace.as_mut();
            if let Some(workspace) = workspace {
                *workspace = self.archived(workspace);
            }
        })?;
        let alerts = write_rows(to, singles.alerts, |_| ())?;
        let increments = write_rows(to, singles.increments, |_| ())?;
        let mail = write_rows(to, singles.mail, |_| ())?;
        write_events(to, singles.events)?;
        write_json(&to.join(LEDGER), ledger)?;
        if !routes.is_empty() {
            new_folder(unfinished.path(), "dispatch")?;
            write_json(&unfinished.path().join(ROUTES), routes)?;
        }
        let finished = unfinished.keep();
        if let Err(cause) = std::fs::rename(&finished, &self.to) {
            // An export under its temporary name is of no use.
            let _ = std::fs::remove_dir_all(&finished);
            return Err(at(&self.to)(cause));
        }
        Ok(Exported {
            tasks: self.written.get(),
            agents: agents.len() as u64,
            tools: tools.len() as u64,
            requests,
            alerts,
            increments,
            mail,
            missing_attachments: self.missing_attachments.take(),
        })
    }

    fn write_task(&self, registry: &Path, archive: &TaskArchive) -> Result<(), ArchiveError> {
        let TaskArchive {
            task,
            history,
            queue,
            conversation,
            runs,
            links,
            folders,
        } = archive;
        let folder = new_folder(registry, task.id.as_str())?;
        write_json(&folder.join("task.json"), task)?;
        write_json(&folder.join("history.json"), history)?;
        write_json(&folder.join("queue.json"), queue)?;
        if !conversation.messages.is_empty() {
            write_json(&folder.join("messages.json"), conversation)?;
        }
        // A task with hand-offs always has the file, which tells this form from that of earlier versions.
        if let Some(runs) = runs
            && !task.agent_chain().is_empty()
        {
            write_json(&folder.join("runs.json"), runs)?;
        }
        if *links != TaskLinks::default() {
            write_json(&folder.join("links.json"), links)?;
        }
        for (stored, attachment) in folders.iter().zip(&task.attachments) {
            let from = self
                .data_dir
                .upload(stored)
                .join(attachment.filename.as_str());
            if !from.exists() {
                self.missing_attachments.borrow_mut().push(from);
                continue;
            }
            let attachments = folder.join("attachments");
            if !attachments.exists() {
                new_folder(&folder, "attachments")?;
            }
            let mut original = File::open(&from).map_err(at(&from))?;
            let copy = attachments.join(attachment.filename.as_str());
            let mut copied = new_file(&copy)?;
            std::io::copy(&mut original, &mut copied).map_err(at(&copy))?;
        }
        self.written.set(self.written.get() + 1);
        (self.progress)(self.written.get());
        Ok(())
    }
}

/// Writes a file per row, and returns their number. The folder is created only if there is a row.
fn write_rows<T: OneFile>(
    to: &Path,
    mut rows: Rows<T>,
    prepare: impl Fn(&mut T),
) -> Result<u64, ArchiveError> {
    let mut written = 0;
    while let Some(item) = rows.blocking_recv() {
        let mut item = item.map_err(|()| incomplete(to))?;
        prepare(&mut item);
        if written == 0 {
            new_folder(to, T::FOLDER)?;
        }
        write_json(&to.join(file_of::<T>(item.id())), &item)?;
        written += 1;
    }
    Ok(written)
}

/// Writes the events of no task into one file, if there are any.
fn write_events(to: &Path, mut rows: Rows<Event>) -> Result<(), ArchiveError> {
    let Some(first) = rows.blocking_recv() else {
        return Ok(());
    };
    let events = EventRows {
        first: first.map_err(|()| incomplete(to))?,
        others: RefCell::new(rows),
    };
    write_json(&to.join(EVENTS), &EventFile { events })
}

fn incomplete(to: &Path) -> ArchiveError {
    at(to)(std::io::Error::other("the rows are incomplete"))
}

fn new_folder(beside: &Path, name: &str) -> Result<PathBuf, ArchiveError> {
    let folder = beside.join(name);
    DirBuilder::new()
        .mode(FOLDER_MODE)
        .create(&folder)
        .map_err(at(&folder))?;
    Ok(folder)
}

fn new_file(path: &Path) -> Result<File, ArchiveError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
        .map_err(at(path))
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ArchiveError> {
    let mut file = BufWriter::new(new_file(path)?);
    serde_json::to_writer_pretty(&mut file, value).map_err(|error| at(path)(error.into()))?;
    file.write_all(b"\n")
        .and_then(|()| file.flush())
        .map_err(at(path))
}
