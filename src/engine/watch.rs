//! Keeps requests and the tags of watched files in agreement.
//!
//! # How it works
//! One task does everything in turn: look at what changed in the trees, tell the ledger, and write into files what the ledger says
//! is still to be written. The ledger remembers for each tag what it said when both agreed. If the file says something else
//! since, somebody changed it, and the file wins; if the request has moved, the file is changed. So an approval that was
//! answered is not lost when the server dies before the file is written, and a person who edits the file while the server is away
//! is heard when it comes back. The server's own writes are seen like anybody's, and say what is known already.

use std::collections::HashSet;
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
use crate::tags::{FileTags, Look, Notice, Survey, SurveyError, TagWrite, write_tag};

/// How long to let changes gather: a program that saves several files is seen as one.
const GATHER: Duration = Duration::from_millis(30);

/// How long to wait before something that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Which files are watched, and what they may say.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The trees.
    pub roots: Vec<PathBuf>,
    /// The folder in them that is not looked at: the server's own data, where agents work.
    pub left_out: PathBuf,
    /// Whether a tag that says `delegated` or `next` counts as approval.
    pub file_approval: bool,
    /// Where the server is, for links to responses.
    pub url: String,
}

/// Trees that are watched.
pub struct FileWatch {
    survey: Survey,
    notices: Arc<Notices>,
    options: WatchOptions,
    /// What could not be seen at the last walk, and was told.
    problems: HashSet<String>,
}

/// What may have changed since the last look.
#[derive(Default)]
struct Notices {
    due: Mutex<Due>,
    wake: Notify,
}

/// What is to be looked at.
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
    /// Begins to watch trees. Nothing is read yet.
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
        })
    }
}

impl Engine {
    /// Keeps requests and the tags of files in agreement, until the server stops.
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
                    tracing::error!(error = %with_sources(&error), "cannot bring requests and files into agreement; trying again");
                    watch.notices.add(Notice::Anywhere);
                    pause = RETRY;
                }
            }
            // A large tree takes its time to walk; as much is left to others before the next walk.
            let pause = pause.max(began.elapsed());
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = changed => {}
                () = watch.notices.wake.notified() => {}
            }
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn look_at_files(&self, watch: &mut FileWatch, due: Due, is_first: bool) -> Result<()> {
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
                tracing::warn!(problem, "cannot look at a watched file");
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
            self.write_request(&change, &watch.options.url).await?;
        }
        for change in alerts {
            self.write_alert(&change).await?;
        }
        Ok(())
    }

    /// Writes into a file where a request stands.
    async fn write_request(&self, change: &TagChange, url: &str) -> Result<()> {
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
        if write_to(&change.file, &change.root, write).await? {
            let told = u32::try_from(request.recovery.len()).unwrap_or(u32::MAX);
            let (id, state) = (request.id.clone(), request.state);
            self.write(None, move |tx| {
                request::record_written_tag(tx, &id, state, told)
            })
            .await?;
        }
        Ok(())
    }

    /// Writes into a file that an alert is done.
    async fn write_alert(&self, change: &AlertTagChange) -> Result<()> {
        let write = TagWrite {
            swap: Some((Tag::Alert { active: true }, Tag::Alert { active: false })),
            line: change.line,
            title: change.title.clone(),
            sections: Vec::new(),
        };
        if write_to(&change.file, &change.root, write).await? {
            let id = change.id.clone();
            self.write(None, move |tx| alert::record_written_tag(tx, &id))
                .await?;
        }
        Ok(())
    }
}

/// Changes a tag. Returns whether it was there. A file that cannot be written keeps its tag until something changes again.
async fn write_to(file: &Text, root: &Text, write: TagWrite) -> Result<bool> {
    let (path, root) = (PathBuf::from(file.as_str()), PathBuf::from(root.as_str()));
    let written = tokio::task::spawn_blocking(move || write_tag(&path, &root, &write))
        .await
        .map_err(Error::internal)?;
    Ok(written.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot write into a watched file what became of its request");
        false
    }))
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
