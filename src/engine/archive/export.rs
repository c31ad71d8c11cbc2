//! Writes the ledger as files.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq};
use tokio::sync::mpsc;

use super::{ArchiveError, Progress, VERSION, at};
use crate::config::DataDir;
use crate::domain::{Agent, TaskArchive, TaskSummary, Tool};
use crate::engine::Engine;

/// How many tasks may be read ahead of the files.
const AHEAD: usize = 100;

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// How many tasks.
    pub tasks: u64,
    /// How many agents.
    pub agents: u64,
    /// How many tools.
    pub tools: u64,
    /// The attachments whose bytes were missing.
    pub missing_attachments: Vec<PathBuf>,
}

impl Engine {
    /// Writes the ledger as it is at this moment to a directory, which is complete or not there.
    pub async fn export(
        &self,
        to: &Path,
        progress: impl Fn(Progress) + Send + 'static,
    ) -> Result<Exported, ArchiveError> {
        if to.exists() && to.read_dir().map_err(at(to))?.next().is_some() {
            return Err(ArchiveError::NotEmpty(to.to_owned()));
        }
        let mut snapshot = self.store.snapshot().await?;
        let total = snapshot.count_tasks().await?;
        let agents = snapshot.agents().await?;
        let tools = snapshot.tools().await?;
        let (sender, tasks) = mpsc::channel(AHEAD);
        let files = Files {
            to: to.to_owned(),
            data_dir: self.options.data_dir.clone(),
            tasks: RefCell::new(tasks),
            written: Cell::default(),
            missing_attachments: RefCell::default(),
            failure: RefCell::default(),
            progress: Box::new(move |done| progress(Progress { done, total })),
        };
        let writing = tokio::task::spawn_blocking(move || files.write(&agents, &tools));
        let reading = async {
            loop {
                let page = snapshot.next_tasks().await?;
                if page.is_empty() {
                    return Ok(());
                }
                for task in page {
                    if sender.send(Ok(task)).await.is_err() {
                        return Ok(());
                    }
                }
            }
        };
        let read: Result<(), ArchiveError> = reading.await;
        if read.is_err() {
            // The files are incomplete, and whoever writes them must know.
            let _ = sender.send(Err(())).await;
        }
        drop(sender);
        let written = writing
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        read.and(written)
    }
}

/// The thread that writes, while another reads the rows.
struct Files {
    to: PathBuf,
    data_dir: DataDir,
    tasks: RefCell<mpsc::Receiver<Result<TaskArchive, ()>>>,
    written: Cell<u64>,
    missing_attachments: RefCell<Vec<PathBuf>>,
    failure: RefCell<Option<ArchiveError>>,
    progress: Box<dyn Fn(u64) + Send>,
}

/// The index file. Its list is as long as the ledger, so it is written while the tasks come in.
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
            let task = task.map_err(|()| S::Error::custom("the rows ended early"))?;
            if let Err(error) = self.files.write_task(self.folder, &task) {
                self.files.failure.replace(Some(error));
                return Err(S::Error::custom("a task could not be written"));
            }
            list.serialize_element(&TaskSummary::from(&task.task))?;
        }
        list.end()
    }
}

impl Files {
    fn write(self, agents: &[Agent], tools: &[Tool]) -> Result<Exported, ArchiveError> {
        let beside = match self.to.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        std::fs::create_dir_all(&beside).map_err(at(&beside))?;
        let unfinished = tempfile::Builder::new()
            .prefix(".chorus-export-")
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
        let finished = unfinished.keep();
        if let Err(cause) = std::fs::rename(&finished, &self.to) {
            // What was written is of no use under its temporary name.
            let _ = std::fs::remove_dir_all(&finished);
            return Err(at(&self.to)(cause));
        }
        Ok(Exported {
            tasks: self.written.get(),
            agents: agents.len() as u64,
            tools: tools.len() as u64,
            missing_attachments: self.missing_attachments.take(),
        })
    }

    fn write_task(&self, registry: &Path, archive: &TaskArchive) -> Result<(), ArchiveError> {
        let TaskArchive {
            task,
            history,
            queue,
            conversation,
            attachment_ids,
        } = archive;
        let folder = new_folder(registry, task.id.as_str())?;
        write_json(&folder.join("task.json"), task)?;
        write_json(&folder.join("history.json"), history)?;
        write_json(&folder.join("queue.json"), queue)?;
        if !conversation.messages.is_empty() {
            write_json(&folder.join("messages.json"), conversation)?;
        }
        for (id, attachment) in attachment_ids.iter().zip(&task.attachments) {
            let from = self
                .data_dir
                .upload(&task.id, id)
                .join(attachment.filename.as_str());
            if !from.exists() {
                self.missing_attachments.borrow_mut().push(from);
                continue;
            }
            let attachments = folder.join("attachments");
            std::fs::create_dir_all(&attachments).map_err(at(&attachments))?;
            let copy = attachments.join(attachment.filename.as_str());
            std::fs::copy(&from, &copy).map_err(at(&copy))?;
        }
        self.written.set(self.written.get() + 1);
        (self.progress)(self.written.get());
        Ok(())
    }
}

fn new_folder(beside: &Path, name: &str) -> Result<PathBuf, ArchiveError> {
    let folder = beside.join(name);
    std::fs::create_dir(&folder).map_err(at(&folder))?;
    Ok(folder)
}

/// Writes a value as JSON, indented by two spaces.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ArchiveError> {
    let file = File::create_new(path).map_err(at(path))?;
    let mut file = BufWriter::new(file);
    serde_json::to_writer_pretty(&mut file, value).map_err(|error| at(path)(error.into()))?;
    file.write_all(b"\n")
        .and_then(|()| file.flush())
        .map_err(at(path))
}
