//! What is left of a run whose supervisor was killed.
//!
//! Nobody holds such processes any more, but each carries the id of its hand-off in its environment. A pid is used only
//! through a descriptor, and the environment is read after that was opened, so that it cannot mean another process.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crate::domain::HandoffId;

/// What the id stands behind in the environment of every process of a run.
const VARIABLE: &str = "CHORUS_HANDOFF_ID=";

/// How long to wait before it is looked again for processes that were killed.
const PAUSE: Duration = Duration::from_millis(2);

/// How long processes may take to die.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lists the hand-offs whose processes live.
pub(super) fn carried_ids() -> BTreeSet<HandoffId> {
    processes().filter_map(carried_id).collect()
}

/// Ends all processes of a hand-off. Returns how many signals that took.
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
            tracing::error!(%handoff_id, count = found.len(), "cannot end processes");
            return signals;
        }
        for pid in found {
            // An error means that it has ended.
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

/// Lists all processes but this one.
fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|pid| *pid != getpid())
}

/// Finds out for which hand-off a process works. Those of other users cannot be read, and are none of ours.
fn carried_id(pid: Pid) -> Option<HandoffId> {
    let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    let id = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(VARIABLE.as_bytes()))?;
    HandoffId::parse(std::str::from_utf8(id).ok()?).ok()
}
