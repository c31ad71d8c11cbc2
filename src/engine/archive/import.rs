//! Imports a ledger from files.
//!
//! All files are read and checked first, and every bad file is reported. Then the files are read again and inserted in one
//! transaction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::one_file::{self, Planned, file_of};
use super::plan::{Displaced, Plan};
use super::reader::{ArchiveDir, BadFile};
use super::task_files::{PlannedTask, read_task, task_folder};
use super::{ArchiveError, Progress, at};
use crate::config::DataDir;
use crate::domain::{
    AgentName, AttachmentFolder, AttachmentId, Kind, KindRule, Request, TaskId, Text,
};
use crate::engine::Engine;
use crate::engine::attachments::write_upload;
use crate::ledger::archive::{self, Import, ImportSource, Imported, Waiting};
use crate::ledger::{Tx, View};

#[derive(Debug, Clone, Copy, Default)]
pub struct ImportOptions {
    /// Skips bad files instead of failing the import.
    pub skip_bad: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    pub imported: Imported,
    /// The skipped files, with the reasons.
    pub left_out: Vec<BadFile>,
    /// The tasks and requests whose workspaces agents cannot use here.
    pub displaced: Vec<Displaced>,
    /// The variables of new agents whose values the archive does not have.
    pub without_value: Vec<(AgentName, Vec<Text>)>,
    /// The attachments that are missing in the archive.
    pub missing_attachments: Vec<PathBuf>,
    pub starting: Starting,
}

/// The work and the programs of other people that the next server starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starting {
    pub waiting: Waiting,
    /// The new agents that name a program.
    pub programs: Vec<(AgentName, Text)>,
    /// The commands of the kind rules in the archive.
    pub commands: Vec<(Kind, Vec<Text>)>,
}

impl Engine {
    /// Imports an archive completely or not at all. With `skip_bad`, imports all good files.
    pub async fn import(
        &self,
        from: &Path,
        options: ImportOptions,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<ImportReport, ArchiveError> {
        let archive = ArchiveDir::new(from, self.clock().now());
        if !archive.path("registry/registry.json").is_file() {
            return Err(ArchiveError::NotAnArchive(from.to_owned()));
        }
        let (mut plan, places) = blocking({
            let archive = archive.clone();
            let workspaces = self.workspaces();
            move || Plan::check(&archive, workspaces, progress)
        })
        .await?;
        let leave_out = move |view: &View<'_>| {
            plan.leave_out_present(view)?;
            Ok(std::mem::take(&mut plan))
        };
        let plan = self.db.read(leave_out).await?;
        if !plan.bad.is_empty() && !options.skip_bad {
            return Err(ArchiveError::Bad(plan.bad));
        }
        let uploads = Uploads::copy(
            &self.options.data_dir,
            &archive,
            &plan.tasks,
            options.skip_bad,
        )?;
        let mut folders = uploads.folders.clone();
        let requests = source::<Request>(&archive, plan.requests);
        let moved = places.clone();
        let requests = requests.map(move |request| {
            let mut request = request?;
            request.agent_workspace = request.agent_workspace.map(|asked| moved.place(&asked));
            Ok(request)
        });
        let alerts = source(&archive, plan.alerts);
        let increments = source(&archive, plan.increments);
        let mail = source(&archive, plan.mail);
        let tasks = plan.tasks.into_iter().map(move |planned| {
            let mut task = read_task(&archive, &planned.id)?;
            task.task.agent_workspace = places.place(&task.task.agent_workspace);
            task.folders = folders.remove(&planned.id).unwrap_or_default();
            Ok(task)
        });
        let commands = commands_of(plan.routes.as_deref().unwrap_or_default());
        let import = Import {
            agents: plan.agents,
            has_agents: plan.has_agents,
            ledger: plan.ledger,
            events: plan.events,
            is_numbered: plan.is_numbered,
            tools: plan.tools,
            routes: plan.routes,
            increments,
            tasks: Box::new(tasks),
            requests: Box::new(requests),
            alerts,
            mail,
        };
        let write = move |tx: &mut Tx<'_>| archive::import(tx, import);
        let imported = self.db.write_alone(write).await?;
        let missing_attachments = uploads.keep();
        let waiting = self.db.read(archive::waiting).await?;
        Ok(ImportReport {
            imported,
            left_out: plan.bad,
            displaced: plan.displaced,
            without_value: plan.without_value,
            missing_attachments,
            starting: Starting {
                waiting,
                programs: plan.programs,
                commands,
            },
        })
    }
}

fn commands_of(rules: &[KindRule]) -> Vec<(Kind, Vec<Text>)> {
    let commands = rules.iter().flat_map(|rule| {
        let commands = [&rule.start_command, &rule.poll_command];
        let commands = commands.into_iter().flatten();
        commands.map(|command| (rule.kind.clone(), command.clone()))
    });
    commands.collect()
}

/// Reads the planned files again, one at a time, during the insert.
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

/// Copied attachments. Dropping this removes them, unless [`Uploads::keep`] was called.
struct Uploads {
    folders: HashMap<TaskId, Vec<AttachmentFolder>>,
    written: Vec<PathBuf>,
    missing: Vec<PathBuf>,
}

impl Uploads {
    fn copy(
        data_dir: &DataDir,
        archive: &ArchiveDir,
        tasks: &[PlannedTask],
        skip_bad: bool,
    ) -> Result<Self, ArchiveError> {
        let mut uploads = Self {
            folders: HashMap::new(),
            written: Vec::new(),
            missing: Vec::new(),
        };
        for task in tasks {
            for filename in &task.attachments {
                let stored = AttachmentFolder {
                    task_id: task.id.clone(),
                    id: AttachmentId::new(),
                };
                let folder = data_dir.upload(&stored);
                let file = task_folder(&task.id)
                    .join("attachments")
                    .join(filename.as_str());
                match archive.bytes(&file) {
                    Ok(Some(bytes)) => {
                        uploads.written.push(folder.clone());
                        write_upload(&folder, filename, &bytes).map_err(at(&folder))?;
                    }
                    Err(bad) if !skip_bad => return Err(ArchiveError::Bad(vec![bad])),
                    Ok(None) | Err(_) => uploads.missing.push(file),
                }
                let known = uploads.folders.entry(task.id.clone()).or_default();
                known.push(stored);
            }
        }
        Ok(uploads)
    }

    /// Keeps the copied files, and returns the missing ones.
    fn keep(mut self) -> Vec<PathBuf> {
        self.written.clear();
        std::mem::take(&mut self.missing)
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        for folder in &self.written {
            if let Err(error) = std::fs::remove_dir_all(folder) {
                tracing::warn!(%error, folder = %folder.display(), "cannot remove an attachment of a failed import; delete the folder by hand");
            }
        }
    }
}
