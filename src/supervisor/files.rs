//! The files of a run directory, shared by the server and the supervisor.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::plain::open_plain;
use super::shortage::may_pass;
use super::{SuperviseError, read};

/// The program to start, and its limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSpec {
    /// The command that runs the program inside a mask, or nothing.
    #[serde(default)]
    pub wrapper: Vec<String>,
    pub program: String,
    pub arguments: Vec<String>,
    /// Added to the environment of the supervisor.
    pub environment: BTreeMap<String, String>,
    pub working_directory: PathBuf,
    /// The cgroup of the run, where one could be made.
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
    pub stop_signal: StopSignal,
    /// The time between the stop signal and SIGKILL.
    pub grace_seconds: u64,
    pub max_seconds: Option<u64>,
    /// The maximum time without output.
    pub idle_seconds: Option<u64>,
}

/// The signal that asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopSignal {
    Terminate,
    Interrupt,
}

/// The end of a run's process, and its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunExit {
    pub end: End,
    pub cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum End {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    NotStarted {
        /// A message for users.
        error: String,
        /// Whether the system only lacked something, so that a later start may succeed.
        #[serde(default)]
        may_pass: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The program exited, well or not.
    ByItself,
    /// The server ordered it.
    Stopped,
    /// The program reported its end but kept running.
    Finished,
    /// The time limit.
    TimedOut,
    /// The limit of time without output.
    Idle,
}

/// An order of the server to a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End the agent, because its hand-off has ended.
    Stop,
    /// End the agent, because it has reported its end.
    Finish,
    /// Look at what the agent waits for.
    Look,
}

impl Order {
    /// Encodes the order for the control pipe.
    pub const fn as_byte(self) -> u8 {
        match self {
            Self::Stop => b's',
            Self::Finish => b'f',
            Self::Look => b'l',
        }
    }

    /// Decodes an order from the control pipe.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b's' => Some(Self::Stop),
            b'f' => Some(Self::Finish),
            b'l' => Some(Self::Look),
            _ => None,
        }
    }
}

/// The maximum size of `exit.json`.
const LARGEST_EXIT: u64 = 64 * 1024;

/// Creates a file in place of anything that an agent has put there.
pub(super) fn create_anew(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    open_plain(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
}

/// The paths of a run's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFiles(PathBuf);

impl RunFiles {
    pub fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Returns the file that is locked while the supervisor is alive.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Returns the named pipe for orders to the supervisor.
    pub fn control(&self) -> PathBuf {
        self.0.join("control")
    }

    /// Returns the file with the [`Waits`](super::Waits) of the agent.
    pub fn waits(&self) -> PathBuf {
        self.0.join("waits.json")
    }

    /// Returns the files of another run, whose directory is beside this one. An id with other characters has no files.
    pub(super) fn beside(&self, run: &str) -> Self {
        let is_id = run
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        Self(self.0.join("..").join(if is_id { run } else { "" }))
    }

    /// Returns the file of the [`RunSpec`].
    pub fn spec_file(&self) -> PathBuf {
        self.0.join("spec.json")
    }

    /// Returns the agent's standard input.
    pub fn prompt(&self) -> PathBuf {
        self.0.join("prompt.txt")
    }

    /// Returns the agent's spec, which some programs take as a file.
    pub fn system(&self) -> PathBuf {
        self.0.join("system.md")
    }

    /// Returns the agent's standard output.
    pub fn stdout(&self) -> PathBuf {
        self.0.join("stdout.log")
    }

    /// Returns the agent's standard error.
    pub fn stderr(&self) -> PathBuf {
        self.0.join("stderr.log")
    }

    /// Returns the file whose existence proves that the agent was started.
    pub fn started(&self) -> PathBuf {
        self.0.join("started.json")
    }

    /// Returns the file of the [`RunExit`].
    pub fn exit(&self) -> PathBuf {
        self.0.join("exit.json")
    }

    pub(crate) fn spec(&self) -> Result<RunSpec, SuperviseError> {
        let path = self.spec_file();
        let bytes = read(&path)?;
        serde_json::from_slice(&bytes).map_err(|error| SuperviseError::File {
            path,
            cause: error.into(),
        })
    }

    /// Reads the run's end. `None` means that the run has not ended, or that its end was not recorded.
    pub fn read_exit(&self) -> std::io::Result<Option<RunExit>> {
        let mut bytes = Vec::new();
        let read = open_plain(&self.exit(), OFlags::RDONLY)
            .and_then(|file| file.take(LARGEST_EXIT).read_to_end(&mut bytes));
        match read {
            Err(error) if may_pass(&error) => Err(error),
            Err(_) => Ok(None),
            Ok(_) => Ok(serde_json::from_slice(&bytes).ok()),
        }
    }

    /// Records that the agent is about to start, because it must not be started twice. The content is for debugging; no code uses
    /// the pid.
    pub(super) fn write_started(&self) -> Result<File, SuperviseError> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let started = serde_json::json!({
            "supervisorPid": std::process::id(),
            "startedAt": SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            "bootId": boot.trim(),
        });
        let path = self.started();
        let write = || -> std::io::Result<File> {
            let mut file = create_anew(&path)?;
            file.write_all(&serde_json::to_vec(&started)?)?;
            Ok(file)
        };
        write().map_err(|cause| {
            // An error means that the file was never created.
            let _ = std::fs::remove_file(&path);
            SuperviseError::File { path, cause }
        })
    }

    /// Syncs the output and then the end to disk. In this order, because an end without output would look like an agent that
    /// printed nothing.
    pub(super) fn flush(&self) -> Result<(), SuperviseError> {
        for path in [self.stdout(), self.stderr(), self.exit()] {
            open_plain(&path, OFlags::RDONLY)
                .and_then(|file| file.sync_all())
                .map_err(|cause| SuperviseError::File { path, cause })?;
        }
        File::open(&self.0)
            .and_then(|directory| directory.sync_all())
            .map_err(|cause| SuperviseError::File {
                path: self.0.clone(),
                cause,
            })
    }

    /// Returns the size and the time of each output file.
    pub(super) fn outputs(&self) -> [Option<(u64, SystemTime)>; 2] {
        [self.stdout(), self.stderr()].map(|path| {
            let file = path.metadata().ok()?;
            Some((file.len(), file.modified().ok()?))
        })
    }
}
