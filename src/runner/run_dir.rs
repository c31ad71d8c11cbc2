//! The server's side of a run directory.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkfifoat, open};
use rustix::io::Errno;
use tokio::sync::watch;

use super::installation::MARK;
use crate::supervisor::{NOT_STARTED, Order, RunFiles, RunSpec, may_pass, open_plain_inside};

/// The texts that an agent's program reads.
pub(super) struct RunTexts<'a> {
    pub prompt: &'a str,
    /// The agent's spec.
    pub system: &'a str,
    /// Files of the run directory for one provider.
    pub others: &'a [(PathBuf, String)],
}

/// The variables that the agent inherits from the server.
pub(super) type Inherited = Vec<(OsString, OsString)>;

/// Creates the directory of a run and starts the supervisor in it.
///
/// The lock is taken before the supervisor exists, and is passed to it as standard input, so a started run never looks
/// unsupervised. The control pipe is passed as standard output, so it keeps an order that is sent before the supervisor reads.
pub(super) fn launch(
    program: &Path,
    files: &RunFiles,
    spec: &RunSpec,
    texts: &RunTexts<'_>,
    inherited: Inherited,
) -> std::io::Result<Child> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(files.dir())?;
    // An earlier attempt may have failed for want of resources.
    for left in [files.exit(), files.started()] {
        match std::fs::remove_file(left) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    write(&files.spec_file(), &serde_json::to_vec_pretty(spec)?)?;
    write(&files.prompt(), texts.prompt.as_bytes())?;
    write(&files.system(), texts.system.as_bytes())?;
    for (path, text) in texts.others {
        write(path, text.as_bytes())?;
    }
    for log in [files.stdout(), files.stderr()] {
        write(&log, b"")?;
    }
    match mkfifoat(CWD, files.control(), Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let control = open(
        files.control(),
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )?;
    let lock = open_plain_inside(&files.lock(), OFlags::WRONLY | OFlags::CREATE)?;
    // A held lock means that the run has a supervisor already.
    lock.try_lock()?;
    Command::new(program)
        .arg("supervise")
        .arg(files.dir())
        // The supervisor passes its environment on.
        .env_clear()
        .envs(inherited)
        .env(MARK, spec.environment.get(MARK).map_or("", String::as_str))
        .stdin(Stdio::from(lock))
        .stdout(Stdio::from(control))
        .stderr(Stdio::from(open_plain_inside(
            &files.dir().join("supervisor.log"),
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
        )?))
        .spawn()
}

/// Writes a file that only its owner can read, because it may contain a prompt or a token.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    open_plain_inside(path, flags)?.write_all(bytes)
}

/// Opens a file that an agent may have replaced, for instance by a link or a pipe.
pub(super) fn open_plain(path: &Path) -> std::io::Result<File> {
    open_plain_inside(path, OFlags::RDONLY)
}

pub fn open_log(path: &Path) -> std::io::Result<tokio::fs::File> {
    open_plain(path).map(tokio::fs::File::from_std)
}

