//! Ends the processes of a run without its supervisor.
//!
//! A process is signalled only through a pidfd, and is read again after the pidfd was opened, so a reused pid cannot name another
//! process. The supervisor is killed last: while it lives, even stopped, no descendant can leave the tree.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::cgroups;
use super::processes::{self, Carried, Process, Wanted};

/// The pause before the next search for processes.
const PAUSE: Duration = Duration::from_millis(2);

/// The time limit for killed processes to disappear.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The result of ending all processes of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// The number of signals sent.
    pub signals: usize,
    /// The number of processes that survived SIGKILL.
    pub left: usize,
}

/// Lists the runs that have processes.
pub(super) fn carried() -> BTreeSet<Carried> {
    processes::all()
        .into_values()
        .flat_map(|process| {
            let cgroups = process.cgroups.into_iter().map(Carried::Mark);
            cgroups.chain([process.carried])
        })
        .collect()
}

/// Kills all processes of a run.
pub(super) fn end(wanted: &Wanted) -> Ended {
    let mut signals = 0;
    let start = Instant::now();
    loop {
        let mut found = processes::of_run(wanted);
        let left = found.len();
        if left == 0 || start.elapsed() > PATIENCE {
            return Ended { signals, left };
        }
        let is_in_cgroup = |process: &&Process| process.cgroups.contains(&wanted.mark);
        if let Some(process) = found.iter().find(is_in_cgroup) {
            let cgroup = cgroups::of_run(&wanted.mark, process.pid);
            if cgroup.is_some_and(|cgroup| cgroups::kill(&cgroup)) {
                signals += found.iter().filter(is_in_cgroup).count();
                found.retain(|process| !is_in_cgroup(&process));
            }
        }
        // An agent that starts processes faster than they are found is ended with its supervisor.
        if start.elapsed() < PATIENCE / 2
            && found.iter().any(|process| process.supervises.is_none())
        {
            found.retain(|process| process.supervises.is_none());
        }
        signals += found.iter().filter(|process| kill(process)).count();
        std::thread::sleep(PAUSE);
    }
}

/// Sends SIGKILL to a process. Returns false if it has ended.
fn kill(process: &Process) -> bool {
    pidfd_open(process.pid, PidfdFlags::empty()).is_ok_and(|descriptor| {
        processes::read(process.pid).is_some_and(|now| now.started == process.started)
            && pidfd_send_signal(&descriptor, Signal::KILL).is_ok()
    })
}
