//! The files of a run directory, which the server and the supervisor share.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{SuperviseError, read};

/// What to start, and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSpec {
    /// The program.
    pub program: String,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// What is added to its environment.
    pub environment: BTreeMap<String, String>,
    /// Where it works.
    pub working_directory: PathBuf,
    /// How it is asked to end.
    pub stop_signal: StopSignal,
    /// How long it may take to end when it is asked to.
    pub grace_seconds: u64,
    /// How long it may take in all.
    pub max_seconds: Option<u64>,
    /// How long it may be silent.
    pub idle_seconds: Option<u64>,
}

/// How a program is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// How a run's process ended, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunExit {
    /// How.
    pub end: End,
    /// Why.
    pub cause: Cause,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum End {
    /// It returned a code.
    Exited {
        /// The code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// The signal.
        signal: i32,
    },
    /// It could not be started.
    NotStarted {
        /// Why, for a person.
        error: String,
    },
}

/// Why a run's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// It was done, or failed, by itself.
    ByItself,
    /// Somebody asked to stop it.
    Stopped,
    /// It had given its result and did not go.
    Finished,
    /// It took too long.
    TimedOut,
    /// It was silent for too long.
    Idle,
}

/// What the server can ask of a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End the agent; its work is no longer wanted.
    Stop,
    /// End the agent; it has given its result.
    Finish,
}

impl Order {
    /// Returns how it is written to the control pipe.
    pub const fn as_byte(self) -> u8 {
        match self {
            Self::Stop => b's',
            Self::Finish => b'f',
        }
    }

    /// Reads what was written to the control pipe.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b's' => Some(Self::Stop),
            b'f' => Some(Self::Finish),
            _ => None,
        }
    }
}

/// Where the files of a run are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFiles(PathBuf);

impl RunFiles {
    /// Names a run directory.
    pub fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Returns the file that is locked while the supervisor lives.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Returns the pipe through which the supervisor is asked to stop.
    pub fn control(&self) -> PathBuf {
        self.0.join("control")
    }

    /// Returns the file with what to start.
    pub fn spec_file(&self) -> PathBuf {
        self.0.join("spec.json")
    }

    /// Returns the file that is the agent's standard input.
    pub fn prompt(&self) -> PathBuf {
        self.0.join("prompt.txt")
    }

    /// Returns the file with the agent's spec.
    pub fn system(&self) -> PathBuf {
        self.0.join("system.md")
    }

    /// Returns the file with the agent's standard output.
    pub fn stdout(&self) -> PathBuf {
        self.0.join("stdout.log")
    }

    /// Returns the file with the agent's standard error.
    pub fn stderr(&self) -> PathBuf {
        self.0.join("stderr.log")
    }

    /// Returns the file that says that the agent was started.
    pub fn started(&self) -> PathBuf {
        self.0.join("started.json")
    }

    /// Returns the file that says how it ended.
    pub fn exit(&self) -> PathBuf {
        self.0.join("exit.json")
    }

    /// Reads what was to be started.
    pub(crate) fn spec(&self) -> Result<RunSpec, SuperviseError> {
        let path = self.spec_file();
        let bytes = read(&path)?;
        serde_json::from_slice(&bytes).map_err(|error| SuperviseError::File {
            path,
            cause: error.into(),
        })
    }

    /// Reads how the run ended, if it has.
    pub fn read_exit(&self) -> Option<RunExit> {
        {
            let path = self.exit();
            path.symlink_metadata()
                .ok()
                .filter(std::fs::Metadata::is_file)?;
            serde_json::from_slice(&std::fs::read(path).ok()?).ok()
        }
    }

    /// Writes that the agent was started. That the file is there counts, also after a power failure: the agent must not
    /// be started again. What is in it is for people; nothing relies on the pids.
    pub(super) fn write_started(&self, agent: u32) -> Result<(), SuperviseError> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let started = serde_json::json!({
            "agentPid": agent,
            "supervisorPid": std::process::id(),
            "startedAt": SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            "bootId": boot.trim(),
        });
        let path = self.started();
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(&serde_json::to_vec(&started)?)?;
            file.sync_all()
        };
        write().map_err(|cause| SuperviseError::File { path, cause })
    }

    /// Writes how the run ended: for every other process the file is there whole or not at all.
    pub(super) fn write_exit(&self, exit: &RunExit) -> Result<(), SuperviseError> {
        let path = self.exit();
        let unfinished = path.with_extension("unfinished");
        let write = || -> std::io::Result<()> {
            std::fs::write(&unfinished, serde_json::to_vec(exit)?)?;
            std::fs::rename(&unfinished, &path)
        };
        write().map_err(|cause| SuperviseError::File { path, cause })
    }

    /// Makes what the agent said and how it ended outlast a power failure, in this order: an end without its output
    /// would look like an agent that said nothing.
    pub(super) fn flush(&self) -> Result<(), SuperviseError> {
        for path in [self.stdout(), self.stderr(), self.exit(), self.0.clone()] {
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(|cause| SuperviseError::File { path, cause })?;
        }
        Ok(())
    }

    /// Returns when the agent last printed something.
    pub(super) fn last_output(&self) -> SystemTime {
        [self.stdout(), self.stderr()]
            .iter()
            .filter_map(|path| path.metadata().and_then(|file| file.modified()).ok())
            .max()
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }
}
