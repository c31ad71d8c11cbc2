//! The processes of the machine, and the runs that they belong to.
//!
//! # How it works
//! Every process of a run inherits the run's mark in its environment. A process without a mark belongs to a run if one of its
//! ancestors does: a living supervisor is the subreaper of all that its agent starts. If the supervisor is dead, a process also
//! belongs to the run if it is still in the session that the supervisor began. The number of a session is not reused
//! while the session has a process. Where runs have cgroups, a process in the cgroup of a run belongs to it, whatever else it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};

use super::cgroups;
use super::installation::MARK;
use crate::domain::{HandoffId, RunId};
use crate::supervisor::{self, ProcessStat};

/// The time limit for a process that executes a new program to become readable. Some processes never do: a process can empty its
/// own command line.
const PATIENCE: Duration = Duration::from_millis(500);

/// The pause before such a process is read again.
const PAUSE: Duration = Duration::from_millis(1);

/// The property of a process that tells its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Carried {
    Mark(String),
    /// Processes that an earlier version started have only the id of their hand-off.
    Handoff(HandoffId),
    Nothing,
}

#[derive(Debug, Clone)]
pub(super) struct Process {
    pub pid: Pid,
    /// Together with the pid, this identifies a process: a reused pid has a later start.
    pub started: u64,
    pub carried: Carried,
    /// The marks of the runs in whose cgroups the process is.
    pub cgroups: Vec<String>,
    /// The run directory that a supervisor was given.
    pub supervises: Option<PathBuf>,
    parent: i32,
    session: i32,
}

/// A run whose processes are wanted.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub mark: String,
    /// `None` if another installation claimed the run.
    pub handoff_id: Option<HandoffId>,
    pub directory: PathBuf,
    /// The pid of the supervisor that this server started or followed.
    pub session: Option<i32>,
    /// The runs that have not ended. `None` if that is not known.
    pub running: Option<BTreeSet<RunId>>,
}

impl Process {
    /// Returns the time since the process was started. Its start is counted in hundredths of a second since the boot.
    pub fn age(&self) -> Option<Duration> {
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        let uptime = Duration::try_from_secs_f64(uptime).ok()?;
        Some(uptime.saturating_sub(Duration::from_millis(self.started.saturating_mul(10))))
    }
}

impl Wanted {
    fn has_in_cgroup(&self, process: &Process) -> bool {
        process.cgroups.contains(&self.mark)
    }

    /// Whether a process supervises another run of the same installation: an agent may have restarted the server, whose supervisors
    /// then descend from it. An agent can forge the mark and the arguments of a supervisor, so its lock decides. An agent can also hold the
    /// lock of a run that has ended, but not that of another.
    fn is_other_supervisor(&self, process: &Process) -> bool {
        let installation = |mark: &str| mark.split('/').next().map(str::to_owned);
        let has_other_mark = matches!(&process.carried, Carried::Mark(mark)
            if *mark != self.mark && installation(mark) == installation(&self.mark));
        if !has_other_mark || self.has_in_cgroup(process) {
            return false;
        }
        let pid = process.pid.as_raw_nonzero().get();
        let runs = self.directory.parent();
        let supervised = runs.and_then(|runs| supervisor::supervised_directory(pid, runs).ok()?);
        supervised.is_some_and(|directory| {
            let name = directory.file_name().and_then(|name| name.to_str());
            let id = name.and_then(|name| RunId::parse(name).ok());
            let is_running = |id| {
                self.running
                    .as_ref()
                    .is_none_or(|running| running.contains(&id))
            };
            directory != self.directory && id.is_some_and(is_running)
        })
    }
}

/// All readable processes except this one, by pid. Zombies are not listed.
pub(super) fn all() -> BTreeMap<i32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, read(Pid::from_raw(pid)?)?)))
        .filter(|(_, process)| process.pid != getpid())
        .collect()
}

/// Lists the processes of a run.
pub(super) fn of_run(wanted: &Wanted) -> Vec<Process> {
    let all = all();
    let supervisor_is_dead = wanted.session.is_some_and(|pid| !all.contains_key(&pid));
    let is_root = |process: &Process| {
        wanted.has_in_cgroup(process)
            || match &process.carried {
                Carried::Mark(mark) => *mark == wanted.mark,
                Carried::Handoff(id) => wanted.handoff_id.as_ref() == Some(id),
                // The supervisor of an earlier version has no mark.
                Carried::Nothing => {
                    process.supervises.as_ref() == Some(&wanted.directory)
                        || (supervisor_is_dead && wanted.session == Some(process.session))
                }
            }
    };
    let mut found: BTreeSet<i32> = all
        .iter()
        .filter(|(_, process)| is_root(process))
        .map(|(pid, _)| *pid)
        .collect();
    loop {
        let children = all.iter().filter(|(pid, process)| {
            !found.contains(pid)
                && found.contains(&process.parent)
                && !wanted.is_other_supervisor(process)
        });
        let children: Vec<i32> = children.map(|(pid, _)| *pid).collect();
        if children.is_empty() {
            return found.iter().map(|pid| all[pid].clone()).collect();
        }
        found.extend(children);
    }
}

/// Reads a process. `None` for a zombie.
pub(super) fn read(pid: Pid) -> Option<Process> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let environment = environment(&folder)?;
    let variable = |name: &str| {
        let mut variables = environment.split(|byte| *byte == 0);
        let value = variables
            .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        String::from_utf8(value.to_vec()).ok()
    };
    let carried = if let Some(mark) = variable(MARK) {
        Carried::Mark(mark)
    } else if let Some(id) = variable("CHORUS_HANDOFF_ID").and_then(|id| HandoffId::parse(&id).ok())
    {
        Carried::Handoff(id)
    } else {
        Carried::Nothing
    };
    let line = std::fs::read(format!("{folder}/cmdline")).ok()?;
    let stat = ProcessStat::read(pid.as_raw_nonzero().get()).ok()??;
    (!stat.is_zombie).then(|| Process {
        pid,
        started: stat.started,
        carried,
        cgroups: cgroups::marks_of(pid),
        supervises: supervised_directory(&line),
        parent: stat.parent,
        session: stat.session,
    })
}

fn supervised_directory(line: &[u8]) -> Option<PathBuf> {
    let mut words = line.split(|byte| *byte == 0).skip(1);
    let is_supervisor = words.next() == Some(b"supervise");
    let directory = words.next()?;
    is_supervisor.then(|| PathBuf::from(OsStr::from_bytes(directory)))
}

/// Reads the environment of a process. Environment and command line are empty while the process executes a new program, so the
/// function waits for that moment to pass: otherwise the process would be overlooked.
fn environment(folder: &str) -> Option<Vec<u8>> {
    let read = |file: &str| std::fs::read(format!("{folder}/{file}"));
    let deadline = Instant::now() + PATIENCE;
    let mut looked_bare = false;
    loop {
        // In this order: a new program may start after the command line was read, but then the environment is empty only once.
        let has_line = !read("cmdline").ok()?.is_empty();
        let environment = match read("environ") {
            Ok(environment) => environment,
            // A process of another user, or one that hides its memory. Its ancestors and its session still show its run.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Some(Vec::new()),
            Err(_) => return None,
        };
        if !environment.is_empty() || (has_line && looked_bare) {
            return Some(environment);
        }
        // A zombie and a thread of the kernel have no program.
        std::fs::read_link(format!("{folder}/exe")).ok()?;
        if Instant::now() > deadline {
            // Its ancestors and its session still show its run.
            return Some(environment);
        }
        looked_bare = has_line;
        std::thread::sleep(PAUSE);
    }
}
