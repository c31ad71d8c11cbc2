//! The small process that supervises one run's agent and outlives the server.
//!
//! # How it works
//! The server starts `chorus supervise RUN-DIR` and may die right after, because the supervisor does not need it. The supervisor
//! leaves the server's session, becomes the subreaper of its descendants, starts the agent with files as standard
//! streams, and waits until the agent ends, a limit is reached, or the server sends an order through a named pipe in
//! the run directory. Then it kills the rest of the process tree and writes `exit.json`, first under another name, so
//! that readers see the whole file or none. The file has its room before the agent starts, and a failed write is repeated
//! until it succeeds: a full disk must not turn a good end into an interruption.
//!
//! The supervisor's standard input is the file `lock`, which the server locked before it started the supervisor. The
//! lock is held until the agent has ended and the files are complete, so a process that gets the lock knows that the
//! run is over. No pid is ever trusted. Standard output is the named pipe, which the server opened too, so it keeps an
//! order that arrives before the supervisor reads.
//!
//! The files are synced after the lock is released. A waiting server syncs the output to its own ledger at about the
//! same time, and need not wait for both. Without a server, the sync protects the end of the run against a power failure.
//!
//! The supervisor has one thread and no async runtime, because there may be hundreds of supervisors.

mod cgroup;
mod exit_file;
mod files;
mod lock;
mod mark;
mod plain;
mod shortage;
mod silence;
mod stat;
mod tree;
mod waits;

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, setsid,
};

use exit_file::ExitFile;
use silence::Silence;

pub use cgroup::remove_cgroup;
pub use files::{Cause, End, Order, RunExit, RunFiles, RunSpec, StopSignal};
pub use lock::supervised_directory;
pub use mark::{marked_limit, unmarked_limit};
use plain::open_plain;
pub use plain::open_plain_inside;
pub use shortage::{is_shortage, may_pass};
pub use stat::ProcessStat;
use waits::Waited;
pub use waits::Waits;

/// The maximum sleep, so that ended orphans are reaped.
const NAP: Duration = Duration::from_secs(30);

/// The minimum sleep while the limits stand still.
const WAITING_NAP: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    #[error("{}: {cause}", path.display())]
    File {
        path: PathBuf,
        cause: std::io::Error,
    },
    /// A system call failed.
    #[error("cannot {what}: {cause}")]
    System {
        what: &'static str,
        cause: rustix::io::Errno,
    },
}

