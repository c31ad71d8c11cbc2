//! Ends the descendants of a supervisor.
//!
//! Agents' tools run in their own sessions and process groups, so a signal to a group misses them. But the supervisor, as
//! subreaper, inherits every descendant whose parent ends. Killing its children repeatedly until none is left therefore ends
//! the whole tree. A child keeps its pid until it is waited for, so no pid can name an unrelated process.

use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, wait, waitpid,
};

use super::ProcessStat;

/// Reaps ended children of the supervisor, except the agent.
pub(super) fn reap_orphans(agent: Pid) {
    for child in children() {
        if child != agent {
            // A running or already reaped child needs nothing.
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
    }
}

/// The pause before the next look at the children.
const PAUSE: Duration = Duration::from_millis(1);

/// Kills all descendants of the supervisor.
///
/// Never waits for a particular child, because the kernel's list of children may omit one while others start and end.
pub(super) fn kill_descendants() {
    loop {
        let children = children();
        for child in &children {
            // An error means that the child has already ended.
            let _ = kill_process(*child, Signal::KILL);
        }
        // The children of an ended child are now ours.
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return,
        }
    }
}

/// Finds the agent that bubblewrap runs: the first child of the first process in its process namespace. `None` before the agent is started.
pub(super) fn agent_in_mask(bwrap: Pid) -> Option<OwnedFd> {
    let find = || {
        let first = *children_of(bwrap).first()?;
        children_of(first).first().copied()
    };
    let pid = find()?;
    let agent = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // The pid was not reused between the two steps.
    (find() == Some(pid)).then_some(agent)
}

fn children() -> Vec<Pid> {
    children_of(getpid())
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let own = parent.as_raw_nonzero().get();
    match std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")) {
        Ok(list) => list
            .split_whitespace()
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect(),
        Err(_) => children_by_search(own),
    }
}

/// Lists the children of a process on kernels without `/proc/…/children`.
fn children_by_search(parent: i32) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &i32| {
        let stat = ProcessStat::read(*pid).ok().flatten();
        stat.is_some_and(|stat| stat.parent == parent)
    };
    pids.filter(is_child).filter_map(Pid::from_raw).collect()
}
