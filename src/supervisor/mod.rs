//! The small process that holds one run's agent and outlives the server.
//!
//! # How it works
//! The server starts `chorus supervise RUN-DIR` and may die the moment after: nothing here needs it. The supervisor
//! leaves the server's session, becomes the parent of every process below it that loses its own, starts the agent with
//! files as its standard streams, and waits for one of four things: the agent ends, a limit is reached, or the server
//! asks to stop, through a named pipe in the run directory. Then it ends what is left of the tree and writes
//! `exit.json`, first under another name, so that the file is there whole or not at all.
//!
//! Its standard input is the file `lock`, locked by the server before it was started. The lock lives as long as this
//! process has something to do with the agent, so whoever can take it knows that the run is over and its files are
//! complete. No pid is ever trusted. Its standard output is the pipe, opened by the server as well: an order that comes
//! before the supervisor listens waits for it there.
//!
//! The files are flushed after the lock is released. A server that waits has the output in its own ledger, flushed, by
//! about the same time, and need not wait for both; without a server the flush keeps the end of the run over a power
//! failure.
//!
//! It has no async runtime and no thread but one: there may be hundreds of it.

mod files;
mod tree;

use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, setsid,
};

pub use files::{Cause, End, Order, RunExit, RunFiles, RunSpec, StopSignal};

/// How long it sleeps at most, so that processes that were left to it are taken note of.
const NAP: Duration = Duration::from_secs(30);

/// Why a supervisor cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// A file of the run directory cannot be used.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The system refused something that a supervisor needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        cause: rustix::io::Errno,
    },
}

fn system(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> SuperviseError {
    move |cause| SuperviseError::System { what, cause }
}

/// Runs the agent of a run directory to its end.
pub fn supervise(dir: &Path) -> Result<(), SuperviseError> {
    let files = RunFiles::new(dir);
    // It fails for the leader of a group, who has its own session or does not need one.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).map_err(system("become the parent of orphans"))?;
    let spec = files.spec()?;
    let control = open(
        files.control(),
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(system("open the control pipe"))?;
    let exit = match start(&files, &spec) {
        Ok(agent) => {
            let held = hold(&files, &spec, agent, &control);
            // Whatever went wrong, nothing is left behind.
            tree::kill_descendants();
            held?
        }
        Err(error) => RunExit {
            end: End::NotStarted {
                error: not_started(&spec, &error),
            },
            cause: Cause::ByItself,
        },
    };
    files.write_exit(&exit)?;
    // An error means that it was started by hand, without a lock.
    let _ = flock(std::io::stdin(), FlockOperation::Unlock);
    files.flush()
}

fn not_started(spec: &RunSpec, error: &std::io::Error) -> String {
    if !spec.working_directory.is_dir() {
        return format!(
            "The working directory {} is not there, or no directory. Make it, or give the task another agentWorkspace.",
            spec.working_directory.display()
        );
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "The program {} is not installed, or not on PATH. Install it, or set the agent's program; `chorus doctor` checks it.",
            spec.program
        ),
        _ => format!("The program {} cannot be started: {error}", spec.program),
    }
}

/// Starts the agent.
fn start(files: &RunFiles, spec: &RunSpec) -> std::io::Result<Child> {
    let append = |path: PathBuf| File::options().create(true).append(true).open(path);
    let mut command = Command::new(&spec.program);
    for (name, _) in std::env::vars_os() {
        // What the server was told is not for agents; what is for this one is in the specification.
        if name.to_string_lossy().starts_with("CHORUS_") {
            command.env_remove(name);
        }
    }
    command
        .args(&spec.arguments)
        .envs(&spec.environment)
        .current_dir(&spec.working_directory)
        .stdin(Stdio::from(File::open(files.prompt())?))
        .stdout(Stdio::from(append(files.stdout())?))
        .stderr(Stdio::from(append(files.stderr())?))
        .spawn()
}

/// Waits for the agent to end or for a reason to end it, and ends the whole tree.
fn hold(
    files: &RunFiles,
    spec: &RunSpec,
    mut agent: Child,
    control: &OwnedFd,
) -> Result<RunExit, SuperviseError> {
    let pid = Pid::from_child(&agent);
    let ending = pidfd_open(pid, PidfdFlags::empty()).map_err(system("watch the agent"))?;
    // It is for people: a full disk must not end an agent.
    let _ = files.write_started(agent.id());
    let began = Instant::now();
    let cause = loop {
        let left = limits_left(files, spec, began);
        if let Some((cause, _)) = left.iter().find(|(_, left)| left.is_zero()) {
            break *cause;
        }
        let nap = left
            .iter()
            .map(|(_, left)| *left)
            .min()
            .unwrap_or(NAP)
            .min(NAP);
        let mut ready = [
            PollFd::new(&ending, PollFlags::IN),
            PollFd::new(control, PollFlags::IN),
        ];
        wait(&mut ready, nap)?;
        let (has_ended, has_order) = (
            !ready[0].revents().is_empty(),
            !ready[1].revents().is_empty(),
        );
        if has_ended {
            break Cause::ByItself;
        }
        if has_order && let Some(order) = take_order(control) {
            break order;
        }
        tree::reap_orphans(pid);
    };
    if cause != Cause::ByItself {
        stop(&ending, spec)?;
    }
    let status = agent.wait().map_err(|cause| SuperviseError::File {
        path: files.stdout(),
        cause,
    })?;
    Ok(RunExit {
        end: end(status),
        cause,
    })
}

fn end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited { code },
        (None, signal) => End::Signalled {
            signal: signal.unwrap_or_default(),
        },
    }
}

