//! Synchronises requests with the tags in watched files.
//!
//! # How it works
//! A single task works in turns: it looks for changed files in the trees, reports their tags to the ledger, and writes the tags that
//! the ledger returns. For each tag, the ledger stores the last state on which file and request agreed. If the file differs from it,
//! the operator has edited the file, and the file wins. If the request differs, the file is rewritten. So an acknowledged approval
//! is not lost if the server dies before it writes the file, and an edit made while the server is down counts after the restart.
//! The server also sees its own writes, which change nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Engine, Result, tag_sections};
use crate::domain::tag::Tag;
use crate::domain::{RequestState, Text};
use crate::error::{Error, with_sources};
use crate::ledger::alert::{self, AlertTagChange};
use crate::ledger::request::{self, FileReport, FilesReport, Reconciled, TagChange};
use crate::tags::{EditError, FileTags, Look, Notice, Survey, SurveyError, TagWrite, write_tag};

/// The pause that collects changes, so that a program that saves several files causes one round.
const GATHER: Duration = Duration::from_millis(30);

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct WatchOptions {
    pub roots: Vec<PathBuf>,
    /// The folder in the trees that is ignored: the server's own data directory, which contains the agents' workspaces.
    pub left_out: PathBuf,
    /// Whether the operator approves a request by changing its tag to `delegated` or `next`.
    pub file_approval: bool,
    /// The server's URL, for links to responses.
    pub url: String,
}

pub struct FileWatch {
    survey: Survey,
    notices: Arc<Notices>,
    options: WatchOptions,
    /// The problems of the last walk, which are logged only once.
    problems: HashSet<String>,
    /// The files that other programs have locked, and whether the log says so. They are tried again.
    locked: HashMap<PathBuf, bool>,
}

/// Notifications since the last look.
#[derive(Default)]
struct Notices {
    due: Mutex<Due>,
    wake: Notify,
}

#[derive(Default)]
struct Due {
    files: HashSet<PathBuf>,
    anywhere: bool,
}