fn system(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> SuperviseError {
    move |cause| SuperviseError::System { what, cause }
}

impl SuperviseError {
    /// Whether the system only lacked something, so that a later attempt may succeed.
    fn may_pass(&self) -> bool {
        match self {
            Self::File { cause, .. } => may_pass(cause),
            Self::System { cause, .. } => may_pass(&(*cause).into()),
        }
    }
}

/// The exit code of a supervisor that did not start its agent because the system lacked something. The server trusts this code: an agent
/// can forge the files of its run, and kill its supervisor, but cannot choose the exit code.
pub const NOT_STARTED: u8 = 75;

/// The work of a supervisor.
#[derive(Debug, PartialEq, Eq)]
pub enum Supervised {
    /// The end of the run is in `exit.json`.
    ToTheEnd,
    /// The system lacks something for the agent, with a message for users.
    NotStarted(String),
}

/// A run directory, ready for the start of its agent.
struct Prepared {
    /// Open as long as `files`, whose paths go through it.
    _directory: OwnedFd,
    files: RunFiles,
    spec: RunSpec,
    control: OwnedFd,
    room: ExitFile,
    started: File,
}

/// Starts the agent of a run directory, and supervises it to its end.
pub fn supervise(dir: &Path) -> Result<Supervised, SuperviseError> {
    match prepare(dir) {
        Ok(prepared) => hold(prepared),
        Err(error) if error.may_pass() => Ok(Supervised::NotStarted(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Does everything that can fail before the agent is started.
fn prepare(dir: &Path) -> Result<Prepared, SuperviseError> {
    // The descriptor names the directory even if it is renamed or replaced.
    let only_directory = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory =
        open(dir, only_directory, Mode::empty()).map_err(system("open the run directory"))?;
    let files = RunFiles::new(Path::new(&format!(
        "/proc/self/fd/{}",
        directory.as_raw_fd()
    )));
    // Fails for a process group leader, which has its own session or does not need one.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).map_err(system("become a subreaper"))?;
    mark::mark().map_err(system("mark the processes of the run"))?;
    let spec = files.spec()?;
    if let Some(cgroup) = &spec.cgroup {
        // Without its cgroup, the run is still held by this process.
        let _ = cgroup::enter(cgroup);
    }
    let control = open(
        files.control(),
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(system("open the control pipe"))?;
    // Without room for the end or the mark of a start, the agent is not started, and the server tries again later.
    let room = ExitFile::reserve(&files).map_err(|cause| SuperviseError::File {
        path: files.exit(),
        cause,
    })?;
    let started = files.write_started()?;
    Ok(Prepared {
        _directory: directory,
        files,
        spec,
        control,
        room,
        started,
    })
}

/// Starts the agent, waits for its end, and records that end.
fn hold(prepared: Prepared) -> Result<Supervised, SuperviseError> {
    let Prepared {
        _directory,
        files,
        spec,
        control,
        room,
        started,
    } = prepared;
    let exit = match start(&files, &spec) {
        Ok(agent) => {
            // The mark must survive a power failure. Not fatal: a failing disk must not end an agent.
            let _ = started.sync_all();
            let held = wait_for_end(&files, &spec, agent, &control);
            // Also after an error, so that no process is left behind.
            tree::kill_descendants();
            held?
        }
        Err(error) => RunExit {
            end: End::NotStarted {
                may_pass: is_shortage(&error),
                error: not_started(&spec, &error),
            },
            cause: Cause::ByItself,
        },
    };
    drop(started);
    if let Some(cgroup) = &spec.cgroup {
        // A cgroup that stays is removed by the server.
        let _ = cgroup::leave(cgroup);
    }
    shortage::patiently(|| room.write(&exit)).map_err(|cause| SuperviseError::File {
        path: files.exit(),
        cause,
    })?;
    // An error means that the supervisor was started by hand, without a lock.
    let _ = flock(std::io::stdin(), FlockOperation::Unlock);
    let supervised = match exit.end {
        End::NotStarted {
            error,
            may_pass: true,
        } => Supervised::NotStarted(error),
        _ => Supervised::ToTheEnd,
    };
    files.flush().map(|()| supervised)
}

fn not_started(spec: &RunSpec, error: &std::io::Error) -> String {
    if !spec.working_directory.is_dir() {
        return format!(
            "Working directory {} does not exist, or is not a directory. Create it, or give the task another agentWorkspace.",
            spec.working_directory.display()
        );
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => program_missing(&spec.program),
        _ => format!(
            "Program {} cannot be started: {error}. Check it with `chorus doctor`.",
            spec.program
        ),
    }
}

/// Returns the message for users that an agent's program is missing.
pub fn program_missing(program: &str) -> String {
    format!(
        "Program {program} is not installed, or not on the server's PATH. Install it, or set the agent's `program`; then check with `chorus doctor`."
    )
}

fn start(files: &RunFiles, spec: &RunSpec) -> std::io::Result<Child> {
    let append = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let append = |path: PathBuf| open_plain(&path, append);
    let mut command = match spec.wrapper.split_first() {
        Some((wrapper, rest)) => {
            let mut command = Command::new(wrapper);
            command.args(rest).arg(&spec.program);
            command
        }
        None => Command::new(&spec.program),
    };
    for (name, _) in std::env::vars_os() {
        // The server's own settings are not for agents. The agent's variables are in the spec.
        if name.to_string_lossy().starts_with("CHORUS_") {
            command.env_remove(name);
        }
    }
    command
        .args(&spec.arguments)
        .envs(&spec.environment)
        .current_dir(&spec.working_directory)
        .stdin(Stdio::from(open_plain(&files.prompt(), OFlags::RDONLY)?))
        .stdout(Stdio::from(append(files.stdout())?))
        .stderr(Stdio::from(append(files.stderr())?))
        .spawn()
}

/// Waits until the agent ends, a limit is reached or an order arrives, and stops the agent.
fn wait_for_end(
    files: &RunFiles,
    spec: &RunSpec,
    mut agent: Child,
    control: &OwnedFd,
) -> Result<RunExit, SuperviseError> {
    let pid = Pid::from_child(&agent);
    let watch = || pidfd_open(pid, PidfdFlags::empty()).map_err(std::io::Error::from);
    let ending = shortage::patiently(watch).map_err(|cause| SuperviseError::File {
        path: files.dir().to_owned(),
        cause,
    })?;
    let began = Instant::now();
    let mut silence = Silence::begin(files);
    let mut waited = Waited::begin();
    let cause = loop {
        if waited.look(files) {
            silence.interrupt();
        }
        let worked = began.elapsed().saturating_sub(waited.total());
        let left = limits_left(spec, worked, silence.measure(files));
        if let Some((cause, _)) = left.iter().find(|(_, left)| left.is_zero())
            && !waited.is_waiting()
        {
            break *cause;
        }
        let nap = left
            .iter()
            .map(|(_, left)| *left)
            .min()
            .unwrap_or(NAP)
            .clamp(
                if waited.is_waiting() {
                    WAITING_NAP
                } else {
                    Duration::ZERO
                },
                NAP,
            );
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
        stop(pid, &ending, spec)?;
    }
    let status = agent.wait().map_err(|cause| SuperviseError::File {
        path: files.stdout(),
        cause,
    })?;
    Ok(RunExit {
        end: end(status, !spec.wrapper.is_empty()),
        cause,
    })
}

fn end(status: ExitStatus, is_masked: bool) -> End {
    match (status.code(), status.signal()) {
        // Bubblewrap reports the agent's signal as a shell does.
        (Some(code @ 129..=192), _) if is_masked => End::Signalled { signal: code - 128 },
        (Some(code), _) => End::Exited { code },
        (None, signal) => End::Signalled {
            signal: signal.unwrap_or_default(),
        },
    }
}

/// Returns the remaining time of each limit.
fn limits_left(spec: &RunSpec, worked: Duration, silence: Duration) -> Vec<(Cause, Duration)> {
    let limits = [
        (Cause::TimedOut, spec.max_seconds, worked),
        (Cause::Idle, spec.idle_seconds, silence),
    ];
    let left = limits.into_iter().filter_map(|(cause, limit, used)| {
        Some((cause, Duration::from_secs(limit?).saturating_sub(used)))
    });
    left.collect()
}

/// Waits for an event, at most as long as `nap`.
fn wait(ready: &mut [PollFd<'_>], nap: Duration) -> Result<(), SuperviseError> {
    let timeout = Timespec::try_from(nap).unwrap_or(Timespec {
        tv_sec: NAP.as_secs().cast_signed(),
        tv_nsec: 0,
    });
    match poll(ready, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        // A shortage of memory. The caller looks again.
        Err(rustix::io::Errno::NOMEM | rustix::io::Errno::AGAIN) => {
            std::thread::sleep(Duration::from_millis(200));
            Ok(())
        }
        Err(cause) => Err(SuperviseError::System {
            what: "wait",
            cause,
        }),
    }
}

/// Reads an order of the server to end the agent.
fn take_order(control: &OwnedFd) -> Option<Cause> {
    let mut bytes = [0; 16];
    let count = rustix::io::read(control, &mut bytes).ok()?;
    bytes[..count]
        .iter()
        .filter_map(|byte| Order::from_byte(*byte))
        .find_map(|order| match order {
            Order::Stop => Some(Cause::Stopped),
            Order::Finish => Some(Cause::Finished),
            Order::Look => None,
        })
}

/// Sends the stop signal to the agent, and SIGKILL after the grace period.
fn stop(pid: Pid, agent: &OwnedFd, spec: &RunSpec) -> Result<(), SuperviseError> {
    let signal = match spec.stop_signal {
        StopSignal::Terminate => Signal::TERM,
        StopSignal::Interrupt => Signal::INT,
    };
    // Bubblewrap passes no signal on, and ends its agent at once if it is ended itself.
    let masked = (!spec.wrapper.is_empty())
        .then(|| tree::agent_in_mask(pid))
        .flatten();
    // An error means that the agent has just ended.
    let _ = pidfd_send_signal(masked.as_ref().unwrap_or(agent), signal);
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

fn read(path: &Path) -> Result<Vec<u8>, SuperviseError> {
    let mut bytes = Vec::new();
    open_plain(path, OFlags::RDONLY)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|cause| SuperviseError::File {
            path: path.to_owned(),
            cause,
        })?;
    Ok(bytes)
}