/// Whether a supervisor holds the run's lock. An error means that nobody can tell.
pub(super) fn is_held(files: &RunFiles) -> std::io::Result<bool> {
    match open_plain(&files.lock()) {
        Ok(lock) => Ok(matches!(
            lock.try_lock_shared(),
            Err(TryLockError::WouldBlock)
        )),
        Err(error) if may_pass(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether the agent was started, or may have been.
pub(super) fn was_agent_started(files: &RunFiles) -> bool {
    let has_output = |log: &PathBuf| log.metadata().is_ok_and(|log| log.len() > 0);
    files.started().exists() || [files.stdout(), files.stderr()].iter().any(has_output)
}

/// Returns the sizes of the agent's outputs.
pub(super) fn output_size(files: &RunFiles) -> [Option<u64>; 2] {
    [files.stdout(), files.stderr()].map(|log| {
        let log = log.symlink_metadata().ok()?;
        Some(log.len())
    })
}

/// The supervisor of a run, as a child of this server.
#[derive(Debug, Clone)]
pub(super) struct SupervisorChild {
    pid: Option<i32>,
    /// `None` once the child is reaped, or if an earlier server started the supervisor.
    child: Arc<Mutex<Option<Child>>>,
    exit: Option<watch::Sender<Exit>>,
}

/// The end of the child.
#[derive(Debug, Clone, Copy, Default)]
struct Exit {
    is_reaped: bool,
    /// `None` if the child was killed.
    code: Option<i32>,
}

/// The time limit for a supervisor to end after it has released its lock.
const PATIENCE: Duration = Duration::from_secs(10);

impl SupervisorChild {
    pub fn new(child: Option<Child>) -> Self {
        Self {
            pid: child.as_ref().map(|child| child.id().cast_signed()),
            exit: child.is_some().then(|| watch::Sender::new(Exit::default())),
            child: Arc::new(Mutex::new(child)),
        }
    }

    /// `None` if an earlier server started the supervisor.
    pub const fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Reaps the child.
    fn reap(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(mut child), Some(exit)) = (child.take(), &self.exit) {
            let code = child.wait().ok().and_then(|status| status.code());
            exit.send_replace(Exit {
                is_reaped: true,
                code,
            });
        }
    }

    /// Whether the supervisor said by its exit code that it did not start its agent. `None` if it was killed, or if an earlier server
    /// started it. To be called when the supervisor has released its lock.
    pub async fn denies_start(&self) -> Option<bool> {
        let code = self.exit().await?.code;
        code.map(|code| code == i32::from(NOT_STARTED))
    }

    /// Whether the child was killed, and may have left processes, whatever the files of the run say. To be called when the supervisor
    /// has released its lock.
    pub async fn was_killed(&self) -> bool {
        self.exit.is_some() && self.exit().await.is_none_or(|exit| exit.code.is_none())
    }

    /// Waits for the end of the child. `None` if there is no child, or if it does not end.
    async fn exit(&self) -> Option<Exit> {
        let mut exit = self.exit.as_ref()?.subscribe();
        let reaped = exit.wait_for(|exit| exit.is_reaped);
        Some(*tokio::time::timeout(PATIENCE, reaped).await.ok()?.ok()?)
    }
}

/// Waits until the supervisor releases the run's lock. The waiting thread then reaps the supervisor, if it is our child.
pub(super) async fn until_released(
    files: &RunFiles,
    supervisor: &SupervisorChild,
) -> std::io::Result<()> {
    let (sender, released) = tokio::sync::oneshot::channel();
    let (lock, supervisor) = (files.lock(), supervisor.clone());
    let wait = move || {
        let result = open_plain(&lock).and_then(|lock| lock.lock_shared());
        let has_ended = result.is_ok();
        // The receiver may be gone.
        let _ = sender.send(result);
        if has_ended {
            supervisor.reap();
        }
    };
    // A separate thread, because hundreds of runs would fill the pool for blocking work.
    std::thread::Builder::new()
        .name("chorus-run".into())
        .stack_size(64 * 1024)
        .spawn(wait)?;
    released.await.map_err(std::io::Error::other)?
}

/// Sends an order to the supervisor. Returns false if nobody takes it: an agent can remove, replace, close and fill the pipe.
pub(super) fn order(files: &RunFiles, order: Order) -> std::io::Result<bool> {
    match open(
        files.control(),
        OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    ) {
        // An agent may have put a file in place of the pipe.
        Ok(control) if !FileType::from_raw_mode(fstat(&control)?.st_mode).is_fifo() => Ok(false),
        Ok(control) => match rustix::io::write(&control, &[order.as_byte()]) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::PIPE) => Ok(false),
            Err(error) => Err(error.into()),
        },
        Err(error) if may_pass(&error.into()) => Err(error.into()),
        // The pipe has no reader, was never created, or is something else now.
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_order_is_not_taken_by_what_an_agent_puts_in_place_of_the_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let files = RunFiles::new(folder.path());
        let send = || order(&files, Order::Stop).unwrap();
        assert!(!send(), "there is no pipe");
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let read = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let reader = open(&pipe, read, Mode::empty()).unwrap();
        symlink(&pipe, files.control()).unwrap();
        assert!(!send(), "a link");
        std::fs::remove_file(files.control()).unwrap();
        std::fs::create_dir(files.control()).unwrap();
        assert!(!send(), "a directory");
        std::fs::remove_dir(files.control()).unwrap();
        std::fs::write(files.control(), "").unwrap();
        assert!(!send(), "a file");
        std::fs::rename(&pipe, files.control()).unwrap();
        assert!(send(), "the pipe");
        while rustix::io::write(&reader, &[0; 4096]).is_ok() {}
        assert!(!send(), "a full pipe");
        drop(reader);
        assert!(!send(), "a pipe without a reader");
    }
}
