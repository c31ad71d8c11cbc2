//! Where data is kept, and how much of anything is allowed.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::{AttachmentId, Rules, RunId, TaskId};

/// How much of anything is allowed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a JSON body.
    pub body: usize,
    /// Bytes of a prompt.
    pub prompt: usize,
    /// Bytes of what a request asks, and of its response.
    pub request: usize,
    /// Seconds of a claim that asks for no number.
    pub lease: u64,
    /// Seconds of a claim at most.
    pub longest_lease: u64,
    /// Bytes of a task's context.
    pub context: usize,
    /// Bytes of what agents tell each other on a task.
    pub agent_context: usize,
    /// Bytes of an attachment.
    pub attachment: usize,
    /// Bytes of an alert's message.
    pub alert: usize,
    /// Bytes of a mail's body, and of its context.
    pub mail: usize,
    /// Bytes of a mail's subject.
    pub mail_subject: usize,
    /// How many may get a mail.
    pub mail_recipients: usize,
    /// Items of a list that asks for no number.
    pub page: u32,
    /// Items of a list at most.
    pub largest_page: u32,
    /// Seconds of a long poll that asks for no number.
    pub wait: u64,
    /// Seconds of a long poll at most.
    pub longest_wait: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let rules = Rules::default();
        Self {
            body: 32 * 1024 * 1024,
            prompt: 4 * 1024 * 1024,
            request: 1024 * 1024,
            lease: 15 * 60,
            longest_lease: 24 * 60 * 60,
            context: rules.largest_context,
            agent_context: rules.largest_object,
            attachment: 10 * 1024 * 1024,
            alert: 16 * 1024,
            mail: 64 * 1024,
            mail_subject: 1000,
            mail_recipients: rules.most_recipients,
            page: 100,
            largest_page: 1000,
            wait: 25,
            longest_wait: 600,
        }
    }
}

impl Limits {
    /// Returns the rules of a ledger with these limits, and the usual ones for the rest.
    pub fn rules(&self) -> Rules {
        Rules {
            largest_context: self.context,
            largest_object: self.agent_context,
            most_recipients: self.mail_recipients,
            ..Rules::default()
        }
    }
}

/// Locks a file, if not at once then in a moment: a server that was killed while it started a process has left its lock to
/// that for as long as the process takes to become another program.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let give_up = Instant::now() + Duration::from_secs(1);
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// The directory that holds everything.
#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// It is not there and cannot be made, or cannot be written.
    #[error("the data directory {} is not writable: {cause}", path.display())]
    NotWritable {
        /// The directory.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// Another process has it.
    #[error(
        "the data directory {} is in use by another Chorus process{}; stop it first, or choose another with --data-dir",
        path.display(),
        holder.as_ref().map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that has it, if it said so.
        holder: Option<String>,
    },
    /// There is nothing in it.
    #[error("there is no Chorus database in {}; `chorus serve` makes one", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
}

/// The right to write in a data directory. Ends with the process, however it ends.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

impl DataDir {
    /// Makes the directory if it is not there, and checks that it can be written.
    pub fn prepare(path: &Path) -> Result<Self, DataDirError> {
        let not_writable = |cause| DataDirError::NotWritable {
            path: path.to_owned(),
            cause,
        };
        // Prompts and outputs are the owner's alone.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(not_writable)?;
        let absolute = path.canonicalize().map_err(not_writable)?;
        tempfile::tempfile_in(&absolute).map_err(not_writable)?;
        Ok(Self(absolute))
    }

    /// Finds a directory that has a database.
    pub fn existing(path: &Path) -> Result<Self, DataDirError> {
        let empty = || DataDirError::Empty {
            path: path.to_owned(),
        };
        let found = Self(path.canonicalize().map_err(|_| empty())?);
        if found.database().is_file() {
            Ok(found)
        } else {
            Err(empty())
        }
    }

    /// Takes the right to write. The file is never removed: a lock on a removed file holds nothing.
    pub fn lock(&self) -> Result<DataLock, DataDirError> {
        let not_writable = |cause| DataDirError::NotWritable {
            path: self.0.clone(),
            cause,
        };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.0.join("chorus.lock"))
            .map_err(not_writable)?;
        match lock_soon(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let is_named =
                    file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                return Err(DataDirError::InUse {
                    path: self.0.clone(),
                    holder: is_named.then(|| holder.trim().to_owned()),
                });
            }
            Err(TryLockError::Error(cause)) => return Err(not_writable(cause)),
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(not_writable)?;
        Ok(DataLock { _file: file })
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the database file.
    pub fn database(&self) -> PathBuf {
        self.0.join("chorus.db")
    }

    /// Returns the file with the operator's token.
    pub fn operator_token(&self) -> PathBuf {
        self.0.join("operator.token")
    }

    /// Returns the directory that holds the default working directories of tasks.
    pub fn workspaces(&self) -> PathBuf {
        self.0.join("workspaces")
    }

    /// Returns the directory of one run.
    pub fn run(&self, id: &RunId) -> PathBuf {
        self.runs().join(id.as_str())
    }

    /// Returns the directory that holds the directories of runs.
    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// Returns the folder of one attachment.
    pub fn upload(&self, task_id: &TaskId, id: &AttachmentId) -> PathBuf {
        self.0
            .join("uploads")
            .join(task_id.as_str())
            .join(id.as_str())
    }
}
