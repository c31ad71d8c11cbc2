//! Limits, and the data directory.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::domain::{AttachmentFolder, Rules, RunId};

/// Sizes are in bytes; times without a unit of their own are in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A JSON body.
    pub body: usize,
    /// All large bodies together, while they are read and their requests are carried out.
    pub bodies: usize,
    /// All large answers together, until their clients have taken them.
    pub answers: usize,
    /// The longest pause between two bytes of a body.
    pub body_pause: Duration,
    /// The longest time of a small body; a large body has more.
    pub body_time: Duration,
    pub prompt: usize,
    /// A description, a queued message, the body of a request, and its response.
    pub text: usize,
    /// A reason, or the message of a failed status.
    pub remark: usize,
    /// The default lease of a claim.
    pub lease: u64,
    pub longest_lease: u64,
    pub context: usize,
    /// The context that agents leave on a task.
    pub agent_context: usize,
    pub attachment: usize,
    /// The message of an alert.
    pub alert: usize,
    /// The body of a mail, and its context.
    pub mail: usize,
    pub mail_subject: usize,
    pub mail_recipients: usize,
    /// The default number of items in a page.
    pub page: u32,
    pub largest_page: u32,
    /// The default time-out of a long poll.
    pub wait: u64,
    pub longest_wait: u64,
    /// Files and logs that are being sent at the same time.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let rules = Rules::default();
        Self {
            body: 32 * 1024 * 1024,
            bodies: 64 * 1024 * 1024,
            answers: 64 * 1024 * 1024,
            body_pause: Duration::from_secs(15),
            body_time: Duration::from_secs(30),
            prompt: 4 * 1024 * 1024,
            text: 1024 * 1024,
            remark: 64 * 1024,
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
            files: 256,
        }
    }
}

impl Limits {
    /// Returns the ledger's rules with these limits and otherwise the defaults.
    pub fn rules(&self) -> Rules {
        Rules {
            largest_context: self.context,
            largest_object: self.agent_context,
            most_recipients: self.mail_recipients,
            ..Rules::default()
        }
    }
}

/// Locks a file, with retries for one second: if a server is killed while it starts a process, the child holds the lock until it
/// calls exec.
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

/// The name of the lock file.
const LOCK: &str = "chorus.lock";
const SOCKET: &str = "chorus.sock";

#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// The directory cannot be created or written.
    #[error("the data directory {} is not writable: {cause}; choose another with --data-dir", path.display())]
    NotWritable {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error(
        "the data directory {} is in use by another Chorus process{}; stop it first, or choose another with --data-dir",
        path.display(),
        holder.as_ref().map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    InUse {
        path: PathBuf,
        /// The id of the other process, if the lock file contains it.
        holder: Option<String>,
    },
    #[error("no Chorus database in {}; start `chorus serve` to create one", path.display())]
    Empty { path: PathBuf },
    #[error("the data directory {} cannot be opened: {cause}; choose another with --data-dir", path.display())]
    Closed {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("the data directory {} belongs to another user; name its server with --url", path.display())]
    Foreign { path: PathBuf },
}

/// An exclusive lock on a data directory. The kernel releases it when the process ends.
#[derive(Debug)]
pub struct DataLock {
    file: File,
}

impl DataLock {
    /// Writes the address of the server beside the id of its process, for commands on this machine.
    pub fn announce(&mut self, url: &str) -> std::io::Result<()> {
        writeln!(self.file, "{url}")
    }
}

/// The process that holds the lock of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    /// A server that listens at this address.
    Server(String),
    /// A server that does not listen yet, or another command.
    Other,
}

impl DataDir {
    /// Creates the directory if it does not exist, and checks that it is writable.
    pub fn prepare(path: &Path) -> Result<Self, DataDirError> {
        let not_writable = |cause| DataDirError::NotWritable {
            path: path.to_owned(),
            cause,
        };
        // Only the owner may read prompts and outputs.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(not_writable)?;
        let absolute = path.canonicalize().map_err(not_writable)?;
        tempfile::tempfile_in(&absolute).map_err(not_writable)?;
        let prepared = Self(absolute);
        prepared.close_to_others().map_err(not_writable)?;
        Ok(prepared)
    }

