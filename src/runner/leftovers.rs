//! Ends the processes of a run whose supervisor was killed.
//!
//! The processes of such a run have no supervisor, but each has the id of its hand-off in its environment. A process is signalled
//! only through a pidfd, and its environment is read after the pidfd was opened, so a reused pid cannot name another process.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crate::domain::HandoffId;

/// The environment variable of every process of a run, with `=`.
const VARIABLE: &str = "CHORUS_HANDOFF_ID=";

/// The pause before the next search for processes.
const PAUSE: Duration = Duration::from_millis(2);

/// The time limit for killed processes to disappear.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lists the hand-offs that have running processes.
pub(super) fn carried_ids() -> BTreeSet<HandoffId> {
    processes().filter_map(carried_id).collect()
}

/// Kills all processes of a hand-off. Returns the number of signals sent.
pub(super) fn end(handoff_id: &HandoffId) -> usize {
    let mut signals = 0;
    let deadline = Instant::now() + PATIENCE;
    let is_its = |pid: &Pid| carried_id(*pid).as_ref() == Some(handoff_id);
    loop {
        let found: Vec<_> = processes().filter(is_its).collect();
        if found.is_empty() {
            return signals;
        }
        if Instant::now() > deadline {
            tracing::error!(%handoff_id, count = found.len(), "processes of a hand-off survive SIGKILL; end them by hand");
            return signals;
        }
        for pid in found {
            // An error means that the process has ended.
            if let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
                && is_its(&pid)
            {
                let _ = pidfd_send_signal(&process, Signal::KILL);
                signals += 1;
            }
        }
        std::thread::sleep(PAUSE);
    }
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|pid| *pid != getpid())
}

/// Reads the hand-off's id from a process's environment. Processes of other users are unreadable and never belong to a run.
fn carried_id(pid: Pid) -> Option<HandoffId> {
    let environment = environment(pid)?;
    let id = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(VARIABLE.as_bytes()))?;
    HandoffId::parse(std::str::from_utf8(id).ok()?).ok()
}

/// Reads the environment of a process. Environment and command line are empty while the process executes a new program, so the
/// function waits for that moment to pass: otherwise the process would be overlooked.
fn environment(pid: Pid) -> Option<Vec<u8>> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let read = |file: &str| std::fs::read(format!("{folder}/{file}"));
    let deadline = Instant::now() + PATIENCE;
    let mut looked_bare = false;
    loop {
        // In this order: a new program may start after the command line was read, but then the environment is empty only once.
        let has_line = !read("cmdline").ok()?.is_empty();
        let environment = read("environ").ok()?;
        if !environment.is_empty() || (has_line && looked_bare) {
            return Some(environment);
        }
        // A zombie and a thread of the kernel have no program.
        std::fs::read_link(format!("{folder}/exe")).ok()?;
        if Instant::now() > deadline {
            return None;
        }
        looked_bare = has_line;
        std::thread::yield_now();
    }
}
