//! The server's side of a run directory.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use rustix::io::Errno;

use super::installation::MARK;
use crate::domain::RunId;
use crate::supervisor::{Order, RunFiles, RunSpec, may_pass};

/// Creates the directory of a run and starts the supervisor in it.
///
/// The lock is taken before the supervisor exists, and is passed to it as standard input, so a started run never looks
/// unsupervised. The control pipe is passed as standard output, so it keeps an order that is sent before the supervisor reads.
pub(super) fn launch(
    program: &Path,
    files: &RunFiles,
    spec: &RunSpec,
    prompt: &str,
    system: &str,
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
    write(&files.prompt(), prompt.as_bytes())?;
    write(&files.system(), system.as_bytes())?;
    for log in [files.stdout(), files.stderr()] {
        write(&log, b"")?;
    }
    match mkfifoat(CWD, files.control(), Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let control = open(
        files.control(),
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(files.lock())?;
    lock.lock()?;
    Command::new(program)
        .arg("supervise")
        .arg(files.dir())
        .env(MARK, spec.environment.get(MARK).map_or("", String::as_str))
        .stdin(Stdio::from(lock))
        .stdout(Stdio::from(control))
        .stderr(Stdio::from(File::create(
            files.dir().join("supervisor.log"),
        )?))
        .spawn()
}

/// Writes a file that only its owner can read, because it may contain a prompt or a token.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::options()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

/// Opens a file that an agent may have replaced, for instance by a pipe, without blocking.
pub(super) fn open_plain(path: &Path) -> std::io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(std::io::Error::other(format!(
            "{} is not a plain file",
            path.display()
        )))
    }
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

/// Lists the runs with a living supervisor.
pub(super) fn held(runs: &Path) -> Vec<RunId> {
    let is_held = |id: &RunId| {
        let files = RunFiles::new(&runs.join(id.as_str()));
        // Most runs have ended long ago. Checking `exit.json` is faster than trying the lock.
        !files.exit().exists() && is_held(&files).unwrap_or(false)
    };
    std::fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| RunId::parse(entry.file_name().to_str()?).ok())
        .filter(is_held)
        .collect()
}

/// Waits until the supervisor releases the run's lock. The waiting thread then reaps the supervisor, if it is our child.
pub(super) async fn until_released(
    files: &RunFiles,
    supervisor: &Arc<Mutex<Option<Child>>>,
) -> std::io::Result<()> {
    let (sender, released) = tokio::sync::oneshot::channel();
    let (lock, supervisor) = (files.lock(), supervisor.clone());
    let wait = move || {
        let result = open_plain(&lock).and_then(|lock| lock.lock_shared());
        let has_ended = result.is_ok();
        // The receiver may be gone.
        let _ = sender.send(result);
        let mut supervisor = supervisor.lock().unwrap_or_else(PoisonError::into_inner);
        if has_ended && let Some(mut supervisor) = supervisor.take() {
            // The exit status is in the run directory.
            let _ = supervisor.wait();
        }
    };
    // A separate thread, because hundreds of runs would fill the pool for blocking work.
    std::thread::Builder::new()
        .name("chorus-run".into())
        .stack_size(64 * 1024)
        .spawn(wait)?;
    released.await.map_err(std::io::Error::other)?
}

/// Sends an order to the supervisor. Returns false if there is none.
pub(super) fn order(files: &RunFiles, order: Order) -> std::io::Result<bool> {
    match open(
        files.control(),
        OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(control) => {
            rustix::io::write(&control, &[order.as_byte()])?;
            Ok(true)
        }
        // The pipe has no reader, or was never created.
        Err(Errno::NXIO | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