/// Returns how much is left of each limit.
fn limits_left(files: &RunFiles, spec: &RunSpec, began: Instant) -> Vec<(Cause, Duration)> {
    let mut left = Vec::new();
    if let Some(seconds) = spec.max_seconds {
        left.push((
            Cause::TimedOut,
            Duration::from_secs(seconds).saturating_sub(began.elapsed()),
        ));
    }
    if let Some(seconds) = spec.idle_seconds {
        // A clock that was set back makes the agent look busy, which does no harm.
        let silence = SystemTime::now()
            .duration_since(files.last_output())
            .unwrap_or_default()
            .min(began.elapsed());
        left.push((
            Cause::Idle,
            Duration::from_secs(seconds).saturating_sub(silence),
        ));
    }
    left
}

/// Waits for something to happen, but not longer than a nap.
fn wait(ready: &mut [PollFd<'_>], nap: Duration) -> Result<(), SuperviseError> {
    let timeout = Timespec::try_from(nap).unwrap_or(Timespec {
        tv_sec: NAP.as_secs().cast_signed(),
        tv_nsec: 0,
    });
    match poll(ready, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(cause) => Err(SuperviseError::System {
            what: "wait",
            cause,
        }),
    }
}

/// Reads what the server wants.
fn take_order(control: &OwnedFd) -> Option<Cause> {
    let mut bytes = [0; 16];
    let count = rustix::io::read(control, &mut bytes).ok()?;
    bytes[..count]
        .iter()
        .find_map(|byte| Order::from_byte(*byte))
        .map(|order| match order {
            Order::Stop => Cause::Stopped,
            Order::Finish => Cause::Finished,
        })
}

/// Asks the agent to end, and ends it if it does not.
fn stop(agent: &OwnedFd, spec: &RunSpec) -> Result<(), SuperviseError> {
    let signal = match spec.stop_signal {
        StopSignal::Terminate => Signal::TERM,
        StopSignal::Interrupt => Signal::INT,
    };
    // An error means that it has ended just now.
    let _ = pidfd_send_signal(agent, signal);
    let deadline = Instant::now() + Duration::from_secs(spec.grace_seconds);
    loop {
        let mut ready = [PollFd::new(agent, PollFlags::IN)];
        wait(
            &mut ready,
            deadline.saturating_duration_since(Instant::now()),
        )?;
        if !ready[0].revents().is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let _ = pidfd_send_signal(agent, Signal::KILL);
            return Ok(());
        }
    }
}

/// Reads a whole small file.
fn read(path: &Path) -> Result<Vec<u8>, SuperviseError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|cause| SuperviseError::File {
            path: path.to_owned(),
            cause,
        })?;
    Ok(bytes)
}