impl Notices {
    fn add(&self, notice: Notice) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        match notice {
            Notice::File(path) => _ = due.files.insert(path),
            Notice::Anywhere => due.anywhere = true,
        }
        drop(due);
        self.wake.notify_one();
    }

    fn take(&self) -> Due {
        std::mem::take(&mut self.due.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl FileWatch {
    /// Begins to watch the trees. Files are first read by [`Engine::watch_files`].
    pub fn start(options: WatchOptions) -> std::result::Result<Self, SurveyError> {
        let notices = Arc::new(Notices::default());
        let told = notices.clone();
        let survey = Survey::start(&options.roots, &options.left_out, move |notice| {
            told.add(notice);
        })?;
        Ok(Self {
            survey,
            notices,
            options,
            problems: HashSet::new(),
            locked: HashMap::new(),
        })
    }
}

impl FileWatch {
    /// Remembers a locked file. The log says so once, if the file was locked at the last look too: most locks last for a moment.
    fn note_locked(&mut self, file: &Text, written: Written, before: &HashMap<PathBuf, bool>) {
        if written != Written::Locked {
            return;
        }
        let path = PathBuf::from(file.as_str());
        let was_told = before.get(&path).copied();
        if was_told == Some(false) {
            tracing::warn!(file = %path.display(), "a watched file is locked by another program; its tags are written when the lock is released");
        }
        self.locked.insert(path, was_told.is_some());
    }

    /// Waits until the locked files are due again. Never ends if there are none.
    async fn until_retry(&self) {
        if self.locked.is_empty() {
            std::future::pending::<()>().await;
        } else if self.locked.values().all(|is_told| *is_told) {
            tokio::time::sleep(RETRY).await;
        }
    }
}

impl Engine {
    /// Synchronises requests and tags until the server stops.
    pub async fn watch_files(self, mut watch: FileWatch) {
        let requests = self.feed().watch_requests();
        let mut is_first = true;
        loop {
            let changed = requests.changed();
            let began = Instant::now();
            let due = watch.notices.take();
            let mut pause = GATHER;
            match self.look_at_files(&mut watch, due, is_first).await {
                Ok(()) => is_first = false,
                Err(error) => {
                    tracing::error!(error = %with_sources(&error), "cannot synchronise requests with watched files; retrying");
                    watch.notices.add(Notice::Anywhere);
                    pause = RETRY;
                }
            }
            // Pause for at least as long as the walk took, so that a large tree uses at most half of the time.
            let pause = pause.max(began.elapsed());
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = changed => {}
                () = watch.until_retry() => {}
                () = watch.notices.wake.notified() => {}
            }
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn look_at_files(&self, watch: &mut FileWatch, due: Due, is_first: bool) -> Result<()> {
        // The tags of locked files are stale, so all are looked at again.
        let before = std::mem::take(&mut watch.locked);
        let walks = is_first || due.anywhere || !watch.survey.knows(&due.files);
        let known = self
            .read(move |view| request::tagged_files(view, !is_first))
            .await?;
        let mut again: HashSet<PathBuf> = known
            .iter()
            .map(|file| PathBuf::from(file.as_str()))
            .filter(|file| watch.survey.root_of(file).is_some())
            .collect();
        if !walks {
            again.extend(due.files);
        }
        if again.is_empty() && !walks {
            return Ok(());
        }
        let survey = &mut watch.survey;
        let look = tokio::task::block_in_place(|| {
            if walks {
                survey.look(&again)
            } else {
                survey.look_again(&again)
            }
        });
        let Look { files, problems } = look;
        for problem in &problems {
            if !watch.problems.contains(problem) {
                tracing::warn!(problem, "cannot read a watched file; its tags are ignored");
            }
        }
        if walks {
            watch.problems = problems.into_iter().collect();
        }
        if files.is_empty() {
            return Ok(());
        }
        let report = FilesReport {
            files: files.into_values().filter_map(report).collect(),
            file_approval: watch.options.file_approval,
        };
        let Reconciled {
            changes,
            alerts,
            unwanted,
        } = self
            .db
            .write(move |tx| request::reconcile_files(tx, &report))
            .await?;
        for run_id in unwanted {
            if let Some(runner) = self.runner.get().cloned() {
                tokio::spawn(async move { runner.stop(&run_id).await });
            }
        }
        for change in changes {
            let written = self.write_request(&change, &watch.options.url).await?;
            watch.note_locked(&change.file, written, &before);
        }
        // A run may wait until its tag says `claimed`.
        self.wake_runner();
        for change in alerts {
            let written = self.write_alert(&change).await?;
            watch.note_locked(&change.file, written, &before);
        }
        Ok(())
    }

    /// Writes the state of a request into its file.
    async fn write_request(&self, change: &TagChange, url: &str) -> Result<Written> {
        let request = &change.request;
        let tag = |state: RequestState| Tag::State {
            state,
            kind: request.kind.clone(),
        };
        let write = TagWrite {
            swap: (change.was != request.state).then(|| (tag(change.was), tag(request.state))),
            line: change.line,
            title: change.title.clone(),
            sections: tag_sections::compose(change, url),
        };
        let written = write_to(&change.file, &change.root, write).await?;
        if written == Written::Yes {
            let request = request.clone();
            self.write(None, move |tx| request::record_written_tag(tx, &request))
                .await?;
        }
        Ok(written)
    }

    /// Marks an alert as resolved in its file.
    async fn write_alert(&self, change: &AlertTagChange) -> Result<Written> {
        let write = TagWrite {
            swap: Some((Tag::Alert { active: true }, Tag::Alert { active: false })),
            line: change.line,
            title: change.title.clone(),
            sections: Vec::new(),
        };
        let written = write_to(&change.file, &change.root, write).await?;
        if written == Written::Yes {
            let id = change.id.clone();
            self.write(None, move |tx| alert::record_written_tag(tx, &id))
                .await?;
        }
        Ok(written)
    }
}

/// Whether a tag was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    /// The file no longer has the tag, or cannot be written; it is retried at the next change.
    No,
    /// Another program has locked the file.
    Locked,
}

async fn write_to(file: &Text, root: &Text, write: TagWrite) -> Result<Written> {
    let (path, root) = (PathBuf::from(file.as_str()), PathBuf::from(root.as_str()));
    let written = tokio::task::spawn_blocking(move || write_tag(&path, &root, &write))
        .await
        .map_err(Error::internal)?;
    Ok(match written {
        Ok(true) => Written::Yes,
        Ok(false) => Written::No,
        Err(EditError::Locked { .. }) => Written::Locked,
        Err(error) => {
            tracing::warn!(%error, "cannot update the tag in a watched file; retrying at the next change");
            Written::No
        }
    })
}

fn report(file: FileTags) -> Option<FileReport> {
    let text = |path: &Path| path.to_str()?.parse().ok();
    Some(FileReport {
        file: text(&file.path)?,
        root: text(&file.root)?,
        tags: file.tags,
        alerts: file.alerts,
    })
}