    /// Lists the parts that other users can open: the directory, the database, the lock.
    pub fn open_to_others(&self) -> Vec<PathBuf> {
        let is_open = |path: &PathBuf| {
            let found = path.symlink_metadata();
            found.is_ok_and(|found| !found.is_symlink() && found.mode() & 0o077 != 0)
        };
        self.private_parts().filter(is_open).collect()
    }

    fn private_parts(&self) -> impl Iterator<Item = PathBuf> {
        let database =
            ["chorus.db", "chorus.db-wal", "chorus.db-shm", LOCK].map(|name| self.0.join(name));
        std::iter::once(self.0.clone()).chain(database)
    }

    /// Takes the rights of other users away from parts that belong to this user. A directory that others share (with files but without
    /// a database, or with the sticky bit) keeps its mode.
    fn close_to_others(&self) -> std::io::Result<()> {
        let user = rustix::process::geteuid().as_raw();
        let is_shared = || -> std::io::Result<bool> {
            let is_sticky = self.0.metadata()?.mode() & 0o1000 != 0;
            let is_foreign = !self.database().exists() && self.0.read_dir()?.next().is_some();
            Ok(is_sticky || is_foreign)
        };
        for path in self.open_to_others() {
            let found = path.symlink_metadata()?;
            if found.uid() != user || (path == self.0 && is_shared()?) {
                continue;
            }
            let mode = found.mode() & 0o700;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Opens a directory that must contain a database.
    pub fn existing(path: &Path) -> Result<Self, DataDirError> {
        let empty = || DataDirError::Empty {
            path: path.to_owned(),
        };
        let closed = |cause: std::io::Error| match cause.kind() {
            ErrorKind::PermissionDenied => DataDirError::Closed {
                path: path.to_owned(),
                cause,
            },
            _ => empty(),
        };
        let found = Self(path.canonicalize().map_err(closed)?);
        match found.database().metadata().map_err(closed)? {
            database if database.is_file() => Ok(found),
            _ => Err(empty()),
        }
    }

    /// Refuses a directory of another user, who could pass for its server.
    pub fn check_owner(&self) -> Result<(), DataDirError> {
        let owner = self.0.metadata().map(|found| found.uid());
        match owner {
            Ok(uid) if uid == geteuid().as_raw() || uid == 0 => Ok(()),
            _ => Err(DataDirError::Foreign {
                path: self.0.clone(),
            }),
        }
    }

    /// Locks the directory for writing. The lock file is never removed, because a lock on a removed file excludes nobody.
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
            .mode(0o600)
            .open(self.0.join(LOCK))
            .map_err(not_writable)?;
        match lock_soon(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let is_read = file.read_to_string(&mut holder).is_ok();
                let holder = holder.lines().next().filter(|_| is_read);
                return Err(DataDirError::InUse {
                    path: self.0.clone(),
                    holder: holder.map(str::to_owned),
                });
            }
            Err(TryLockError::Error(cause)) => return Err(not_writable(cause)),
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(not_writable)?;
        Ok(DataLock { file })
    }

    /// Finds out who holds the lock. The address of a server that has died is not believed.
    pub fn holder(&self) -> std::io::Result<Holder> {
        let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options()
            .read(true)
            .custom_flags(safe.bits().cast_signed())
            .open(self.0.join(LOCK));
        let mut file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Holder::Nobody),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => return Ok(Holder::Nobody),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let url = text.lines().nth(1).filter(|_| text.ends_with('\n'));
        Ok(url.map_or(Holder::Other, |url| Holder::Server(url.to_owned())))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("chorus.db")
    }

    pub fn operator_token(&self) -> PathBuf {
        self.0.join("operator.token")
    }

    /// The Unix socket of the server.
    pub fn socket(&self) -> PathBuf {
        self.0.join(SOCKET)
    }

    /// Returns the data directory with this socket.
    pub fn of_socket(path: &Path) -> Option<&Path> {
        path.parent().filter(|_| path.ends_with(SOCKET))
    }

    /// The parent of the default working directories of tasks.
    pub fn workspaces(&self) -> PathBuf {
        self.0.join("workspaces")
    }

    pub fn run(&self, id: &RunId) -> PathBuf {
        self.runs().join(id.as_str())
    }

    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// The parent of the folders of attachments.
    pub fn uploads(&self) -> PathBuf {
        self.0.join("uploads")
    }

    pub fn upload(&self, folder: &AttachmentFolder) -> PathBuf {
        self.uploads()
            .join(folder.task_id.as_str())
            .join(folder.id.as_str())
    }
}
